"""The model of the experiments: a decoder of one attention layer, trained end to end."""

"""The model by definition, its 4-gram head, its sampled gradient, and matrices of scores."""

"""The model by its definition, its 4-gram head, its sampled gradient, and the model with matrices of scores."""

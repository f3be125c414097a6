"""Exact smaller systems for the same training: what the weights can be reduced to without losing anything."""

"""Smaller systems that stand for the full model: exact ones, and those of the theory."""

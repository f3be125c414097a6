"""Exact smaller systems: the symmetry of data and start turns $2^N$ strings into $O(N^2)$ numbers."""

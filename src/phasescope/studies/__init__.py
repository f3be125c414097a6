"""The built-in studies; each enters by an entry point, as anybody else's does."""

"""What a paper shows: figures, and their common style."""

"""What was found: rows of verdicts, and how they read as text."""

"""What a run leaves: records become a labelled dataset, or evidence kept in a file."""

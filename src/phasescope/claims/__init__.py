"""What a paper says: claims, and the evidence that they ask for."""

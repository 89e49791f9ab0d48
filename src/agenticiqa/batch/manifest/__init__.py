"""What is asked: read, checked, pictures fetched."""

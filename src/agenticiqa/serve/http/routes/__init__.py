"""The endpoints, one group per file."""

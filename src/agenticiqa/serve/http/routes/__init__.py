"""The endpoints, one group a file."""

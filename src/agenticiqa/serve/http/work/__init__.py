"""The queue and the work itself."""

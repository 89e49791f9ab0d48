"""The HTTP service with its page."""

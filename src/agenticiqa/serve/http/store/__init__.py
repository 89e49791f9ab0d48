"""Uploaded pictures and recorded jobs, and when they expire."""

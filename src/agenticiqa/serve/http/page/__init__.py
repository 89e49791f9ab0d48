"""The web page and its example pictures."""

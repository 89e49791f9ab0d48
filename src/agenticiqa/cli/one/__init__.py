"""Commands about one picture or a few."""

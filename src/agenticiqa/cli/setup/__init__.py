"""Commands about this installation: backends, tools, settings, runs."""

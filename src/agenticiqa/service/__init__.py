"""The HTTP service: ``agenticiqa serve``. Needs the extra ``serve``."""

"""Model backends: one module for each provider, each with a ``PROVIDER``. Nothing here imports an SDK at import time."""

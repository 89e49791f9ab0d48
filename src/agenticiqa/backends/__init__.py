"""Model backends: one module for each provider, each with a ``PROVIDER``. Importing one imports no SDK."""

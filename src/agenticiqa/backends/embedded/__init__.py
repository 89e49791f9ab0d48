"""The embedded assessor: a trained vision model that needs no key, no GPU and no network."""

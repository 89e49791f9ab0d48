"""What the providers share: sending, faults, reply schemas, log-probabilities, model names."""

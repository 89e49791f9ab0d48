"""The front door for Python: the verbs, and what they need to know of a machine."""

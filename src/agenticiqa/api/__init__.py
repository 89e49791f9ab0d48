"""The Python interface: ``AgenticIQA``, the verbs, comparing, measuring, and what works on this machine."""

"""Measuring tools: which there are, which run here, what their values mean on 1..5."""

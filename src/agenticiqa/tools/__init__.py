"""Measuring tools: metrics, their catalogue, and their calibration to one 1..5 scale."""

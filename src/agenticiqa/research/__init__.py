"""Figures of result files: agreement, accuracy, comparisons, gates, benchmarks."""

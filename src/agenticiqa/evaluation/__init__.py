"""How well stored results agree with people: correlations, accuracies, comparisons, ablations."""

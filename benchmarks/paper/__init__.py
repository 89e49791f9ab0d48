"""The paper's tables from a folder of datasets: sets × methods, run once, resumed, and laid out beside its figures."""

"""A whole batch on one self-contained page: figures, charts, cases, errors."""

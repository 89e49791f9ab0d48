"""These are scripts: one needs torch and the other libraries, and neither holds tests of its own."""

collect_ignore = ["make_reference_values.py", "compare.py"]

"""What every room stands on: settings, logs, cache, run records, files, locks."""

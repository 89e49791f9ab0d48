"""Who does the work: threads or worker processes."""

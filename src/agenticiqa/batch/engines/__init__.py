"""Who does the work: worker processes or Ray actors."""

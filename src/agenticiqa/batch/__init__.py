"""Many questions about many pictures: manifest, ledger, engines, results."""

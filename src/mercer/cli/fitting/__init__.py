"""What `mercer fit` does: read a table, split it, train a model, and tell what came of it."""

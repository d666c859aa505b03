"""Solvers that take one row at a time."""

"""Transformers: rows to features."""

"""Choosing classifiers: kernel logistic regression and ridge classification."""

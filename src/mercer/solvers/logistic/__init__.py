"""Logistic problems: penalised likelihoods of classes."""

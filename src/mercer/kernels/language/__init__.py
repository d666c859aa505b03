"""Kernels as text: the expression language, printing and LaTeX."""

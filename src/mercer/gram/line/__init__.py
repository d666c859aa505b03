"""Gram matrices of points on a line, of which the inverse is tridiagonal."""

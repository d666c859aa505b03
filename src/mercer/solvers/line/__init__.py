"""Ridge problems of points on a line, in O(n)."""

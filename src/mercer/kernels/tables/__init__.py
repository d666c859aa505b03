"""Kernels of tables: the roles of columns, and the kernel that they suggest."""

"""Families of kernels, each a formula on tiles."""

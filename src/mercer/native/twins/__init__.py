"""The NumPy twins of the native routines: the slow obvious form of each."""

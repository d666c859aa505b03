"""Learning from a stream of blocks."""

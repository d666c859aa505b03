"""Low-rank copies of a Gram matrix, and preconditioners made of them."""

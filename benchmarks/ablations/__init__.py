"""The fast paths of the library, each with the same job without it."""

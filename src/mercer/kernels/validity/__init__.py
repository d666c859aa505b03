"""Whether a kernel is one: rules, proofs, and the search for a witness."""

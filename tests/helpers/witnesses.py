"""How anyone checks a witness again."""


def recheck(kernel, witness):
    """The two lines of the documentation."""
    K = kernel(witness.points)
    return witness.coefficients @ K @ witness.coefficients < -witness.rounding_bound

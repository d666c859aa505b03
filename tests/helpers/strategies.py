"""Random kernels for hypothesis: every class that can be written as text, composed at will."""

from __future__ import annotations

from hypothesis import strategies as st

from mercer.kernels import (
    AdditiveChi2,
    After,
    Bilinear,
    Chi2,
    Columns,
    Constant,
    Cosine,
    EditDistance,
    Exp,
    Exponential,
    GappedKmer,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Match,
    Matern32,
    Matern52,
    Mismatch,
    Normalized,
    Periodic,
    Polynomial,
    PolynomialOf,
    Power,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sobolev,
    Spectrum,
    Standardize,
    Subsequence,
    Sum,
    Words,
)

# Subnormal and huge numbers included.
reals = st.floats(allow_nan=False, allow_infinity=False)
positives = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
non_negatives = st.floats(min_value=0.0, allow_infinity=False)
wholes = st.integers(min_value=1, max_value=10**30)
length_scales = st.one_of(
    positives,
    st.lists(positives, min_size=1, max_size=4).map(tuple),
    st.sampled_from(["median", "columns"]),
)
slopes = st.one_of(reals, st.just("columns"))


@st.composite
def matrices(draw):
    n = draw(st.integers(1, 3))
    upper = {(i, j): draw(reals) for i in range(n) for j in range(i, n)}
    return tuple(tuple(upper[min(i, j), max(i, j)] for j in range(n)) for i in range(n))


ODD_NAMES = [
    "body mass",
    "it's",
    'the "best"',
    "größe",
    "Größe_2",
    "2nd",
    "lambda",
    "True",
    "gaussian",
    "median",
    "on",
    "0",
    "-1",
    "1e5",
    "a.b",
    "a,b)",
    "x = 1",
    "new\nline",
    "tab\there",
    "back\\slash",
    "\\",
    "'\"",
    "",
    " ",
    "\x00\x7f\xa0",
    "\u2028",
    "\ud800",
    "日本語",
    "😀",
    "ⅷ",
    "<f>",
    "#",
]
names = st.one_of(st.sampled_from(ODD_NAMES), st.text(max_size=8))
columns = st.lists(st.one_of(names, st.integers()), min_size=1, max_size=4, unique=True).map(tuple)

small = st.integers(min_value=1, max_value=9)
several = st.one_of(small, st.lists(small, min_size=1, max_size=4, unique=True).map(tuple))


@st.composite
def spectra(draw):
    k = draw(several)
    n = len(k) if isinstance(k, tuple) else 1
    weights = st.one_of(st.none(), st.lists(non_negatives, min_size=n, max_size=n).map(tuple))
    return Spectrum(k, draw(weights), draw(st.booleans()))


leaves = st.one_of(
    spectra(),
    small.flatmap(lambda g: st.builds(GappedKmer, st.just(g), st.integers(0, g - 1))),
    small.flatmap(
        lambda k: st.builds(
            Mismatch, st.just(k), st.integers(0, k - 1), small, st.sampled_from(["keep", "fold"])
        )
    ),
    st.builds(Subsequence, several, st.floats(min_value=0.0, max_value=1.0)),
    st.builds(EditDistance, positives),
    st.builds(Words, st.booleans()),
    st.builds(Gaussian, length_scales),
    st.builds(Exponential, length_scales),
    st.builds(Laplacian, length_scales),
    st.builds(Matern32, length_scales),
    st.builds(Matern52, length_scales),
    st.builds(RationalQuadratic, length_scales, positives),
    st.builds(InverseMultiquadric, positives),
    st.builds(Periodic, positives, positives),
    st.builds(Linear, reals),
    st.builds(Polynomial, wholes, reals, slopes),
    st.builds(Sigmoid, slopes, reals),
    st.builds(Bilinear, matrices()),
    st.builds(Chi2, positives),
    st.builds(Constant, reals),
    st.sampled_from([Cosine(), AdditiveChi2(), Sobolev(), Precomputed()]),
    st.sampled_from([Match(), Match("own-category")]),
)

scalings = st.lists(st.tuples(reals, positives), max_size=3).map(
    lambda columns: Standardize([m for m, _ in columns], [s for _, s in columns])
)


def composites(parts):
    """Return every composite of some parts."""
    terms = st.lists(parts, min_size=1, max_size=4).map(tuple)
    coefficients = st.lists(non_negatives, min_size=1, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Sum, terms),
        st.builds(Product, terms),
        st.builds(Scaled, parts, st.floats(min_value=0.0, max_value=1e60)),
        st.builds(Power, parts, wholes),
        st.builds(Exp, parts),
        st.builds(Normalized, parts),
        st.builds(PolynomialOf, parts, coefficients),
        st.builds(Columns, parts, columns),
        st.builds(After, parts, scalings),
    )


kernels = st.recursive(leaves, composites, max_leaves=12)

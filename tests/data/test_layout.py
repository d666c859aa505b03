"""Whatever the layout in memory: the right answer, or an error before native code follows it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data import layout
from mercer.gram import gram_of
from mercer.kernels import Cosine, FromFeatures, FromFunction, Gaussian, Laplacian, Linear
from mercer.tiles import apply
from refusals import refuses

ROWS, COLUMNS = 20, 30


def sparse(form="csr"):
    """A well-formed matrix, the first entry of row 1 in column 4 and the last entry of row 19."""
    return sp.random_array(
        (ROWS, COLUMNS), density=0.2, format=form, rng=np.random.default_rng(5), dtype=np.float64
    )


def far_index(A):
    A.indices[-1] = 10**8


def index_just_outside(A):
    A.indices[-1] = A.shape[1] if A.format == "csr" else A.shape[0]


def negative_index(A):
    A.indices[0] = -5


def falling_starts(A):
    A.indptr[5] = A.indptr[9] + 4


def negative_start(A):
    A.indptr[4] = -(10**6)


def late_start(A):
    A.indptr[0] = 1


def end_beyond_the_entries(A):
    A.indptr[-1] = 10**7


def too_few_starts(A):
    A.indptr = A.indptr[:-2]


def too_few_indices(A):
    A.indices = A.indices[:-40]


def broken_index(A):
    A.indices = A.indices + 0.5


DAMAGES = [
    (far_index, "100000000"),
    (index_just_outside, "outside of its shape (20, 30)"),
    (negative_index, "-5"),
    (falling_starts, "has a damaged indptr: the entries of {line} 5 begin at"),
    (negative_start, "has a damaged indptr: the entries of {line} 3 begin at"),
    (late_start, "has a damaged indptr: the entries of {line} 0 begin at 1"),
    (end_beyond_the_entries, "and end at 10000000, among 120"),
    (too_few_starts, "has an indptr of"),
    (too_few_indices, "has 120 values but 80 indices"),
    (broken_index, "has an index vector of dtype float64"),
]


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=lambda d: getattr(d, "__name__", ""))
def test_a_damaged_sparse_matrix_is_refused_before_it_is_read(damage, message, form):
    A = sparse() if form != "bsr" else sp.bsr_array(sparse(), blocksize=(1, 1))
    A = A.asformat(form)
    damage(A)
    if damage is index_just_outside and form == "bsr":
        A.indices[-1] = COLUMNS
    message = message.format(line="column" if form == "csc" else "row")
    refuses(message, Linear(), A)


def test_the_error_names_the_side_the_row_and_the_column():
    A = sparse()
    A.indices[-1] = 300
    last = int(np.flatnonzero(np.diff(A.indptr))[-1])
    place = f"has an entry at row {last}, column 300, outside of its shape (20, 30); build it again"
    refuses(f"X {place}", Linear(), A)
    refuses(f"Z {place}", Linear(), sparse(), A)
    refuses(f"g(X) {place}", FromFeatures(lambda X: A), np.zeros((ROWS, 2)))


def test_blocks_are_named_by_their_first_row_and_column():
    A = sp.bsr_array(np.ones((4, 6)), blocksize=(2, 3))
    A.indices[-1] = 7
    refuses("X has an entry at row 2, column 21, outside of its shape (4, 6)", Linear(), A)


def test_coordinates_outside_are_refused():
    for vector, value in (("col", 300), ("row", -1)):
        A = sparse("coo")
        getattr(A, vector)[3] = value
        refuses("outside of its shape (20, 30)", Linear(), A)


def test_lists_and_diagonals_that_do_not_fit_are_refused():
    A = sparse("lil")
    A.rows[2] = [1] * 1000
    refuses("row 2 of X has 1000 columns but", Linear(), A)
    B = sparse("lil")
    B.rows[2] = [10**8] * len(B.rows[2])
    refuses("outside of its shape (20, 30)", Linear(), B)
    C = sp.dia_array(np.eye(5))
    C.offsets = np.arange(100)
    refuses("X has 1 diagonals but 100 offsets", Linear(), C)


@pytest.mark.parametrize("damage", [far_index, falling_starts])
@pytest.mark.parametrize(
    "read",
    [
        Linear().diagonal,
        Gaussian(),
        Gaussian("median"),
        Laplacian().on(1, 2),
        Cosine().distance,
        FromFunction(lambda X, Z: (X @ Z.T).toarray()),
        lambda A: gram_of(Linear(), A).rows(np.array([1])),
        lambda A: apply(Gaussian().program, A, None, np.ones(ROWS)),
        Linear().features,
    ],
)
def test_every_way_in_refuses_a_damaged_matrix(read, damage):
    A = sparse()
    damage(A)
    refuses("build it again from the rows, columns and values of its entries", read, A)


# Index vectors that SciPy takes


def wide_indices(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)


def indices_of_two_widths(A):
    A.indices = A.indices.astype(np.int64)


def foreign_indices(A):
    A.indices = A.indices.astype(">i4")


def foreign_values(A):
    A.data = A.data.astype(">f8")


def strided_vectors(A):
    A.data, A.indices, A.indptr = (np.repeat(v, 2)[::2] for v in (A.data, A.indices, A.indptr))


def unaligned_vectors(A):
    A.data, A.indices = unaligned(A.data), unaligned(A.indices)


def entries_beyond_the_last_row(A):
    A.data = np.append(A.data, [9.0, 9.0])
    A.indices = np.append(A.indices, [10**6, -4]).astype(np.int32)


def halves_said_to_be_whole(A):
    A.data, A.indices = np.repeat(A.data / 2.0, 2), np.repeat(A.indices, 2)
    A.indptr = A.indptr * 2
    A.has_canonical_format = True


def read_only_vectors(A):
    for vector in (A.data, A.indices, A.indptr):
        vector.flags.writeable = False


@pytest.mark.parametrize(
    "change",
    [
        wide_indices,
        indices_of_two_widths,
        foreign_indices,
        foreign_values,
        strided_vectors,
        unaligned_vectors,
        entries_beyond_the_last_row,
        halves_said_to_be_whole,
        read_only_vectors,
    ],
)
def test_odd_vectors_of_a_sparse_matrix_are_read_and_left_alone(change):
    expected = sparse().toarray()
    A = sparse()
    change(A)
    kept = [vector.copy() for vector in (A.data, A.indices, A.indptr)]
    for kernel in (Linear(), Gaussian(), Laplacian(), Gaussian().on(3, 1)):
        assert_allclose(kernel(A), kernel(expected), rtol=1e-12, atol=1e-14)
        assert_allclose(kernel.diagonal(A), kernel.diagonal(expected), rtol=1e-12)
    for vector, before in zip((A.data, A.indices, A.indptr), kept, strict=True):
        assert_array_equal(vector, before)


# Arrays


def unaligned(A):
    raw = np.zeros(A.nbytes + 1, np.uint8)
    moved = raw[1:].view(A.dtype).reshape(A.shape)
    moved[...] = A
    return moved


def field_of_records(A):
    records = np.zeros(len(A), dtype=[("c", "i1"), ("x", A.dtype, A.shape[1:])])
    records["x"] = A
    return records["x"]


def field_of_wide_records(A):
    records = np.zeros(A.shape, dtype=[("x", A.dtype), ("c", "i2")])
    records["x"] = A
    return records["x"]


def foreign(A):
    return A.astype(A.dtype.newbyteorder(">"))


LAYOUTS = [unaligned, field_of_records, field_of_wide_records, foreign, np.asfortranarray]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("arranged", LAYOUTS)
def test_rows_of_any_layout_are_read(arranged, dtype, rng):
    X = rng.normal(size=(7, 30)).astype(dtype)
    for kernel in (Linear(), Gaussian(), Laplacian(), Gaussian().on(3, 1)):
        K = kernel(arranged(X))
        assert K.dtype == dtype
        assert_array_equal(K, kernel(X))
        assert_array_equal(kernel(X[:3], arranged(X)), kernel(X[:3], X))


@pytest.mark.parametrize("arranged", LAYOUTS)
def test_vectors_of_any_layout_are_multiplied(arranged, rng):
    X, V = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    program = Gaussian().program
    assert_array_equal(apply(program, X, None, arranged(V)), apply(program, X, None, V))
    assert_array_equal(apply(program, X, None, arranged(V[:, 0])), apply(program, X, None, V[:, 0]))


def test_a_plain_array_is_not_copied():
    X = np.zeros((4, 6))
    for view in (X, X.T, X[::-1], X[::2, ::3], X[:, 0]):
        assert layout.plain(view) is view


# Columns in use


def test_narrow_columns_keep_their_entries_and_drop_the_others(rng):
    dense = rng.integers(0, 3, (6, 9)).astype(float)
    columns = np.array([1, 4, 8])
    assert_array_equal(layout.narrowed(sp.csr_array(dense), columns).toarray(), dense[:, columns])


@pytest.mark.parametrize("width", [4, 2**40])
def test_columns_in_use_are_those_with_an_entry(width):
    entries = ([1.0, 2.0, 3.0, 4.0, 5.0], ([0, 1, 1, 2, 3], [3, 0, 3, 0, 3]))
    A = sp.csr_array(entries, shape=(4, width))
    assert layout.used_columns(A).tolist() == [0, 3]
    assert layout.used_columns(A, np.zeros((2, 2))).tolist() == [0, 1, 3]

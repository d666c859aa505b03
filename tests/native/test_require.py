"""Native routines refuse arrays that would lead them out of memory, whoever calls them."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.native.smo import Box, Effort, Request, SolverState
from refusals import refuses

native = pytest.importorskip("mercer.native._native", reason="the native core is not built here")

LEVEL = native.level("")
# A program of one step: the inner product of the rows of one leaf.
CODE, CONSTANTS = np.array([[0, 0, 0, 0, 0]], np.int32), np.array([[1.0, 0.0, 0.0, 0.0]])


def entries(columns, starts):
    values = np.ones(len(columns))
    return values, np.array(columns, np.int32), np.array(starts, np.int64)


def filled(left, right, width=3, weights=None):
    leaf = (0, left, right, None, width, weights, 0.0)
    out = np.empty((2, 2))
    native.fill([leaf], CODE, CONSTANTS, [], 1, out, False, 1, LEVEL)
    return out


def test_rows_that_fit_their_job_are_taken():
    assert filled(entries([0, 2], [0, 1, 2]), np.ones((2, 3))).tolist() == [[1.0, 1.0]] * 2


@pytest.mark.parametrize(
    "left",
    [
        entries([0, 3], [0, 1, 2]),
        entries([0, -1], [0, 1, 2]),
        entries([0, 2], [0, 1, 3]),
        entries([0, 2], [0, 2, 1]),
        entries([0, 2], [-1, 1, 2]),
        entries([0, 2], [0, 2]),
    ],
    ids=["column", "negative column", "end", "falling starts", "negative start", "few starts"],
)
def test_entries_outside_of_their_matrix_are_refused(left):
    refuses("lead out of their matrix", filled, left, np.ones((2, 3)))


def test_rows_of_another_shape_or_precision_are_refused():
    for rows in (np.ones((2, 4)), np.ones((1, 3)), np.ones((2, 3), np.float32)):
        refuses("the shape and the precision of its job", filled, np.ones((2, 3)), rows)
    refuses("one number per row or column", filled, np.ones((2, 3)), np.ones((2, 3)), 3, np.ones(2))


def test_products_of_sparse_rows_outside_of_their_columns_are_refused():
    A, B = sp.csr_array(np.eye(3)), sp.csc_array(np.eye(3))
    for matrix, value in ((A, 3), (B, -1)):
        sound = matrix.indices.copy()
        matrix.indices[1] = value
        parts = [v for M in (A, B) for v in (M.indptr.astype(int), M.indices.astype(int), M.data)]
        out = np.empty((3, 3))
        refuses("lead out of their matrix", native.sparse_products, *parts, out, False, 1)
        matrix.indices[:] = sound


def test_an_order_that_names_no_row_is_refused():
    n = 3
    for row in (n, -1):
        order, counts, late = np.array([0, row]), np.zeros(n, int), np.zeros(n, int)
        vectors = (np.ones(n), np.zeros(n), counts, late, np.zeros(1, int))
        refuses(
            "names a row that there is not", native.perceptron_sweep, np.eye(n), order, *vectors
        )
        refuses(
            "a row for every one of the order",
            native.descend_dense,
            *(np.ones((n, 2)), np.arange(n), LEVEL, order, *descent(n)),
        )
        refuses(
            "a row of features for every coefficient",
            native.descend_dense,
            *(np.ones((n, 2)), np.array([0, 1, row]), LEVEL, np.arange(n), *descent(n)),
        )


def descent(n):
    """Return what a pass over n rows of two features is told beside these, and moves."""
    box = (np.ones(n), -np.ones(n), np.ones(n), 0.0, np.ones(n), 0.0)
    return (*box, np.zeros(n), 0.0, np.zeros(n), np.zeros(2), np.zeros(3))


def test_features_outside_of_their_weights_are_refused():
    n = 2
    order = np.arange(n)
    native.descend_sparse(*entries([0, 1], [0, 1, 2]), order, *descent(n))
    for columns, starts in (([0, 2], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 1, 3])):
        rows = entries(columns, starts)
        refuses("lead out of their matrix", native.descend_sparse, *rows, order, *descent(n))


def test_sequences_outside_of_their_symbols_are_refused():
    symbols, out = np.array([1, 2, 3]), np.empty(2)
    for starts in ([0, 1, 4], [0, 2, 1], [-1, 1, 3]):
        sides = (symbols, np.array(starts))
        refuses(
            "lead out of their symbols",
            native.subsequence_diagonal,
            *(*sides, np.ones(2), 0.5, out, 1, LEVEL),
        )
        refuses(
            "lead out of their codes",
            native.run_lengths,
            *(*sides, np.empty(3, int), np.empty(3), np.empty(2, int), 1),
        )


def test_symbols_beyond_the_letters_are_refused():
    table = np.zeros(64, np.uint8)
    for symbol in (3, -1):
        symbols = np.array([0, symbol, 2])
        refuses(
            "symbols must be numbers below that of the letters",
            native.matched_windows_diagonal,
            *(symbols, np.array([0, 3]), table, 2, 3, np.empty(1), 1, LEVEL),
        )


def test_positions_beyond_the_knots_are_refused():
    n = 4
    level = (np.ones(n), np.ones(n - 1), np.ones(n - 1), np.ones(n))
    for knot in (n, -1):
        at = (np.array([knot]), np.ones(1), np.ones(1), np.ones(1))
        refuses("a knot for every position", native.chain_influence, *level, *at, np.empty((1, n)))


def test_an_index_that_names_no_row_of_k_is_refused():
    n = 2
    box = Box(np.ones(n), -np.ones(n), np.ones(n), 0.0, False)
    for row in (3, -1):
        index, stop = np.array([0, row]), np.zeros(1, np.uint8)
        given = (np.eye(3), None, index, None, stop, None, None, False, 0, 2, 1)
        request = Request(box, Effort(1e-3), *given, SolverState.initial(n, 2))
        refuses(
            "the index names a row that K does not have",
            native.smo_solve,
            *(request, np.zeros(n), np.zeros(n), LEVEL),
        )

"""What solvers refuse, and only beyond rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import PrecomputedGram
from mercer.kernels.validity.rounding import STEP, form_error
from mercer.solvers.refusals import indefinite, indefinite_along, singular
from mercer.solvers.rounding import EPS

INDEFINITE = np.array([[1.0, 1.5, 0.0], [1.5, 1.0, 0.0], [0.0, 0.0, 2.0]])


def test_a_form_is_negative_beyond_the_rounding_of_its_terms_and_entries():
    c = np.array([0.6, -0.8])
    bound = ((2 * 7 + 2) * EPS + STEP) * 3.0
    assert indefinite(c, -bound, 3.0, 7) is None
    assert indefinite(c, 1.0, 3.0, 7) is None
    refusal = indefinite(c, -1.001 * bound, 3.0, 7)
    assert refusal.witness.coefficients is c
    assert refusal.witness.value == -1.001 * bound
    assert_allclose(refusal.witness.rounding_bound, bound)
    assert indefinite(c, -1.001 * bound, 3.0, 7, entry=1e-3) is None


def test_a_witness_is_of_unit_norm_and_has_the_value_of_the_entries():
    refusal = indefinite_along(PrecomputedGram(INDEFINITE), np.array([3.0, -3.0, 0.0]))
    witness = refusal.witness
    assert_allclose(witness.coefficients, [np.sqrt(0.5), -np.sqrt(0.5), 0.0])
    assert_allclose(witness.value, -0.5)
    gram, c = PrecomputedGram(INDEFINITE), witness.coefficients[:2]
    errors = gram.errors(np.arange(2))
    assert_allclose(witness.rounding_bound, form_error(INDEFINITE[:2, :2], errors, c))
    assert "c'Kc = -0.5" in str(refusal)
    assert indefinite_along(PrecomputedGram(INDEFINITE), np.array([1.0, 1.0, 1.0])) is None


@pytest.mark.parametrize("entries", [1 << 20, 4])
def test_many_rows_are_summed_up_in_blocks(monkeypatch, entries):
    gram = PrecomputedGram(INDEFINITE)
    c = np.array([3.0, -3.0, 0.5])
    few = indefinite_along(gram, c, few=3).witness
    monkeypatch.setattr("mercer.data.blocks.MEMORY", entries)
    many = indefinite_along(gram, c, few=2).witness
    assert_allclose(many.value, few.value)
    unit = np.abs(c) / np.linalg.norm(c)
    magnitude = unit @ np.abs(INDEFINITE) @ unit
    assert_allclose(many.rounding_bound, (8 * EPS + gram.entry_error) * magnitude)


def test_a_singular_system_says_which_ridge_rounding_alone_asks_for():
    message = str(singular(1e-20, 50, 3.0))
    assert "singular to working precision at alpha = 1e-20" in message
    assert f"rounding alone asks for {10 * 50 * EPS * 3.0:.1g}" in message


@pytest.mark.parametrize(("few", "bound"), [(2, "entries"), (1, "largest")])
def test_of_few_rows_every_entry_is_granted_an_error_of_its_own(few, bound):
    class Known(PrecomputedGram):
        def errors(self, index):
            return 1e-5 * np.arange(1.0, 1.0 + len(index) ** 2).reshape(len(index), len(index))

    gram = Known(INDEFINITE)
    witness = indefinite_along(gram, np.array([1.0, -1.0, 0.0]), few).witness
    unit = np.abs(witness.coefficients)
    expected = {
        "entries": form_error(INDEFINITE[:2, :2], gram.errors([0, 1]), np.sqrt([0.5, 0.5])),
        "largest": (8 * EPS + gram.entry_error) * (unit @ np.abs(INDEFINITE) @ unit),
    }
    assert_allclose(witness.rounding_bound, expected[bound])
    assert expected["entries"] > 2.0 * expected["largest"]

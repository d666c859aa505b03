"""How evidence for and against a kernel prints."""

import numpy as np
import pytest

from mercer.kernels.validity.proof import Asymmetry, Proof, Status, Validity, Witness


def test_a_proof_is_a_tree_with_a_branch_for_every_premise():
    first = Proof("a", "one", (Proof("c", "three"), Proof("d", "four")))
    tree = Proof("a + b", "sum", (first, Proof("b", "two")))
    assert str(tree).split("\n") == [
        "a + b    [sum]",
        "├─ a    [one]",
        "│  ├─ c    [three]",
        "│  └─ d    [four]",
        "└─ b    [two]",
    ]


@pytest.mark.parametrize(("n", "word"), [(1, "1 point:"), (2, "2 points:")])
def test_a_witness_says_by_how_much_and_where(n, word):
    text = str(Witness(np.eye(n), np.ones(n), -0.125, 1e-15))
    assert text.startswith(f"c'Kc = -0.125 < -1e-15 (rounding) on {word}\npoints\n")


def test_an_asymmetry_shows_both_values():
    text = str(Asymmetry(np.eye(2), (1.5, -2.5)))
    assert text.startswith("not symmetric: k(x, z) = 1.5 but k(z, x) = -2.5 at\n")


def test_a_validity_shows_its_evidence():
    proved = Validity("k", Status.PROVED, proof=Proof("k", "rule"))
    assert str(proved) == repr(proved) == "PROVED: k\nk    [rule]"
    refuted = Validity("k", Status.REFUTED, witness=Asymmetry("points", (1.0, 2.0)))
    assert str(refuted).startswith("REFUTED: k\nnot symmetric")
    open_ = Validity("k", Status.CONSISTENT, searched="3 sets of points")
    expected = "CONSISTENT: k\nno witness found in 3 sets of points; this is not a proof"
    assert str(open_) == expected
    with pytest.raises(TypeError, match="three states"):
        bool(open_)

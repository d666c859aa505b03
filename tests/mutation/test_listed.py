"""What is listed as mutants that may live is still in the code."""

import pytest
from listed import Listed, listed, stale
from places import Mutant

PATH = "solvers/logistic/likelihood.py"


def test_every_mutant_that_may_live_has_its_line_once():
    assert stale(listed()) == []


def test_none_is_listed_twice():
    entries = [(e.path, e.within, e.before, e.after) for e in listed()]
    assert len(set(entries)) == len(entries)


def test_a_line_that_is_there_no_more_or_twice_is_told():
    gone = Listed(PATH, "no such line", "none")
    twice = Listed(PATH, "if self.columns == 1:", "none")
    lost = Listed("no/such/file.py", "x = 1", "none")
    counts = [text.split(" (")[1] for text in stale([gone, twice, lost])]
    assert counts == [f"there {n} times)" for n in (0, 2, 0)]


@pytest.mark.parametrize(
    ("within", "after", "line", "means"),
    [
        ("_newton_step", "x", None, True),
        ("_newton_step", "y", None, False),
        ("_newton_step", "x", 1, False),
        ("restored", "x", None, False),
    ],
)
def test_a_mutant_is_known_by_its_function_its_line_and_what_it_becomes(within, after, line, means):
    before = "if self.columns == 1:"
    (place,) = Listed(PATH, before, "none", within="_newton_step").lines()
    mutant = Mutant(PATH, place if line is None else line, before, after, "")
    assert Listed(PATH, before, "none", "x", within).means(mutant) is means
    assert Listed(PATH, before, "none", "", within).means(mutant) is (
        line is None and within == "_newton_step"
    )

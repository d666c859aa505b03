"""From names and settings to solvers."""

import pytest

from mercer.solvers import Cholesky, ConjugateGradient, as_solver


def test_it_is_known_by_name_with_its_settings():
    assert as_solver("cg") == ConjugateGradient()
    chosen = as_solver("cg", tol=1e-3, max_iter=5, random_state=7)
    assert chosen == ConjugateGradient(1e-3, 5, None, 7)
    kept = as_solver(ConjugateGradient(rank=3, random_state=1), max_iter=9)
    assert kept == ConjugateGradient(rank=3, random_state=1, max_iter=9)


def test_settings_for_iterations_do_not_matter_to_others():
    assert as_solver("cholesky", max_iter=5, random_state=0) == Cholesky()


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "many"])
def test_limits_that_mean_nothing_are_refused(limit):
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least 1"):
        as_solver("cg", max_iter=limit)

import gc

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A busy machine disproves no property, and a change is judged by the same examples each time;
# --hypothesis-profile=search draws others.
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("mercer", derandomize=True, **QUIET)
settings.register_profile("search", **QUIET)
settings.load_profile("mercer")


def pytest_configure():
    # Of thousands of tests that are collected none is garbage,
    gc.disable()


def pytest_collection_finish():
    # and none is looked at again whenever a test leaves some.
    gc.freeze()
    gc.enable()


@pytest.fixture
def rng():
    """Random numbers, the same in every run of a test."""
    return np.random.default_rng(20240607)


@pytest.fixture
def points(rng):
    """A maker of read-only random points: points(n, d=3), of normal or non-negative entries."""

    def make(n, d=3, non_negative=False):
        X = rng.normal(size=(n, d))
        if non_negative:
            X = np.abs(X)
        X.flags.writeable = False
        return X

    return make


@pytest.fixture
def brief(monkeypatch):
    """The automatic machines learn each of their kernels for a single step."""
    for steps in ("first_steps", "warm_steps", "second_steps"):
        monkeypatch.setattr(f"mercer.selection.automatic.search.KernelSearch.{steps}", 1)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """Keep measured rates out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield

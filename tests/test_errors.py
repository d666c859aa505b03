import copy
import pickle

import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import errors

CASES = [
    errors.MemoryLimitError,
    errors.KernelOverflowError,
    errors.KernelSyntaxError,
    errors.IndefiniteKernelError,
    errors.SingularSystemError,
    errors.ModelFileError,
]


@pytest.mark.parametrize("error", CASES, ids=lambda e: e.__name__)
def test_every_error_is_a_value_error_that_prints_its_message(error):
    assert issubclass(error, ValueError)
    assert str(error("what to do")) == "what to do"


def test_an_indefinite_kernel_carries_its_witness():
    error = errors.IndefiniteKernelError("not a kernel", witness=(1.0, -2.0))
    assert error.witness == (1.0, -2.0)
    assert errors.IndefiniteKernelError("not a kernel").witness is None


@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_witness_survives_the_way_between_processes(again):
    error = again(errors.IndefiniteKernelError("not a kernel", witness=(1.0, -2.0)))
    assert error.witness == (1.0, -2.0)
    assert str(error) == "not a kernel"


def test_warnings_are_user_warnings():
    assert issubclass(errors.ConditionalKernelWarning, UserWarning)
    assert issubclass(errors.ConvergenceWarning, UserWarning)
    assert issubclass(errors.EngineWarning, UserWarning)


def test_a_warning_of_convergence_is_one_of_scikit_learn():
    assert issubclass(errors.ConvergenceWarning, ConvergenceWarning)
    assert pickle.loads(pickle.dumps(errors.ConvergenceWarning)) is errors.ConvergenceWarning


def test_an_error_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'mercer\.errors' has no attribute 'NoError'"):
        errors.NoError  # noqa: B018

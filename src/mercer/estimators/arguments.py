"""Arguments of estimators: those they take, and the way to go without others of scikit-learn."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

NOT_NEEDED = "leave it out"

# By the name in scikit-learn: what to do instead, said by an estimator that has no such argument.
INSTEAD = {
    "C": "least squares have the ridge alpha, which is 1 / (2 C); mercer.penalty converts",
    "alpha": "support vector machines and logistic regression have C, which is 1 / (2 alpha); "
    "mercer.penalty converts",
    "alphas": "use KernelRidgeCV, or GridSearchCV over alpha",
    "Cs": "use KernelLogisticRegressionCV, or GridSearchCV over C",
    "cache_size": "give memory='512MB', the limit for Gram matrices",
    "copy_X": f"{NOT_NEEDED}: rows are never changed",
    "dual": f"{NOT_NEEDED}: solver='auto' takes explicit features where they are few",
    "early_stopping": "give max_epochs or time_limit",
    "eigen_solver": "give solver='dense', 'iterative' or 'nystrom'",
    "eta0": "give eta",
    "fit_intercept": "add a constant to the kernel, as in 'gaussian + 1.0'",
    "fit_inverse_transform": "use KernelPCA, which has it",
    "gcv_mode": f"{NOT_NEEDED}; cv='gcv' is generalised cross-validation",
    "include_bias": f"{NOT_NEEDED}: offset=0.0 leaves the constant out, with all of lower degree",
    "interaction_only": f"{NOT_NEEDED}: the features are those of the polynomial kernel",
    "intercept_scaling": f"{NOT_NEEDED}: the offset is never penalised",
    "iterated_power": f"{NOT_NEEDED}; solver='nystrom' with n_landmarks approximates",
    "kernel_params": "write them into the kernel, as in 'gaussian(gamma=0.1)', or into the "
    "function by functools.partial",
    "kernels": "give one kernel as kernel=, or use an estimator that chooses, such as "
    "KernelRidgeCV",
    "l1_ratio": f"{NOT_NEEDED}: the penalty is ||f||^2",
    "loss": f"{NOT_NEEDED}: every estimator has one loss",
    "max_iter": "a perceptron has max_epochs, and what does not iterate needs none",
    "multi_class": f"{NOT_NEEDED}; KernelSVC has multiclass='ovo' or 'ovr'",
    "n_iter_no_change": "give max_epochs or time_limit",
    "n_jobs": f"{NOT_NEEDED}: all cores are used, or as many as the variable MERCER_THREADS says",
    "nu": "give C (and epsilon of KernelSVR), of which nu is a reparametrisation",
    "order": f"{NOT_NEEDED}: the order of memory is chosen",
    "penalty": f"{NOT_NEEDED}: the penalty is ||f||^2",
    "positive": f"{NOT_NEEDED}: coefficients have either sign",
    "probability": f"{NOT_NEEDED}: predict_proba of classifiers works without it",
    "remove_zero_eig": f"{NOT_NEEDED}: n_components=None keeps what is not zero",
    "shrinking": f"{NOT_NEEDED}: rows that are settled are always set aside",
    "store_cv_results": f"{NOT_NEEDED}: cv_results_ is always there",
    "tol": "a perceptron has max_epochs, and what does not iterate needs none",
    "validation_fraction": "give max_epochs or time_limit",
    "verbose": "use a callback of scikit-learn for progress, and certificate_ for the outcome",
}


@cache
def parameters_of(constructor: Callable[..., None]) -> Mapping[str, inspect.Parameter]:
    """Return what the constructor of an estimator takes by name, `self` not among it."""
    parameters = inspect.signature(constructor).parameters
    return dict(list(parameters.items())[1:])


def twice_refusal(called: str, name: str, value: Any, again: Any, known: list[str]) -> str:
    """Return what to say of an argument that is given by its place and by its name."""
    return (
        f"{called} has {name!r} in the place of {value!r}, and got {name}={again!r} as well; "
        f"{_by_name(value, known)}"
    )


def unknown_refusal(called: str, name: str, value: Any, known: list[str]) -> str:
    """Return what to say of an argument that there is not, and what to do instead."""
    return f"{called} has no argument {name!r} (got {name}={value!r}); {_advice(name, known)}"


def _by_name(value: Any, known: list[str]) -> str:
    if isinstance(value, int) and "n_components" in known:
        return f"give the number of components by its name, n_components={value!r}"
    return "give every argument once, by its name"


def _advice(name: str, known: list[str]) -> str:
    if f"{name}s" in known:
        return f"give the values to choose from, as in {name}s=[...]"
    if name in INSTEAD:
        return INSTEAD[name]
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"

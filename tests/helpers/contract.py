"""What the checks of scikit-learn cannot ask of an estimator, and why."""

from mercer import KernelPerceptron, KernelSVC, KernelSVR

EQUIVALENCE = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]
# A perceptron, and stochastic gradients, walk from row to row: equal rows are visited one after the
# other, and the order tells. scikit-learn expects the same of its own.
IN_ORDER = dict.fromkeys(EQUIVALENCE, "the answer depends on the order of the rows")


def expected_failures(model):
    """Return the checks that a model fails, with the reason of each."""
    solver = getattr(model, "solver", None)
    is_stream = solver == "sgd" and isinstance(model, KernelSVC | KernelSVR)
    return IN_ORDER if isinstance(model, KernelPerceptron) or is_stream else {}

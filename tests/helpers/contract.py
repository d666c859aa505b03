"""The checks of scikit-learn, which of them an estimator is asked, and what they cannot ask."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import KernelPerceptron, KernelSVC, KernelSVR

EQUIVALENCE = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]
# A perceptron, and stochastic gradients, walk from row to row: equal rows are visited one after the
# other, and the order tells. scikit-learn expects the same of its own.
IN_ORDER = dict.fromkeys(EQUIVALENCE, "the answer depends on the order of the rows")

# Rows that are only read, in float32 and in the older sparse matrices are asked for by other checks
# too: check_readonly_memmap_input, check_estimators_dtypes and check_estimator_sparse_array.
REPEATED = {
    "check_estimator_sparse_matrix",
    "check_estimators_pickle(readonly_memmap=True)",
    "check_transformer_general(readonly_memmap=True)",
    *(
        f"check_{kind}_train({rows})"
        for kind in ("classifiers", "regressors")
        for rows in ("readonly_memmap=True", "readonly_memmap=True,X_dtype=float32")
    ),
}
# What a class answers alike whatever its settings are: its names and tags, the forms in which it
# takes rows, targets and weights, and what it refuses.
OF_THE_CLASS = REPEATED | {
    f"check_{name}"
    for name in (
        "array_api_input(array_namespace=numpy,expect_only_array_outputs=False)",
        "classifier_data_not_an_array",
        "classifiers_regression_target",
        "complex_data",
        "do_not_raise_errors_in_init_or_set_params",
        "dtype_object",
        "estimator_cloneable",
        "estimator_repr",
        # check_sample_weight_equivalence_on_sparse_data fits them in every setting.
        "estimator_sparse_array",
        "estimator_sparse_tag",
        "estimator_tags_renamed",
        "estimators_empty_data_messages",
        "estimators_fit_returns_self",
        "estimators_nan_inf",
        "estimators_partial_fit_n_features",
        "estimators_unfitted",
        "fit1d",
        "fit_score_takes_y",
        "get_params_invariance",
        "mixin_order",
        "n_features_in",
        "no_attributes_set_in_init",
        "parameters_default_constructible",
        "pipeline_consistency",
        "positive_only_tag_during_fit",
        "regressor_data_not_an_array",
        "regressors_no_decision_function",
        "requires_y_none",
        "sample_weights_list",
        "sample_weights_not_an_array",
        "sample_weights_pandas_series",
        "sample_weights_shape",
        "supervised_y_2d",
        "supervised_y_no_nan",
        "transformer_data_not_an_array",
        "transformers_unfitted",
        "valid_tag_types",
    )
}


def expected_failures(model):
    """Return the checks that a model fails, with the reason of each."""
    solver = getattr(model, "solver", None)
    is_stream = solver == "sgd" and isinstance(model, KernelSVC | KernelSVR)
    return IN_ORDER if isinstance(model, KernelPerceptron) or is_stream else {}


def checks(models, but=frozenset()):
    """Parametrize a test by the models and the checks of each, but for some."""
    cases = []
    for model in models:
        text = re.sub(r"\s", "", repr(model))
        failures = expected_failures(model)
        for estimator, check in estimator_checks_generator(model):
            name = named(check)
            marks = [pytest.mark.xfail(reason=failures[name])] if name in failures else []
            if name not in but:
                case = pytest.param(estimator, check, marks=marks, id=f"{text}-{name}")
                cases.append(case)
    return pytest.mark.parametrize(("estimator", "check"), cases)


def named(check):
    """Return the name of a check and what it is told."""
    told = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return check.func.__name__ + (f"({told})" if told else "")

"""Our estimators with the constructors of scikit-learn's, for scikit-learn's own tests.

An adapter translates arguments and nothing else: what is fitted, and everything that is known
after it, is ours.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

import mercer


class Adapter(BaseEstimator):
    """An estimator that is fitted, and answers, by one of ours."""

    def fit(self, X, y=None, sample_weight=None):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.ours_ = self.ours().fit(X, y, **weights)
        self.was_sparse_ = sp.issparse(X)
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.ours_.predict(X)

    def __getattr__(self, name):
        ours = self.__dict__.get("ours_")
        if ours is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(ours, name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def kernel_of_rows(self):
        """Return the kernel; a function is one of two rows, as `KernelRidge` and others take it."""
        if callable(self.kernel):
            return mercer.FromFunction(self.kernel, pairwise=True)
        return self.kernel

    def beside(self):
        """Return the parameters of a kernel that has a name."""
        if not isinstance(self.kernel, str):
            return {}
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}


class Machine(Adapter):
    """What the adapters of both support vector machines share."""

    def common(self):
        return {
            "kernel": self.kernel,
            "C": self.C,
            "tol": self.tol,
            "max_iter": None if self.max_iter == -1 else self.max_iter,
            "solver": "smo",
            **self.beside(),
        }

    def contained(self, values):
        """Return values in the container of the rows: our coefficients are dense."""
        if self.was_sparse_:
            return sp.csr_array(values)
        return values.toarray() if sp.issparse(values) else values

    @property
    def dual_coef_(self):
        return self.contained(self.ours_.dual_coef_)

    @property
    def support_vectors_(self):
        return self.contained(self.ours_.support_vectors_)

    @property
    def coef_(self):
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self.contained(self.ours_.coef_)


class SVC(ClassifierMixin, Machine):
    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
    ):
        for name, value in list(locals().items())[1:]:
            if name != "__class__":
                setattr(self, name, value)

    def ours(self):
        return mercer.KernelSVC(
            class_weight=self.class_weight,
            decision_function_shape=self.decision_function_shape,
            break_ties=self.break_ties,
            random_state=self.random_state,
            **self.common(),
        )

    def decision_function(self, X):
        check_is_fitted(self)
        return self.ours_.decision_function(X)

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.ours_.predict_proba(X)

    def predict_log_proba(self, X):
        check_is_fitted(self)
        return self.ours_.predict_log_proba(X)


class SVR(RegressorMixin, Machine):
    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
    ):
        for name, value in list(locals().items())[1:]:
            if name != "__class__":
                setattr(self, name, value)

    def ours(self):
        return mercer.KernelSVR(epsilon=self.epsilon, **self.common())


class KernelRidge(MultiOutputMixin, RegressorMixin, Adapter):
    def __init__(
        self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def ours(self):
        return mercer.KernelRidge(
            self.kernel_of_rows(), self.alpha, fit_intercept=False, **self.beside()
        )


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Adapter):
    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        for name, value in list(locals().items())[1:]:
            if name != "__class__":
                setattr(self, name, value)

    def ours(self):
        solver = {"arpack": "iterative", "randomized": "iterative"}.get(
            self.eigen_solver, self.eigen_solver
        )
        return mercer.KernelPCA(
            self.kernel_of_rows(),
            n_components=self.n_components,
            solver=solver,
            fit_inverse_transform=self.fit_inverse_transform,
            alpha=self.alpha,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            **self.beside(),
        )

    def fit_transform(self, X, y=None):
        self.ours_ = self.ours()
        return self.ours_.fit_transform(X)

    def transform(self, X):
        check_is_fitted(self)
        return self.ours_.transform(X)

    def inverse_transform(self, X):
        check_is_fitted(self)
        return self.ours_.inverse_transform(X)

    @property
    def _n_features_out(self):
        return self.ours_._n_features_out


class RidgeCV(MultiOutputMixin, RegressorMixin, Adapter):
    kernel = "linear"

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    def ours(self):
        # Folds are scored by r2 there, and rows left out one by one by their squared errors.
        scoring = "r2" if self.scoring is None and self.cv is not None else self.scoring
        return mercer.KernelRidgeCV(
            "linear",
            self.alphas,
            cv="loo" if self.cv is None else self.cv,
            scoring=scoring,
            fit_intercept=self.fit_intercept,
            alpha_per_target=self.alpha_per_target,
        )

    @property
    def coef_(self):
        model = self.ours_.best_estimator_
        if hasattr(model, "coef_"):
            return model.coef_
        return np.asarray((model.X_fit_.T @ model.dual_coef_).T)

"""Support vector machines of explicit features against LIBSVM and LIBLINEAR, from rows to model.

SVC(kernel="linear") has the same objective; LinearSVC(loss="hinge") penalises the offset as well.
All stop at tolerances of their own, mercer at a relative duality gap of 1e-3; the objectives that
they end at are printed beside their times. "working sets" is mercer without the features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from datasets import classification_task, fasta, sentences
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC
from timing import Figure, interleaved, show

from mercer import KernelSVC, Spectrum

Array = NDArray[Any]


def objective(model: Any, C: float, rows: Any, signs: Array) -> float:
    """Return 1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)) of a fitted model."""
    last = model[-1] if isinstance(model, Pipeline) else model
    w = last.coef_
    square = w.multiply(w).sum() if hasattr(w, "multiply") else (w * w).sum()
    loss = np.maximum(0.0, 1.0 - signs * model.decision_function(rows)).sum()
    return float(0.5 * square + C * loss)


def figures(
    case: str,
    rows: Any,
    signs: Array,
    C: float,
    kernel: Any,
    reader: Callable[[], Any] | None = None,
) -> list[Figure]:
    """Return how much faster mercer fits than every peer behind a reader of rows, if need be."""

    def machine(estimator: Any) -> Any:
        return estimator if reader is None else make_pipeline(reader(), estimator)

    contenders: dict[str, Callable[[], Any]] = {
        "mercer": lambda: KernelSVC(kernel, C),
        "LIBSVM": lambda: machine(SVC(kernel="linear", C=C, cache_size=1000)),
        "LIBLINEAR": lambda: machine(LinearSVC(loss="hinge", C=C)),
        "working sets": lambda: KernelSVC(kernel, C, solver="smo"),
    }
    models: dict[str, Any] = {}

    def fit(name: str) -> None:
        models[name] = contenders[name]().fit(rows, signs)

    with warnings.catch_warnings():
        # LIBLINEAR stops after 1000 epochs.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = interleaved({name: partial(fit, name) for name in contenders}, rounds=2)
    del models["working sets"]
    detail = ", ".join(
        f"{name} {objective(model, C, rows, signs):.6g}" for name, model in models.items()
    )
    return [
        Figure(
            f"{case}, C = {C:g}: {name}",
            best[name] / best["mercer"],
            detail=f"{best['mercer']:.3f} s, {name} {best[name]:.3f} s"
            + (f"; objectives {detail}" if name == "LIBSVM" else ""),
        )
        for name in contenders
        if name != "mercer"
    ]


def main() -> None:
    """Measure and print."""
    texts, polarity = sentences()
    sites, labels = fasta("tf_KAT2B.train")
    bound = np.where(np.array(labels) == "1", 1.0, -1.0)
    adults, income, _ = classification_task("a9a")
    grams = partial(CountVectorizer, analyzer="char", ngram_range=(6, 6), lowercase=False)
    sixes = Spectrum(6, normalize=True)
    words = TfidfVectorizer().fit_transform(texts)
    show(
        "Support vector machines in the primal",
        [
            *figures("words of sentences", words, polarity, 1.0, "linear"),
            *figures(
                "6-grams of DNA",
                sites,
                bound,
                1.0,
                sixes,
                lambda: make_pipeline(grams(), Normalizer()),
            ),
            *figures("a9a", adults, income, 1.0, "linear"),
        ],
    )


if __name__ == "__main__":
    main()

"""The pictures of importance, effects, Gram matrices, spectra, fits and kernels."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import (
    EffectDisplay,
    FitDisplay,
    GramDisplay,
    ImportanceDisplay,
    KernelDisplay,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeMean,
    KernelSVC,
    KernelSVR,
    SpectrumDisplay,
)
from mercer.reports.gram import by_cluster

plt = pytest.importorskip("matplotlib.pyplot")

DISPLAYS = [name for name in mercer.__all__ if name.endswith("Display")]


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def line(rng):
    x = np.sort(rng.uniform(-3.0, 3.0, 30))[:, None]
    return x, np.sin(2.0 * x[:, 0])


@pytest.fixture
def table(rng):
    n = 60
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    frame = pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n),
            "site": rng.choice(["a", "b"], n),
            "when": when,
            "count": rng.integers(0, 9, n),
            "text": ["".join(rng.choice(list("CNO"), 8)) for _ in range(n)],
        }
    )
    return frame, 0.1 * frame.age.to_numpy() + 2.0 * (frame.site == "b").to_numpy()


def test_no_display_imports_matplotlib_before_it_draws():
    code = f"import sys, mercer; [getattr(mercer, n) for n in {DISPLAYS}]; "
    code += "print('matplotlib' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
    assert len(DISPLAYS) == 10


def test_bars_are_the_importances_in_their_order(table):
    X, y = table
    model = KernelRidge("auto", 0.1).fit(X, y)
    display = ImportanceDisplay.from_estimator(model, most=3)
    rows = mercer.explain(model).columns[:3]
    assert_allclose([bar.get_width() for bar in display.bars_], [row.importance for row in rows])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [row.column for row in rows] and set(names[:2]) == {"age", "site"}
    assert "2 more" in display.ax_.get_title()


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas])
def test_effects_of_numbers_dates_and_categories_are_drawn(table, form):
    X, y = table
    X = form(X)
    model = KernelRidge("auto", 0.01).fit(X, y)
    age = EffectDisplay.from_estimator(model, X, "age", resolution=10)
    slope = np.diff(age.effect.mean) / np.diff(age.effect.values)
    # At both ends there are few rows, and the ridge draws f to its mean.
    assert_allclose(slope[1:-1], 0.1, atol=0.01)
    assert age.ax_.get_xlabel() == "age" and age.figure_ is age.ax_.figure
    assert EffectDisplay.from_estimator(model, X, "when").effect.is_ordered
    assert EffectDisplay.from_estimator(model, X, "count").effect.is_ordered
    site = EffectDisplay.from_estimator(model, X, 1)
    names = [label.get_text() for label in site.ax_.get_yticklabels()]
    assert names == list(site.effect.values) and site.ax_.get_ylabel() == "site"
    means = dict(zip(site.effect.values, site.effect.mean, strict=True))
    assert means["b"] - means["a"] == pytest.approx(2.0, abs=0.1)
    with pytest.raises(ValueError, match="column 'text' has no curve"):
        EffectDisplay.from_estimator(model, X, "text")
    with pytest.raises(ValueError, match="no column 'ages'; there are"):
        EffectDisplay.from_estimator(model, X, "ages")


def test_long_names_of_categories_are_cut(rng):
    place = rng.choice(["Charlottenburg-Wilmersdorf, Berlin", "Altstadt"], 40)
    X = pd.DataFrame({"place": place, "n": rng.normal(size=40)})
    model = KernelRidge("auto", 0.1).fit(X, X.n)
    display = EffectDisplay.from_estimator(model, X, "place")
    names = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert names == {"Charlottenburg-Wilmersd…", "Altstadt"}
    texts = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert not texts[0].overlaps(texts[1])


@pytest.mark.parametrize("size", [1.0, 1e5])
def test_numbers_under_bars_and_names_do_not_touch(table, size):
    X, y = table
    X["site"] = X.site + ", a town with a long name"
    model = KernelRidge("auto", 0.1).fit(X, size * y)
    for display in (
        ImportanceDisplay.from_estimator(model),
        EffectDisplay.from_estimator(model, X, "site"),
    ):
        display.figure_.draw_without_rendering()
        ends = [t.get_window_extent() for t in display.ax_.get_xticklabels() if t.get_text()]
        assert len(ends) > 2
        assert all(a.x1 < b.x0 for a, b in pairwise(ends))


@pytest.mark.parametrize("model", [KernelLogisticRegression(), KernelSVC()], ids=repr)
def test_effects_of_classes_are_probabilities_or_scores(rng, model):
    X = rng.normal(size=(60, 2))
    display = EffectDisplay.from_estimator(model.fit(X, X[:, 1] > 0.0), X, 1)
    assert display.effect.mean[-1] > display.effect.mean[0]
    what = "probability" if hasattr(model, "predict_proba") else "score"
    assert display.ax_.get_ylabel() == f"{what} of class True"


def test_groups_of_rows_that_are_alike_stand_together(rng):
    groups = rng.integers(0, 3, 30)
    X = 10.0 * groups[:, None] + rng.normal(size=(30, 1))
    order = by_cluster(mercer.Gaussian(1.0)(X))
    assert np.sum(np.diff(groups[order]) != 0) == 2
    display = GramDisplay.from_kernel("gaussian(1.0)", X)
    assert_allclose(display.matrix, mercer.Gaussian(1.0)(X[display.order]))
    few = GramDisplay.from_estimator(KernelRidge("gaussian(1.0)").fit(X, groups), most=7)
    assert few.matrix.shape == (7, 7) and "7 of 30 rows" in few.ax_.get_title()


def test_pairs_are_told_apart_in_colour_where_a_few_are_far_from_the_others(rng):
    X = np.r_[np.zeros((1, 1)), 100.0 + rng.normal(size=(20, 1))]
    display = GramDisplay.from_kernel("linear", X)
    shades = display.image_.norm(display.matrix[display.matrix > 1.0])
    assert np.unique(shades).size > 30
    assert GramDisplay.from_kernel("linear", X, vmin=0.0).image_.norm.vmin == 0.0


def test_centres_that_are_no_numbers_in_a_row_are_refused():
    with pytest.raises(ValueError, match=r"centres must be some finite numbers, got .* \(2, 1\)"):
        KernelDisplay.from_kernel("gaussian(1.0)", [[0.0], [1.0]])


def test_importances_without_effects_are_not_called_a_change_with_a_deviation(rng):
    X = rng.normal(size=(60, 2))
    model = mercer.KernelRidgeClassifier("gaussian(1.0)").fit(X, np.arange(60) % 3)
    said = mercer.ImportanceDisplay.from_estimator(model).ax_.get_xlabel()
    assert said == "importance: how far f moves with the cell of another row"


def test_the_effective_dimension_is_the_trace_of_the_smoother(line):
    X, y = line
    model = KernelRidge("gaussian(0.7)", 0.3).fit(X, y)
    K = mercer.Gaussian(0.7)(X)
    display = SpectrumDisplay.from_estimator(model)
    trace = np.trace(np.linalg.solve(K + 0.3 * np.eye(30), K))
    assert display.spectrum.effective_dimension == pytest.approx(trace)
    assert_allclose(display.spectrum.eigenvalues[:5], np.linalg.eigvalsh(K)[::-1][:5])


def test_eigenfunctions_on_the_line_pass_through_their_values_at_the_rows(line):
    X, _ = line
    display = SpectrumDisplay.from_kernel("gaussian(0.7)", X)
    x, curves = display.line
    for j in range(4):
        at_rows = np.interp(X[:, 0], x, curves[:, j])
        assert_allclose(at_rows, display.spectrum.functions[:, j], atol=0.01)
    u = display.spectrum.functions
    assert_allclose(u.T @ u / len(u), np.eye(4), atol=1e-9)


def test_a_spectrum_of_several_columns_or_of_text_has_rows_by_eigenfunctions(rng):
    assert SpectrumDisplay.from_kernel("gaussian(1.0)", rng.normal(size=(20, 2))).line is None
    assert SpectrumDisplay.from_kernel("spectrum(k=1)", ["ab", "bc", "ca", "abc"]).line is None


def test_a_fit_is_drawn_with_its_intervals(line):
    X, y = line
    model = KernelRidge("gaussian(0.7)", 0.1).fit(X, y)
    display = FitDisplay.from_estimator(model, X, y, coverage=0.8, resolution=50)
    assert_allclose(display.fits[0].values, model.predict(display.x[:, None]))
    assert_allclose(display.fits[0].band, model.predict_interval(display.x[:, None], 0.8))
    assert display.band_.get_label() == "interval of 80%"
    assert FitDisplay.from_estimator(KernelSVR().fit(X, y), X, y).band_ is None
    frame = pd.DataFrame({"time": X[:, 0]})
    named = FitDisplay.from_estimator(KernelRidge("gaussian").fit(frame, y), frame, y)
    assert named.ax_.get_xlabel() == "time"


def test_a_sweep_of_alpha_has_a_curve_and_an_error_for_each(line):
    X, y = line
    display = FitDisplay.from_alphas(KernelRidge("gaussian(0.7)"), X, y, [0.01, 10.0])
    for alpha, fit, drawn in zip([0.01, 10.0], display.fits, display.lines_, strict=True):
        model = KernelRidge("gaussian(0.7)", alpha).fit(X, y)
        assert_allclose(drawn.get_ydata(), model.predict(display.x[:, None]))
        error = np.sqrt(np.mean((y - model.leave_one_out_predictions_) ** 2))
        assert fit.label == f"alpha = {alpha:g}\n(left out: {error:.3g})"


def test_the_sum_of_the_bumps_is_the_prediction(line):
    X, y = line
    model = KernelRidge("matern32(0.7)", 0.1).fit(X, y)
    display = KernelDisplay.from_estimator(model)
    assert display.curves.shape == (400, 30)
    assert_allclose(display.total, model.predict(display.x[:, None]), atol=1e-10)
    several = KernelRidge("gaussian(0.7)").fit(X, np.column_stack([y, -y]))
    second = KernelDisplay.from_estimator(several, target=1)
    assert_allclose(second.total, several.predict(second.x[:, None])[:, 1], atol=1e-10)


def test_the_bumps_of_all_parts_of_a_mean_are_counted(line):
    model = KernelRidgeMean(["gaussian(0.7)", "matern32(0.7)"], [0.1, 0.1], [0.5, 0.5]).fit(*line)
    display = KernelDisplay.from_estimator(model)
    assert display.curves.shape == (400, 60)
    assert display.title.startswith("60 bumps and their sum")


def test_a_kernel_is_drawn_from_several_centres():
    display = KernelDisplay.from_kernel("gaussian(2.0)", [0.0, 1.0], limits=(-1.0, 3.0))
    assert_allclose(display.curves, mercer.Gaussian(2.0)(display.x[:, None], [[0.0], [1.0]]))
    assert [line.get_label() for line in display.lines_] == ["k(0, ·)", "k(1, ·)"]


def test_axes_can_be_given(line):
    X, y = line
    model = KernelRidge("gaussian(0.7)").fit(X, y)
    _, axes = plt.subplots(2, 4)
    drawn = [
        ImportanceDisplay.from_estimator(model, ax=axes[0, 0]),
        EffectDisplay.from_estimator(model, X, 0, ax=axes[0, 1]),
        GramDisplay.from_estimator(model, ax=axes[0, 2]),
        FitDisplay.from_estimator(model, X, y, ax=axes[0, 3]),
        KernelDisplay.from_estimator(model, ax=axes[1, 0]),
        SpectrumDisplay.from_estimator(model, axes=axes[1, 1:3]),
    ]
    wanted = [*axes[0], axes[1, 0], axes[1, 1]]
    assert [display.ax_ for display in drawn] == wanted


def test_what_has_no_picture_is_refused_with_the_reason(rng):
    X = rng.normal(size=(20, 2))
    model = KernelRidge().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"needs rows with one column of numbers, got columns \(2"):
        FitDisplay.from_estimator(model, X, X[:, 0])
    with pytest.raises(ValueError, match="a picture of bumps needs rows with one column"):
        KernelDisplay.from_estimator(model)
    precomputed = KernelRidge("precomputed").fit(X @ X.T, X[:, 0])
    with pytest.raises(ValueError, match="a finished Gram matrix has no rows"):
        GramDisplay.from_estimator(precomputed)
    texts = KernelRidge("spectrum(k=1)").fit(["ab", "bc", "ca"], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="the rows of this model have no columns"):
        ImportanceDisplay.from_estimator(texts)

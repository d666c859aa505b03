"""What a page warns of before a model is used."""

import numpy as np
import polars as pl
import pytest

import mercer
from mercer.reports.page import cautions, facts_of
from mercer.reports.page.html import prose


@pytest.mark.parametrize(
    ("sign", "said"),
    [
        (1.0, "Errors grow with the prediction: intervals are too narrow at large ones; fit the"),
        (-1.0, "Errors fall with the prediction: intervals are too narrow at small ones."),
        (0.0, None),
    ],
)
def test_errors_that_go_with_the_prediction_are_said(sign, said):
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, 5.0, size=(400, 1))
    y = 10.0 + X[:, 0] + 0.2 * np.exp(0.7 * sign * (X[:, 0] - 3.0)) * rng.normal(size=400)
    model = mercer.KernelRidge("gaussian", 0.1).fit(X[:200], y[:200])
    page = mercer.report(model, X[200:], y[200:]).html
    assert said in page if said else "with the prediction:" not in page


def test_a_class_of_nearly_all_rows_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(np.arange(400) % 20 == 0, "ill", "well")
    model = mercer.KernelLogisticRegression("gaussian", 0.01).fit(X[:200], y[:200])
    found = cautions(facts_of(model, X[200:], y[200:]))
    assert any(said.startswith("95.0% of the rows are of the class 'well'") for said in found)
    assert "It names the class 'well' for every test row." in found


def test_probabilities_that_are_no_better_than_the_shares_of_classes_are_said_to_be():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    chance = rng.permutation(np.where(np.arange(800) % 20 == 0, "ill", "well"))
    known = np.where(X[:, 0] > 1.6, "ill", "well")
    of_chance, of_known = (
        " ".join(cautions(facts_of(model.fit(X[:400], y[:400]), X[400:], y[400:])))
        for y in (chance, known)
        for model in [mercer.KernelLogisticRegression("gaussian", 10.0)]
    )
    idle = "than that of the baseline: take its probabilities for no better than the share of each"
    assert f"Its log loss is not surely better {idle}" in of_chance
    assert "lower probability" not in of_chance
    assert "To find more of their rows, weigh classes alike (" in of_chance
    assert idle not in of_known
    assert "To find more of their rows, name them from a lower probability on" in of_known


def test_of_balanced_classes_it_says_what_probabilities_are_and_how_the_accuracy_is():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = np.where(np.arange(400) % 20 == 0, "ill", "well")
    model = mercer.KernelLogisticRegression("gaussian", 0.01, class_weight="balanced")
    found = cautions(facts_of(model.fit(X[:200], y[:200]), X[200:], y[200:]))
    assert not any("--class-weight" in said or "right as often" in said for said in found)
    assert any("those of rows in which classes weigh alike" in said for said in found)
    assert "Its accuracy is surely worse than that of the baseline." in found


def test_classes_of_about_as_many_rows_are_no_reason_to_warn():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = X[:, 0] > 0.0
    model = mercer.KernelLogisticRegression("gaussian").fit(X[:200], y[:200])
    assert not any("class" in said for said in cautions(facts_of(model, X[200:], y[200:])))


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_column_that_only_rows_of_a_rare_class_have_gives_the_target_away(is_missing):
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 60 == 0
    refund = np.where(y, rng.uniform(5.0, 50.0, 1200), np.nan if is_missing else 0.0)
    X = pl.DataFrame({"calls": rng.normal(size=1200) + y, "refund": refund})
    kernel = "gaussian.after(standardize(missing='mean')).on(calls, refund)"
    model = mercer.KernelLogisticRegression(kernel, 1.0).fit(X[:600], y[:600])
    found = cautions(facts_of(model, X[600:], y[600:]))
    assert [said for said in found if "gives the target away" in said] == [
        "The column 'refund' alone gives the target away; is it known in time?"
    ]


def test_a_copy_of_the_target_with_missing_cells_gives_it_away():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    copy = np.where(np.arange(400) % 10 == 0, np.nan, 3.0 * y)
    X = pl.DataFrame({"a": rng.normal(size=400), "copy": copy})
    kernel = "gaussian.after(standardize(missing='mean')).on(a, copy)"
    model = mercer.KernelRidge(kernel, 0.1).fit(X[:200], y[:200])
    found = cautions(facts_of(model, X[200:], y[200:]))
    assert "The column 'copy' alone gives the target away; is it known in time?" in found


@pytest.mark.parametrize(
    ("n", "noise", "is_said"), [(150, 1.5, True), (20, 1.2, False), (150, 1.0, False)]
)
def test_intervals_that_hold_too_few_targets_are_said_where_it_is_no_chance(n, noise, is_said):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200 + n, 1))
    y = X[:, 0] + rng.normal(size=len(X)) * np.where(np.arange(len(X)) < 200, 1.0, noise)
    facts = facts_of(mercer.KernelRidge("gaussian", 10.0).fit(X[:200], y[:200]), X[200:], y[200:])
    assert (facts.tests.coverage < 0.85) == (noise > 1.0)
    said = any(each.startswith("Intervals of 90% hold") for each in cautions(facts))
    assert said == is_said


def test_where_nearly_all_test_rows_are_of_one_class_no_column_gives_it_away_by_that():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.0, "a", "b")
    y[200:] = "a"
    y[[230, 271]] = "b"
    model = mercer.KernelSVC("gaussian").fit(X[:200], y[:200])
    found = cautions(facts_of(model, X[200:], y[200:]))
    assert not [said for said in found if "gives the target away" in said]


def test_of_many_columns_that_give_the_target_away_some_are_named():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    X = y[:, None] + np.zeros((1, 7))
    model = mercer.KernelRidge("linear").fit(X[:100], y[:100])
    found = cautions(facts_of(model, X[100:], y[100:]))
    assert sum("alone gives the target away" in said for said in found) == 4
    assert "So does each of 3 more columns." in found


def test_options_on_a_page_are_not_broken_at_their_hyphens():
    assert prose("say --test-split time, or a -- b <i>") == (
        'say <span class="line">--test-split</span> time, or a -- b &lt;i&gt;'
    )

"""What a colleague should read before the model is used."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2_contingency, ks_2samp, spearmanr
from sklearn.metrics import recall_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from mercer.data.columns import is_table, n_rows, stack_rows, take_rows
from mercer.data.distinct import row_numbers
from mercer.data.kinds import column_kinds
from mercer.estimators.validation import checked_rows
from mercer.explanation.subject import evenly
from mercer.reports.page.facts import Facts, cells_of, has_columns
from mercer.reports.page.held_out import COVERAGE, TEST_COMMAND, HeldOut
from mercer.reports.page.html import prose, section

Array = NDArray[Any]

# Rows below which a score says little.
FEW_ROWS = 100
# Rows that distributions are compared on, and that are looked for among those of training.
COMPARED = 5000
# Rows below which neither is looked at.
LEAST_COMPARED = 20
# What a column that gives the target away predicts of it, alone.
LEAK = 0.999
UNTESTED = (
    "It was not tested on held-out rows, and how good it is nobody knows yet: "
    f"{TEST_COMMAND}, or mercer.report(model, X_test, y_test), tells."
)


def cautions(facts: Facts) -> list[str]:
    """Return what was found, a sentence or two each."""
    tested = [UNTESTED] if facts.tests is None else _tested(facts.tests)
    return [*_few(facts), *tested, *_columns(facts), *_solver(facts)]


def warnings(facts: Facts, more: Sequence[str] = ()) -> str:
    """List what was found, and what else is known of the rows."""
    found = [*cautions(facts), *more]
    if not found:
        checked = ["rows to test on", "columns that give the target away"]
        # Support vectors and landmarks are no sample of the training rows to compare with.
        checked += ["drift between training and test rows"] if facts.holds_all_rows else []
        if facts.tests is not None and facts.tests.interval is not None:
            checked.append("how many targets the intervals hold")
        text = f"No warnings. Checked: {', '.join(checked)}, the solver."
        return section("Before you use it", f'<p class="good">{escape(text)}</p>')
    items = "".join(f"<li>{prose(text)}</li>" for text in found)
    return section("Before you use it", f'<ul class="warnings">{items}</ul>')


def _few(facts: Facts) -> list[str]:
    is_few = facts.n_train is not None and facts.n_train < FEW_ROWS
    return [f"The model is made of {facts.n_train} rows only."] if is_few else []


def _tested(tests: HeldOut) -> list[str]:
    found = []
    if tests.n < FEW_ROWS:
        found.append(f"It was tested on {tests.n} rows only: the scores are rough.")
    # Rows of a class below which it is hardly known.
    few = 10
    if tests.machine.is_classes:
        classes = tests.model.classes_
        counts = np.bincount(tests.codes, minlength=len(classes))
        rare = [str(c) for c, n in zip(classes, counts, strict=True) if n < few]
        if rare and tests.n >= FEW_ROWS:
            listed = ", ".join(rare[:5]) + (", ..." if len(rare) > 5 else "")
            found.append(f"Fewer than {few} test rows are of the class {listed}.")
        found += _uneven_classes(tests)
    first = tests.scores[0]
    if not first.beats_baseline:
        found.append(f"Its {first.name} is {first.verdict} than that of the baseline.")
    found += [*_missed(tests), *_uneven(tests)]
    same = _seen_before(tests)
    if same > 0.01:
        found.append(
            f"{same:.0%} of the test rows equal a training row in all columns: the scores may "
            "flatter."
        )
    return found


def _uneven_classes(tests: HeldOut) -> list[str]:
    """Say if nearly all rows are of one class, of which the accuracy tells little."""
    classes, found = tests.model.classes_, []
    usual = int(np.argmax(tests.class_shares))
    share = float(tests.class_shares[usual])
    # The share of one class from which on naming it always looks like a good model.
    if share >= 0.9:
        weigh = "weigh classes alike (class_weight='balanced', mercer fit --class-weight balanced)"
        ways = []
        if not _are_probabilities_idle(tests):
            ways.append(
                "name them from a lower probability on (predict_proba, mercer predict --proba)"
            )
        if not tests.machine.is_balanced:
            ways.append(weigh)
        found.append(
            f"{share:.1%} of the rows are of the class {str(classes[usual])!r}, and so often "
            "naming it always would be right: the accuracy says little here; look at the recall "
            f"and precision of the other classes. To find more of their rows, {', or '.join(ways)}."
        )
    if _are_probabilities_idle(tests):
        loss = next(score for score in tests.scores if score.name == "log loss")
        found.append(
            f"Its log loss is {loss.verdict} than that of the baseline: take its probabilities for "
            "no better than the share of each class."
        )
    if tests.machine.is_balanced and tests.probabilities is not None:
        found.append(
            "Its probabilities are those of rows in which classes weigh alike "
            "(class_weight='balanced'), and not as frequent as they are in these."
        )
    if len(np.unique(tests.predicted)) == 1 and len(np.unique(tests.codes)) > 1:
        found.append(f"It names the class {str(tests.predicted[0])!r} for every test row.")
    return found


def _are_probabilities_idle(tests: HeldOut) -> bool:
    """Whether the shares of the classes may be as good as the probabilities.

    Those of classes that weigh alike are not meant to be as frequent as the classes are.
    """
    return not tests.machine.is_balanced and any(
        score.name == "log loss" and not score.beats_baseline for score in tests.scores
    )


def _missed(tests: HeldOut) -> list[str]:
    """Say if intervals hold another share of the targets than they promise, beyond chance."""
    if tests.interval is None or tests.coverage is None:
        return []
    held, n = tests.coverage, len(tests.interval.rows)
    # A share that nobody minds, and the chance of one that is further off.
    minded, unlikely = 0.05, 0.01
    chance = binomtest(round(held * n), n, COVERAGE).pvalue
    if abs(held - COVERAGE) <= minded or chance > unlikely:
        return []
    return [f"Intervals of {COVERAGE:.0%} hold {held:.1%} of {n} held-out targets."]


def _uneven(tests: HeldOut) -> list[str]:
    """Say if errors grow or fall with what is predicted: intervals know nothing of that."""
    y, predicted = np.asarray(tests.y), np.asarray(tests.predicted)
    if tests.machine.is_classes or y.ndim > 1 or tests.n < FEW_ROWS or np.ptp(predicted) == 0.0:
        return []
    rank, chance = spearmanr(predicted, np.abs(y.astype(float) - predicted))
    if abs(rank) < 0.3 or chance > 1e-3:
        return []
    word, where = ("grow", "large") if rank > 0.0 else ("fall", "small")
    advice = "; fit the logarithm of the target" if rank > 0.0 and np.min(y) > 0.0 else ""
    return [f"Errors {word} with the prediction: intervals are too narrow at {where} ones{advice}."]


def _columns(facts: Facts) -> list[str]:
    # Columns that are named.
    most = 4
    leaks = _leaks(facts)
    found = [
        f"The column {facts.title(column)!r} alone gives the target away; is it known in time?"
        for column in leaks[:most]
    ]
    if len(leaks) > most:
        found.append(f"So does each of {len(leaks) - most} more columns.")
    drifting = [repr(facts.title(column)) for column in _drifts(facts)]
    if len(drifting) == 1:
        found.append(f"The column {drifting[0]} is distributed differently in the test rows.")
    elif drifting:
        more = f" and {len(drifting) - most} more" if len(drifting) > most else ""
        named = ", ".join(drifting[:most])
        found.append(f"The columns {named}{more} are distributed differently in the test rows.")
    return found


def _solver(facts: Facts) -> list[str]:
    certificate = getattr(facts.inner, "certificate_", None)
    if certificate is None or certificate.satisfied:
        return []
    return [f"The solver did not reach its tolerance: {certificate}."]


def _leaks(facts: Facts) -> list[Any]:
    """Return the columns that predict the target alone: by a monotone curve, or by few parts."""
    tests = facts.tests
    if tests is None or tests.n < LEAST_COMPARED or not has_columns(tests.X):
        return []
    some = evenly(tests.n, COMPARED)
    rows = take_rows(tests.X, some)
    return [
        column
        for column in facts.columns
        if _gives_away(tests, cells_of(rows, facts.place(rows, column)), some)
    ]


def _gives_away(tests: HeldOut, values: Array, some: NDArray[np.intp]) -> bool:
    is_number = values.dtype.kind in "fiub"
    if tests.machine.is_classes:
        codes = tests.codes[some]
        # Rows of a class, at least, that a column tells from the others by chance once in many.
        least = 5
        is_known = np.bincount(codes)[codes] >= least
        values, codes = values[is_known], codes[is_known]
        if len(np.unique(codes)) < 2:
            return False
        return _orders(values, codes) if is_number else _names(values, codes)
    return is_number and _copies(values.astype(float), np.asarray(tests.y, float)[some])


def _copies(numbers: Array, y: Array) -> bool:
    """Whether numbers are a line or another monotone curve of the target, where they are known."""
    known = np.isfinite(numbers)
    numbers, y = numbers[known], y[known]
    if len(y) < LEAST_COMPARED or np.ptp(numbers) == 0.0 or np.ptp(y) == 0.0:
        return False
    straight = abs(np.corrcoef(numbers, y)[0, 1])
    # Columns of few values have tied ranks, and are no copies of the target.
    is_fine = len(np.unique(numbers)) > 0.5 * len(np.unique(y))
    return bool(max(straight, abs(spearmanr(numbers, y)[0]) if is_fine else 0.0) > LEAK)


def _orders(values: Array, codes: NDArray[np.intp]) -> bool:
    """Whether numbers tell the class: of two by their order, of more by a cut or two for each."""
    numbers = values.astype(float)
    known = np.isfinite(numbers)
    # That a number is missing may tell the class: a refund that only those have who left.
    numbers = np.where(known, numbers, np.min(numbers, initial=0.0, where=known) - 1.0)
    classes = np.unique(codes)
    if len(classes) == 2:
        area = roc_auc_score(codes == classes[1], numbers)
        if max(area, 1.0 - area) > LEAK:
            return True
    return _is_cut_by_class(numbers, codes, 2 * len(classes))


def _names(values: Array, codes: NDArray[np.intp]) -> bool:
    """Whether categories tell the class."""
    if values.dtype.kind == "M":
        return False
    levels, numbers = np.unique(values.astype(str), return_inverse=True)
    # Names that are all different tell every row from the others, and nothing of the target.
    is_category = len(levels) <= 0.1 * len(values)
    return is_category and _is_cut_by_class(numbers.astype(float), codes, len(levels))


def _is_cut_by_class(numbers: Array, codes: NDArray[np.intp], leaves: int) -> bool:
    """Whether a tree of so many leaves, grown on one half of the rows, names the others' class."""
    half, column = np.arange(len(codes)) % 2 == 0, numbers[:, None]
    if min(len(np.unique(codes[half])), len(np.unique(codes[~half]))) < 2:
        return False
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, leaves), random_state=0)
    named = tree.fit(column[half], codes[half]).predict(column[~half])
    # Where nearly all rows are of one class, naming it always is right as often.
    classes, true = np.unique(codes[~half]), codes[~half]
    return bool(recall_score(true, named, labels=classes, average="macro") > LEAK)


def _drifts(facts: Facts) -> list[Any]:
    """Return the columns whose distributions differ between training and test rows."""
    rows, X = facts.train_rows, facts.X
    if not facts.holds_all_rows or not has_columns(rows) or not has_columns(X):
        return []
    if min(n_rows(X), n_rows(rows)) < LEAST_COMPARED:
        return []
    before = take_rows(rows, evenly(n_rows(rows), COMPARED))
    after = take_rows(X, evenly(n_rows(X), COMPARED))
    # The least chance, for all columns together, at which a difference of distributions is none.
    drift = 0.001
    least = drift / max(len(facts.columns), 1)
    return [
        column
        for column in facts.columns
        if _chance(
            cells_of(before, facts.place(before, column)),
            cells_of(after, facts.place(after, column)),
        )
        < least
    ]


def _chance(before: Array, after: Array) -> float:
    """Return how likely a difference as large is, if both are drawn from one distribution."""
    kinds = {before.dtype.kind, after.dtype.kind}
    if kinds <= set("fiub"):
        before, after = (v.astype(float) for v in (before, after))
        before, after = before[np.isfinite(before)], after[np.isfinite(after)]
        return float(ks_2samp(before, after).pvalue) if len(before) and len(after) else 1.0
    if kinds == {"M"}:
        before, after = (v[~np.isnat(v)].astype("M8[s]").astype(float) for v in (before, after))
        return float(ks_2samp(before, after).pvalue) if len(before) and len(after) else 1.0
    levels, codes = np.unique(
        np.concatenate([before.astype(str), after.astype(str)]), return_inverse=True
    )
    # Of rare levels the test says nothing: text is not compared.
    if not 2 <= len(levels) <= 0.1 * len(codes):
        return 1.0
    counts = np.stack(
        [np.bincount(part, minlength=len(levels)) for part in np.split(codes, [len(before)])]
    )
    return float(chi2_contingency(counts).pvalue)


def _seen_before(tests: HeldOut) -> float:
    """Return the share of test rows that are training rows as well."""
    machine, rows = tests.machine, tests.machine.train_rows
    if not machine.holds_all_rows or not has_columns(rows) or n_rows(rows) > COMPARED:
        return 0.0
    after = checked_rows(machine.inner, take_rows(tests.X, evenly(tests.n, COMPARED)))
    if is_table(rows) != is_table(after):
        return 0.0
    if is_table(rows) and column_kinds(rows) != column_kinds(after):
        # Such as dates as text in the training rows, and as dates in the others.
        return 0.0
    numbers = row_numbers(stack_rows(rows, after))
    return float(np.isin(numbers[n_rows(rows) :], numbers[: n_rows(rows)]).mean())

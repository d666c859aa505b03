"""Which rows are held out, and what is said of their order and of identifiers."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import mercer
from commands import fitted, refused, run, table
from mercer.cli.fitting.data import Roles, job_of
from mercer.cli.fitting.identifiers import remarks_on_identifiers
from mercer.cli.fitting.order import TimeOrder, likely_times, likeness_of_neighbours
from mercer.cli.fitting.split import split
from mercer.data.stream import Stream
from mercer.kernels import default_kernel, describe_columns

N = 100
FIT = ("--target", "y", "--alpha", "1")


def series(**columns):
    """Return a table whose target drifts."""
    random = np.random.default_rng(0)
    y = np.arange(N) / 20 + random.normal(size=N)
    return pl.DataFrame({"x": random.normal(size=N), "y": y.round(6), **columns})


def written(tmp_path, rows):
    path = tmp_path / "rows.csv"
    rows.write_csv(path)
    return path


def days(step=1):
    return [date(2024, 1, 1) + timedelta(days=step * i) for i in range(N)]


@pytest.mark.parametrize(
    ("name", "times", "first"),
    [
        ("day", days(), "2024-03-21"),
        ("day", [d.strftime("%d/%m/%Y") for d in days()], "2024-03-21"),
        ("day", days(-1), "2023-12-13"),
        ("year", list(range(1900, 1900 + N)), "1980"),
    ],
    ids=["iso", "day first", "newest first", "year"],
)
def test_the_last_rows_are_held_out_where_rows_are_in_an_order_of_time(
    name, times, first, tmp_path
):
    rows = series(**{name: times})
    # A few rows in other places leave it an order of time.
    rows = pl.concat([rows[1:3], rows[:1], rows[3:]])
    path, page = written(tmp_path, rows), tmp_path / "page.html"
    result = run("fit", path, *FIT, "--report", page)
    words = f"the last rows by {name!r}, from {first} on"
    assert f"rows are in the order of {name!r}: held out are {words}" in result.stderr
    assert "--test-split random" in result.stderr
    assert f"80 rows to learn from and 20 held out: {words}" in result.stdout
    assert words.replace("'", "&#x27;") in page.read_text()
    found = fitted(path, *FIT)
    assert found["held_out"] == {"by": "time", "rows": words}
    at_random = fitted(path, *FIT, "--test-split", "random")
    assert at_random["held_out"] == {"by": "random", "rows": "drawn at random"}
    assert at_random["scores"]["RMSE"]["value"] != found["scores"]["RMSE"]["value"]


@pytest.mark.parametrize(
    ("name", "times", "is_found"),
    [
        ("time", [1_700_000_000 + 60 * i for i in range(N)], True),
        ("timestamp", [0.5 * (N - i) for i in range(N)], True),
        ("date", [20240000 + i // 5 for i in range(N)], True),
        ("time", np.random.default_rng(3).permutation(N).tolist(), False),
        ("size", list(range(N)), False),
    ],
    ids=["time", "newest first", "many at a time", "in no order", "no time"],
)
def test_numbers_called_like_a_time_are_an_order_in_a_table_beyond_memory_too(
    name, times, is_found, tmp_path
):
    rows = series(**{name: times})
    path = written(tmp_path, rows)
    for memory in ("4GB", "1KB"):
        job = job_of(str(path), Roles("y"), memory=memory)
        assert isinstance(job.X, Stream) is (memory == "1KB")
        found = split(job, 0.2, 0)
        assert found.by == ("time" if is_found else "random")
        if is_found:
            assert found.notes[0].startswith(f"rows are in the order of {name!r}: held out are ")
            assert found.test.rows.tolist() == np.flatnonzero(times > np.sort(times)[79]).tolist()


def test_columns_of_numbers_that_may_tell_the_order_of_rows_are_few_and_in_it_at_first():
    still, grows, mixed = [7.0] * N, np.arange(N), np.random.default_rng(0).permutation(N)
    columns = {"t_1": still, "x": grows, "week": mixed, "t_2": -grows, "hour": grows, "day": grows}
    assert likely_times(pl.DataFrame(columns)) == ["t_1", "t_2", "hour"]
    assert likely_times(pl.DataFrame({"t": grows, "d": days()})) == ["d", "t"]


def test_rows_in_another_order_than_their_dates_are_held_out_at_random_and_it_is_said(tmp_path):
    shuffled = np.random.default_rng(1).permutation(N)
    path = written(tmp_path, series(day=days())[shuffled.tolist()])
    result = run("fit", path, *FIT)
    assert "drawn at random" in result.stdout
    assert "test on the last ones by --test-split time --time day" in result.stderr
    found = fitted(path, *FIT, "--test-split", "time")
    assert found["held_out"]["rows"] == "the last rows by 'day', from 2024-03-21 on"
    assert found["rows"] == {"train": 80, "test": 20}


def test_one_of_several_columns_of_dates_is_named(tmp_path):
    shuffled = np.random.default_rng(1).permutation(N).tolist()
    rows = series(day=days())[shuffled].with_columns(born=pl.Series(days()))
    path = written(tmp_path, rows[np.random.default_rng(2).permutation(N).tolist()])
    result = run("fit", path, *FIT, "--test-split", "time")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "several columns of dates, 'day', 'born'; name one by --time" in result.stderr
    assert "by 'born'" in fitted(path, *FIT, "--time", "born")["held_out"]["rows"]


def test_rows_without_times_are_taken_as_they_stand_if_the_last_are_asked_for(tmp_path):
    path = written(tmp_path, series())
    found = fitted(path, *FIT, "--test-split", "time", "--test", "0.25")
    assert found["held_out"] == {"by": "time", "rows": "the last rows of the file"}
    assert found["rows"] == {"train": 75, "test": 25}


def test_rows_of_one_time_stay_together_and_those_without_one_are_learnt_from(tmp_path):
    day = [None if i % 10 == 0 else str(d) for i, d in enumerate(np.repeat(days()[:10], 10))]
    found = fitted(written(tmp_path, series(day=day)), *FIT, "--time", "day")
    assert found["rows"] == {"train": 82, "test": 18}
    order = TimeOrder.of(pl.Series("t", [1, 1, 2, 2, 2, None, 3]))
    assert order.last(0.5).tolist() == [2, 3, 4, 6]
    assert order.last(0.1).tolist() == [6]
    assert TimeOrder.of(pl.Series("t", [1, 1])).last(0.5).tolist() == []


def test_text_is_an_order_of_time_if_it_begins_with_the_year(tmp_path):
    path = written(tmp_path, series(month=["Jan", "Feb", "Mar", "Apr"] * 25))
    line = refused("fit", path, *FIT, "--time", "month")
    assert "the column 'month' holds neither dates nor numbers" in line
    months = [f"{2016 + i // 12}-{1 + i % 12:02}" for i in range(N)]
    found = fitted(written(tmp_path, series(month=months)), *FIT, "--time", "month")
    assert found["held_out"]["rows"] == "the last rows by 'month', from 2022-09 on"


def test_a_class_of_the_last_rows_alone_is_no_order_to_test_by(tmp_path):
    rows = series(day=days(), kind=["a", "b"] * 45 + ["c", "a"] * 5)
    path = written(tmp_path, rows)
    found = fitted(path, "--target", "kind", "--C", "1", "--drop", "y")
    assert found["held_out"]["by"] == "random"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--time", "home", "--test-split", "random"), "--time is for --test-split time"),
        (("--test-split", "time", "--groups", "home"), "give one"),
        (("--test-split", "time", "--test-data", "other.csv"), "leave --test-split out"),
    ],
)
def test_ways_to_hold_out_rows_exclude_each_other(options, said, data):
    result = run("fit", data, "--target", "price", *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_target_that_drifts_along_the_rows_is_pointed_out(tmp_path):
    page = tmp_path / "page.html"
    y = np.cumsum(np.random.default_rng(3).normal(size=N))
    found = fitted(written(tmp_path, series(y=y)), *FIT, "--report", page)
    (said,) = [text for text in found["warnings"] if "neighbouring rows" in text]
    assert "--test-split time" in said
    assert "The targets of neighbouring rows are alike" in page.read_text()
    shuffled = fitted(written(tmp_path, series(y=y).sample(N, shuffle=True, seed=0)), *FIT)
    assert not any("neighbouring" in text for text in shuffled["warnings"])


def test_targets_of_neighbours_are_alike_beyond_chance_and_not_as_they_are_sorted(rng):
    walk, noise = np.cumsum(rng.normal(size=500)), rng.normal(size=500)
    assert likeness_of_neighbours(walk, False) > 0.9
    assert (
        likeness_of_neighbours(noise, False) == likeness_of_neighbours(np.sort(noise), False) == 0
    )
    runs = np.repeat(rng.integers(0, 3, 100), 5)
    assert likeness_of_neighbours(runs, True) > 0.5
    assert likeness_of_neighbours(rng.permutation(runs), True) == 0
    assert likeness_of_neighbours(np.sort(runs), True) == 0


def test_first_rows_of_one_class_are_no_likeness_of_neighbours():
    assert likeness_of_neighbours(np.repeat([0, 1], [100_000, 5]), True) == 0


def test_columns_that_number_the_rows_are_left_out_and_it_is_said(tmp_path):
    columns = {"row": range(1, N + 1), "customer_id": [7 * i + 1000 for i in range(N)]}
    path, page, model = (
        written(tmp_path, series(**columns)),
        tmp_path / "p.html",
        tmp_path / "m.mercer",
    )
    result = run("fit", path, *FIT, "--report", page, "-o", model)
    assert "column 'row' numbers the rows and is left out" in result.stderr
    assert "column 'customer_id' is another number in every row and is left out" in result.stderr
    assert "numbers the rows and is left out" in page.read_text()
    uses = {use["column"]: use for use in fitted(path, *FIT)["columns"]}
    assert uses["row"]["becomes"] == "left out: numbers the rows"
    named = ("--kernel", "gaussian('median').after(standardize()).on(x, row)")
    result = run("fit", path, *FIT, *named)
    assert "column 'row'" not in result.stderr


def test_what_is_said_of_identifiers_does_not_hang_on_words_that_are_shown(monkeypatch):
    order = 1000 + np.cumsum(np.random.default_rng(0).integers(1, 9, N))
    rows = series(row=range(N), order=order, site_id=np.arange(N) // 4, day=days()).drop("y")
    known = remarks_on_identifiers(rows, default_kernel(rows), False, False)
    assert [text.split()[1] for text in known] == ["'row'", "'order'", "'site_id'"]
    report = describe_columns(rows)

    def reworded(X, kernel=None):
        """Return the same report in other words."""
        uses = describe_columns(X, kernel).columns
        told = {"becomes": "Zahl", "reason": "zählt", "holds": "Zahlen"}
        changed = [u._replace(**{k: v for k, v in told.items() if getattr(u, k)}) for u in uses]
        return replace(report, columns=tuple(changed))

    monkeypatch.setattr("mercer.cli.fitting.identifiers.describe_columns", reworded)
    other = remarks_on_identifiers(rows, default_kernel(rows), False, False)
    assert [text.split()[1] for text in other] == ["'row'", "'order'", "'site_id'"]


def test_an_identifier_that_is_kept_is_learnt_from(tmp_path):
    columns = {"row": range(1, N + 1), "customer_id": [7 * i + 1000 for i in range(N)]}
    path, model = written(tmp_path, series(**columns)), tmp_path / "m.mercer"
    ways = (("--time-limit", "3"), ("--alpha", "1"), ("--select", "gcv"))
    for way in ways:
        result = run("fit", path, "--target", "y", *way, "--keep", "row", "-o", model)
        assert result.exit_code == 0, result.output
        assert "column 'row'" not in result.stderr
        said = "column 'customer_id' is another number in every row and is left out; --keep"
        assert f"{said} customer_id keeps it" in result.stderr
        assert "row" in str(mercer.load(model).kernel_)
    both = fitted(path, *FIT, "--keep", "row, customer_id")["columns"]
    assert [use["column"] for use in both if use["used"]] == ["x", "row", "customer_id"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--keep", "rwo"), 1, "has no column 'rwo'; did you mean 'row'?"),
        (("--keep", "row", "--drop", "row"), 1, "--keep 'row' is not a column to learn from"),
        (("--keep", "y"), 1, "--keep 'y' is not a column to learn from; leave it out"),
        (("--keep", "row", "--kernel", "linear"), 2, "--keep is for a kernel that is chosen"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_line(options, code, said, tmp_path):
    path = written(tmp_path, series(row=range(N)))
    result = run("fit", path, *FIT, *options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_identifiers_that_are_read_are_pointed_out(tmp_path):
    order = 1000 + np.cumsum(np.random.default_rng(0).integers(1, 9, N))
    path = written(tmp_path, series(order=order, patient_id=np.arange(N) // 4 * 3 + 5))
    said = run("fit", path, *FIT).stderr
    assert "column 'order' has whole numbers that grow from row to row" in said
    assert "identifiers in 80 rows and is read as numbers; rows of one are held out" in said
    assert "--groups patient_id" in said
    grouped = run("fit", path, *FIT, "--groups", "patient_id", "--drop", "order").stderr
    assert "identifiers in" not in grouped
    assert "grow from row to row" not in grouped


def test_numbers_that_say_something_are_no_identifiers(tmp_path):
    rng = np.random.default_rng(0)
    rows = series(
        people=rng.permutation(10_000)[:N], year=1900 + np.arange(N), size=np.sort(rng.random(N))
    )
    said = run("fit", written(tmp_path, rows), *FIT).stderr
    assert "grow from row to row" not in said
    assert "left out" not in said
    said = run("fit", written(tmp_path, table()), "--target", "price", "--alpha", "1").stderr
    assert "identifiers in" not in said

"""Calendar and FillMissing: kernels that carry what becomes of dates and of missing texts."""

import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import Calendar, FillMissing, Gaussian, KernelRidge, Linear, Spectrum, Words
from mercer.errors import KernelSyntaxError
from mercer.testing import check_kernel

FRAMES = pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
BERLIN = ZoneInfo("Europe/Berlin")
DAYS = [datetime(2023, 1, 1) + timedelta(days=5 * i, hours=7 * i % 24) for i in range(200)]


def circle(phase):
    return [np.cos(2.0 * np.pi * phase), np.sin(2.0 * np.pi * phase)]


def test_a_date_is_a_time_and_points_on_circles():
    moment = datetime(2023, 7, 4, 18, 0)  # a Tuesday
    g = Calendar(("time", "year", "week", "day"), mean=19000.0, scale=10.0, zone="")
    days = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    year = (moment - datetime(2023, 1, 1)) / timedelta(days=365)
    expected = [(days - 19000.0) / 10.0, *circle(year), *circle(1.75 / 7.0), *circle(0.75)]
    assert_allclose(g([moment])[0], expected, atol=1e-12)


def test_the_end_of_a_year_is_next_to_the_start_of_the_next():
    g = Calendar(("year",), 0.0, 1.0, "")
    rows = g([date(2023, 12, 31), date(2024, 1, 1), date(2024, 7, 1)])
    assert np.linalg.norm(rows[0] - rows[1]) < 0.02
    assert np.linalg.norm(rows[0] - rows[2]) > 1.9


@pytest.mark.parametrize(
    ("days", "parts"),
    [
        (DAYS, ("time", "year", "week", "day")),
        ([day.date() for day in DAYS], ("time", "year", "week")),
        ([date(2023, 1, 2) + timedelta(days=7 * i) for i in range(200)], ("time", "year")),
        ([date(2023, 1, 2) + timedelta(days=i) for i in range(60)], ("time", "week")),
        ([datetime(2023, 1, 2, i) for i in range(24)], ("time",)),
        ([date(1990 + i, 1, 1) for i in range(30)], ("time", "week")),
        ([time(i % 24, 30) for i in range(50)], ("day",)),
    ],
    ids=["all", "dates", "mondays", "two months", "one day", "new years", "clock"],
)
def test_phases_are_used_where_they_differ_and_come_back(days, parts):
    assert Calendar().resolved(days).parts == parts


@FRAMES
def test_time_is_scaled_by_the_first_rows(table):
    g = Calendar().resolved(table({"day": DAYS}))
    assert_allclose(g(table({"day": DAYS}))[:, 0].mean(), 0.0, atol=1e-9)
    assert_allclose(g(table({"day": DAYS}))[:, 0].std(), 1.0, rtol=1e-9)
    later = [day + timedelta(days=365) for day in DAYS]
    assert_allclose(g(table({"day": later}))[:, 0].mean(), 365.0 / g.scale, rtol=1e-9)


def test_weights_count_as_that_many_rows():
    weights = np.arange(200) % 3
    weighted = Calendar().resolved(DAYS, weights.astype(float))
    repeated = Calendar().resolved(np.repeat(np.array(DAYS, "M8[s]"), weights))
    assert_allclose([weighted.mean, weighted.scale], [repeated.mean, repeated.scale], rtol=1e-12)


@FRAMES
def test_missing_dates_have_a_place_of_their_own(table):
    rows = table({"day": [None, *DAYS]})
    k = Gaussian(1.0).after(Calendar(missing="mean")).on("day").resolved(rows)
    first = k.kernel.g(table({"day": [None, DAYS[0]]}))
    assert_array_equal(first[0], [0.0] * 7 + [1.0])
    assert first[1, -1] == 0.0
    refusing = Gaussian(1.0).after(Calendar()).on("day")
    with pytest.raises(ValueError, match=r"'day' has a missing date at row 0; .*missing='mean'"):
        refusing(rows)


@FRAMES
def test_dates_with_a_zone_are_read_on_its_clock(table):
    local = [day.replace(tzinfo=BERLIN) for day in DAYS]
    frame = pd.DataFrame({"day": pd.Series(DAYS).dt.tz_localize("Europe/Berlin")})
    rows = {pd.DataFrame: lambda: frame, pl.DataFrame: lambda: pl.from_pandas(frame)}.get(
        table, lambda: pa.Table.from_pandas(frame)
    )()
    g = Calendar().resolved(rows)
    assert g.zone == "Europe/Berlin"
    naive = Calendar().resolved(DAYS)
    assert_allclose(g(rows), naive(DAYS), atol=1e-9)
    # The same moments as another zone writes them.
    assert_allclose(g(pd.DataFrame({"day": frame["day"].dt.tz_convert("UTC")})), g(rows), atol=1e-9)
    assert_allclose(g([moment.astimezone(UTC) for moment in local]), g(rows), atol=1e-9)


def test_offsets_are_zones():
    moments = [day.replace(tzinfo=timezone(timedelta(hours=2))) for day in DAYS]
    g = Calendar().resolved(moments)
    assert g.zone == "UTC+02:00"
    assert_allclose(g([m.astimezone(UTC) for m in moments]), g(moments), atol=1e-9)


@FRAMES
def test_zones_and_none_are_not_mixed(table):
    aware = [day.replace(tzinfo=UTC) for day in DAYS]
    with_zone, without = (Calendar().resolved(table({"day": days})) for days in (aware, DAYS))
    with pytest.raises(ValueError, match=r"'day' has dates with no time zone and .* with UTC"):
        with_zone(table({"day": DAYS}))
    with pytest.raises(ValueError, match=r"has dates with the time zone UTC and .* with none"):
        without(table({"day": aware}))
    with pytest.raises(ValueError, match="at row 1, which is no date like the others"):
        Calendar().resolved([aware[0], DAYS[1]])


def test_an_unknown_zone_is_refused():
    g = Calendar(("time",), 0.0, 1.0, "Europe/Nowhere")
    with pytest.raises(ValueError, match="no time zone 'Europe/Nowhere' is known"):
        g([DAYS[0].replace(tzinfo=UTC)])


@pytest.mark.parametrize(
    "rows",
    [
        np.array(DAYS, "M8[s]"),
        np.array(DAYS, "M8[ns]")[:, None],
        [str(day) for day in DAYS],
        [day.isoformat() for day in DAYS],
        pd.DataFrame({"day": pd.Series(DAYS, dtype=object)}),
        {"day": DAYS},
    ],
    ids=["seconds", "column", "text", "ISO", "objects", "mapping"],
)
def test_dates_may_come_in_any_form(rows):
    g = Calendar().resolved(DAYS)
    assert Calendar().resolved(rows) == g
    assert_allclose(g(rows), g(DAYS), atol=1e-9)


def test_what_is_no_date_is_named():
    with pytest.raises(ValueError, match="X holds 'soon' at row 1, which is no date"):
        Calendar().resolved(["2024-01-01", "soon"])
    with pytest.raises(ValueError, match="X holds '2024-02-30' at row 0, which is no date"):
        Calendar().resolved(["2024-02-30"])
    with pytest.raises(ValueError, match="reads one column of dates, and this table has 2"):
        Calendar().resolved(pd.DataFrame({"a": DAYS, "b": DAYS}))
    with pytest.raises(ValueError, match=r"one column of dates, got an array of shape \(2, 2\)"):
        Calendar().resolved(np.array([DAYS[:2], DAYS[:2]], "M8[s]"))
    with pytest.raises(ValueError, match="has no numbers yet"):
        Calendar()(DAYS)
    with pytest.raises(ValueError, match="Calendar: parts must be a list of 'time', 'year'"):
        Calendar(("month",))
    with pytest.raises(ValueError, match="Calendar: parts must not name anything twice"):
        Calendar(("day", "day"))


maybe = st.none() | st.floats(allow_nan=False, allow_infinity=False)
parts = st.lists(st.sampled_from(["time", "year", "week", "day"]), unique=True)
scales = st.none() | st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)


@given(parts, maybe, scales, st.none() | st.text(max_size=9), st.sampled_from(["refuse", "mean"]))
def test_it_is_written_and_read_with_all_its_digits(parts, mean, scale, zone, missing):
    k = Gaussian(2.0).after(Calendar(parts, mean, scale, zone, missing)).on("born on")
    assert mercer.kernel(str(k)) == k
    assert pickle.loads(pickle.dumps(k)) == k


def test_it_keeps_the_contract_of_kernels():
    for k in (Gaussian(1.0).after(Calendar()), Linear().after(Calendar(missing="mean"))):
        check_kernel(k, DAYS[:20], DAYS[20:33])
    assert Gaussian(1.0).after(Calendar()).check().status == "PROVED"
    assert "calendar" in Gaussian(1.0).after(Calendar()).latex()


@FRAMES
def test_a_kernel_of_dates_without_columns_reads_the_one_there_is(table, rng):
    y = np.sin(np.arange(200) / 5.0)
    rows = {"day": DAYS, "mass": rng.normal(size=200)}
    kernel = Gaussian(1.0).after(Calendar()) + Linear().on("mass")
    model = KernelRidge(kernel, 0.1).fit(table(rows), y)
    assert model.kernel_.terms[0].columns == ("day",)
    assert model.kernel_.is_resolved
    assert model.score(table(rows), y) > 0.2
    with pytest.raises(ValueError, match="and the table has 2: 'day', 'other'"):
        KernelRidge(kernel).fit(table({**rows, "other": DAYS}), y)


def test_an_array_of_dates_is_learnt_from():
    days = np.array(DAYS, "M8[s]")
    y = np.array([day.weekday() >= 5 for day in DAYS], float)
    model = KernelRidge(Gaussian(1.0).after(Calendar(("week",))), 1e-3).fit(days, y)
    assert model.score(days, y) > 0.9


def test_explicit_features_are_those_of_the_numbers():
    k = Linear().after(Calendar())
    F = k.features(DAYS)
    assert_allclose(F @ F.T, k(DAYS), atol=1e-9)


@FRAMES
@pytest.mark.parametrize("kernel", [Spectrum(2).normalized(), Words(), Spectrum(2)], ids=str)
def test_a_missing_text_is_an_empty_one(table, kernel):
    texts = ["abc ab", None, "cab", "", "b c a"]
    filled = kernel.after(FillMissing()).on("t")
    full = ["abc ab", "", "cab", "", "b c a"]
    assert_array_equal(filled(table({"t": texts})), kernel(full))
    other = kernel.after(FillMissing("abc")).on("t")
    assert_array_equal(other(table({"t": texts})), kernel(["abc ab", "abc", *full[2:]]))


@FRAMES
def test_a_model_predicts_at_missing_texts(table):
    texts = [None, *(c * i + "xy" for c in "abc" for i in range(1, 8))]
    kernel = Spectrum(2).normalized().after(FillMissing())
    model = KernelRidge(kernel, 0.1).fit(table({"t": texts}), np.arange(22.0))
    assert_allclose(model.predict(table({"t": [None, "xy"]}))[0], model.intercept_, rtol=1e-9)


def test_filling_is_a_value():
    k = Spectrum(2).after(FillMissing("?")).on("t")
    assert str(k).endswith(".after(fill_missing(value='?')).on(t)")
    assert mercer.kernel(str(k)) == k
    with pytest.raises(ValueError, match="FillMissing: value must be text, got 3"):
        FillMissing(3)
    with pytest.raises(KernelSyntaxError):
        mercer.kernel("fill_missing()")

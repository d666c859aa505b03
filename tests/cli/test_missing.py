"""`mercer fit --missing`: which rows and cells it is about."""

import polars as pl
import pytest

from commands import PRICE, fitted, refused, run, table

FIXED = (*PRICE, "--alpha", "1")


@pytest.fixture
def gaps(tmp_path):
    """A table with gaps in what is learned from, in an identifier, and a column of nothing else."""
    path = tmp_path / "gaps.csv"
    data = (
        table()
        .with_row_index("order_id")
        .with_columns(
            age=pl.when(pl.col("order_id") % 20 == 3).then(None).otherwise(pl.col("age")),
            site=pl.when(pl.col("order_id") % 20 == 5).then(None).otherwise(pl.col("site")),
            order_id=pl.when(pl.col("order_id") % 10 == 1).then(None).otherwise(pl.col("order_id")),
            empty=pl.lit(None, pl.Float64),
        )
    )
    data.write_csv(path)
    return path


def test_only_columns_that_are_learned_from_cost_rows(gaps):
    assert sum(fitted(gaps, *FIXED, "--missing", "drop")["rows"].values()) == 72
    one = fitted(gaps, *FIXED, "--kernel", "match.on(site)", "--missing", "drop")
    assert sum(one["rows"].values()) == 76
    said = refused("fit", gaps, *FIXED, "--kernel", "match.on(site)", "--missing", "refuse")
    assert "column 'site' has 4; use" in said


@pytest.mark.parametrize("settings", [("--alpha", "1"), ("--select", "5")])
def test_any_kernel_takes_missing_cells_that_are_to_be_imputed(settings, gaps, tmp_path):
    model = tmp_path / "m.mercer"
    kernel = "gaussian([1.0, 2.0]).on(age, order_id) + match.on(site)"
    asked = (*PRICE, "--kernel", kernel, *settings, "--missing", "impute", "-o", model)
    assert fitted(gaps, *asked)["rows"] == {"train": 64, "test": 16}
    found = run("predict", model, gaps)
    assert found.exit_code == 0
    assert len(found.stdout.splitlines()) == 81


def test_an_imputed_kernel_that_is_given_back_makes_the_same_model(gaps):
    first = fitted(gaps, *FIXED, "--kernel", "gaussian(9.0).on(age)", "--missing", "impute")
    again = fitted(gaps, *FIXED, "--kernel", first["kernel"])
    assert again["scores"]["RMSE"]["value"] == pytest.approx(
        first["scores"]["RMSE"]["value"], rel=1e-3
    )


def test_a_kernel_that_meets_a_gap_is_told_of_impute(gaps):
    said = refused("fit", gaps, *FIXED, "--kernel", "gaussian.on(age)")
    assert "fit --missing impute" in said


def test_a_misspelt_kernel_is_refused_before_anything_is_read(gaps):
    result = run("fit", gaps, *PRICE, "--kernel", "gausian.on(age)")
    assert result.exit_code == 1
    assert "gaussian" in result.stderr and "reading" not in result.stderr

"""`mercer fit` of every format of files."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import dump_svmlight_file

import mercer
from commands import PRICE, fitted, refused, run, table


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "ndjson", "csv.gz"])
def test_every_format_of_tables_gives_the_same_model(ending, data, tmp_path):
    import gzip

    path, rows = tmp_path / f"t.{ending}", table()
    write = {
        "csv": rows.write_csv,
        "tsv": lambda p: rows.write_csv(p, separator="\t"),
        "parquet": rows.write_parquet,
        "arrow": rows.write_ipc,
        "ndjson": rows.write_ndjson,
        "csv.gz": lambda p: p.write_bytes(gzip.compress(rows.write_csv().encode())),
    }
    write[ending](path)
    settings = (*PRICE, "--alpha", "1")
    assert fitted(path, *settings)["scores"] == fitted(data, *settings)["scores"]


def test_sparse_rows_of_svmlight_are_learnt_and_predicted(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 5)).round(2)
    X[:, 4] *= np.arange(60) < 5
    path, rest, model = tmp_path / "t.svm", tmp_path / "rest.svm", tmp_path / "m.mercer"
    dump_svmlight_file(X, np.where(X[:, 0] > 0, 1, -1), str(path), zero_based=False)
    found = fitted(path, "--C", "1", "-o", model)
    assert "2 distinct whole numbers" in found["data"]["task"]
    # Rows whose last column is zero throughout have that column all the same.
    dump_svmlight_file(X[10:, :4], np.zeros(50), str(rest), zero_based=False)
    result = run("predict", model, rest)
    labels = pl.read_csv(result.stdout.encode())["prediction"]
    assert np.array_equal(labels, mercer.load(model).predict(X[10:]))
    assert "its columns have no names" in refused("fit", path, "--target", "x1")


def _sparse_file(path, rows, first):
    lines = [" ".join(f"{j}:{v}" for j, v in enumerate(row, first) if v) for row in rows]
    path.write_text("".join(f"{sum(row)}\t{line}\n" for row, line in zip(rows, lines, strict=True)))
    return path


@pytest.mark.parametrize("first", [0, 1])
def test_columns_of_svmlight_are_counted_as_in_the_file_that_was_learnt_from(first, tmp_path):
    rows = np.random.default_rng(0).integers(0, 9, (40, 3)).tolist()
    rows[0] = [0, 0, 7]
    path, model = _sparse_file(tmp_path / "t.svm", rows, first), tmp_path / "m.mercer"
    settings = ("--task", "regression", "--kernel", "linear", "--alpha", "0.001")
    # Neither a file for tests nor one to predict needs a row that has the first column.
    rest = _sparse_file(tmp_path / "rest.svm", [[0, 0, 4], [0, 5, 1]], first)
    scores = fitted(path, *settings, "--test-data", rest, "-o", model)["scores"]
    found = pl.read_csv(run("predict", model, rest).stdout.encode())["prediction"]
    assert np.allclose(found, [4, 6], atol=0.1)
    assert scores["RMSE"]["value"] < 0.1


def test_an_index_0_is_refused_by_a_model_whose_columns_begin_at_1(tmp_path):
    rows = np.random.default_rng(0).integers(1, 9, (40, 3)).tolist()
    path, model = _sparse_file(tmp_path / "t.svm", rows, 1), tmp_path / "m.mercer"
    fitted(path, "--task", "regression", "--alpha", "1", "-o", model)
    rest = _sparse_file(tmp_path / "rest.svm", [[0, 1, 2], [3, 4, 5]], 0)
    assert "has an index 0 in line 2, '12\\t0:3 1:4 2:5'" in refused("predict", model, rest)


def test_sequences_of_fasta_are_classified_by_their_names(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "t.fasta"
    lines = []
    for i in range(40):
        bases = random.choice(list("ACGT"), 30)
        bases[:6] = list("TATAAT") if i % 2 else bases[:6]
        lines += [f">{i % 2}", "".join(bases[:15]), "".join(bases[15:])]
    path.write_text("\n".join(lines) + "\n")
    found = fitted(path, "--target", "name", "--kernel", "spectrum(k=3).on(sequence)", "--C", "1")
    assert found["rows"] == {"train": 32, "test": 8}


def test_standard_input_is_csv(data):
    result = run("fit", "-", *PRICE, "--alpha", "1", "--json", input=data.read_bytes())
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == {"train": 64, "test": 16}

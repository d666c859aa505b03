"""Texts that nothing is known of."""

import pickle

import numpy as np
import polars as pl
import pytest

import mercer
from commands import run
from mercer.errors import UnknownTextsWarning
from mercer.functions.texts import UnknownTexts

WORDS = ["good hotel", "bad room", "good food", "bad staff", "good room", "bad food"] * 5
NEW = pl.DataFrame({"note": ["zzz qqq", "good zzz", "", None, "xyz"], "x": [0.0] * 5})
LINE = "column 'note': 2 texts have nothing in common with those of the training rows"


@pytest.fixture(scope="module")
def train():
    x = np.arange(30.0)
    return pl.DataFrame({"note": WORDS, "x": x, "y": ["up", "down"] * 15})


@pytest.mark.parametrize("kernel", ["words()", "spectrum(3)", "words(normalize=True)"])
def test_texts_without_a_known_part_are_counted_in_blocks(kernel, train):
    kernel = f"{kernel}.after(fill_missing()).on(note) + gaussian.on(x)"
    model = mercer.KernelRidgeClassifier(kernel).fit(train.drop("y"), train["y"].to_list())
    seen = UnknownTexts(model.function_)
    seen.see(train.drop("y"))
    assert seen.sentences == []
    seen.see(NEW[:3])
    seen.see(NEW[3:])
    (said,) = seen.sentences
    assert said.startswith(LINE)


def test_rows_that_are_texts_are_counted_too():
    model = mercer.KernelRidge("words").fit(WORDS, np.arange(30.0))
    seen = UnknownTexts(model.function_)
    seen.see(["zzz", "good"])
    assert seen.sentences[0].startswith("1 text has nothing in common")


def test_a_position_is_that_of_the_table_of_the_fit(train, tmp_path):
    model = mercer.KernelRidge("spectrum(3).on(0)").fit(train.drop("y"), np.arange(30.0))
    path, new = tmp_path / "m.mercer", tmp_path / "new.csv"
    mercer.save(model, path)
    NEW.filter(pl.col("note") != "").select("x", "note").write_csv(new)
    result = run("predict", path, new)
    assert result.exit_code == 0, result.output
    assert LINE in result.stderr


def test_texts_of_a_matrix_are_counted_by_position():
    rows = np.array([[0, text] for text in WORDS], object)
    seen = UnknownTexts(mercer.KernelRidge("words.on(1)").fit(rows, np.arange(30.0)).function_)
    seen.see(np.array([[0, "zzz"], [0, "good"]], object))
    assert seen.sentences[0].startswith("column 1: 1 text has nothing in common")


def test_edit_distances_are_not_asked_since_they_know_every_text(train, monkeypatch):
    kernel = "words.on(note) + edit_distance(3).on(note)"
    f = mercer.KernelRidge(kernel).fit(train.drop("y"), np.arange(30.0)).function_
    monkeypatch.setattr("mercer.functions.texts._summed", None)
    seen = UnknownTexts(f)
    seen.see(NEW.fill_null("zzz"))
    assert seen.sentences == []


def test_what_training_texts_have_is_summed_once_and_not_pickled(train, monkeypatch):
    f = mercer.KernelRidge("words.on(note)").fit(train.drop("y"), np.arange(30.0)).function_
    size = len(pickle.dumps(f))
    UnknownTexts(f).see(NEW.fill_null(""))
    monkeypatch.setattr("mercer.functions.texts._summed", None)
    again = UnknownTexts(f)
    again.see(NEW.fill_null(""))
    assert again.sentences[0].startswith(LINE)
    assert len(pickle.dumps(f)) == size


def test_the_automatic_machine_warns_and_the_command_says_so(train, tmp_path):
    model = mercer.KernelClassifier(time_limit=5).fit(train.drop("y"), train["y"].to_list())
    with pytest.warns(UnknownTextsWarning, match=LINE):
        told = model.predict(NEW)
    # Rows that are read block by block are not looked at beforehand.
    assert model.predict(lambda: iter([NEW[:2], NEW[2:]])).tolist() == told.tolist()
    path, new = tmp_path / "m.mercer", tmp_path / "new.csv"
    mercer.save(model, path)
    NEW.write_csv(new)
    result = run("predict", path, new)
    assert result.exit_code == 0, result.output
    assert LINE in result.stderr

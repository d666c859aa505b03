"""The file of a checkpoint: whole or absent, of one fit, without pickled objects."""

import errno
import json
import os
import zipfile
from threading import Event, Thread, current_thread
from time import perf_counter

import numpy as np
import pytest

from mercer.errors import CheckpointError, CheckpointWarning
from mercer.solvers import Run, checkpoint as module
from mercer.solvers.checkpoint import Checkpoint


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Write at every call, however short ago the last one was."""
    monkeypatch.setattr(module.Checkpoint, "seconds", 0.0)
    monkeypatch.setattr(module.Checkpoint, "share", np.inf)


def state(value):
    return {"x": np.full(3, value), "step": np.array(int(value))}


def test_what_was_kept_is_restored_to_the_bit(tmp_path):
    path = tmp_path / "fit.npz"
    Checkpoint(path, "key").keep("0", {"x": np.array([0.1, np.nan, -0.0])})
    found = Checkpoint(path, "key").restored("0")
    assert found["x"].tobytes() == np.array([0.1, np.nan, -0.0]).tobytes()


def test_what_a_killed_fit_had_half_written_goes_with_the_file(tmp_path):
    path, other = tmp_path / "fit[1].npz", tmp_path / "fit1.npz.7.part"
    for name in ("fit[1].npz.123.part", other.name):
        (tmp_path / name).write_bytes(b"half")
    kept = Checkpoint(path, "key")
    kept.keep("0", state(1.0))
    kept.remove()
    assert list(tmp_path.iterdir()) == [other]


def test_problems_of_one_fit_keep_states_of_their_own(tmp_path):
    run = Run(checkpoint=Checkpoint(tmp_path / "fit.npz", "key"))
    other = Run(checkpoint=run.checkpoint, problem="1")
    x = np.ones(2)
    run.keep({"x": x})
    x += 1.0
    other.keep({"x": np.zeros(2)})
    again = Checkpoint(tmp_path / "fit.npz", "key")
    assert again.restored("0")["x"].tolist() == [1.0, 1.0]
    assert again.restored("1")["x"].tolist() == [0.0, 0.0]
    assert again.restored("2") is None


def test_a_run_without_a_checkpoint_keeps_nothing():
    run = Run()
    run.keep(state(1.0))
    assert run.restored() is None


def test_states_are_not_written_more_often_than_their_time_allows(tmp_path, monkeypatch):
    monkeypatch.setattr(module.Checkpoint, "seconds", 1e9)
    kept = Checkpoint(tmp_path / "fit.npz", "key")
    kept.keep("0", state(1.0))
    assert not (tmp_path / "fit.npz").exists()


def test_after_a_slow_write_the_next_waits_as_its_share_of_the_time_asks(tmp_path, monkeypatch):
    monkeypatch.setattr(module.Checkpoint, "share", 0.1)
    kept, clock = Checkpoint(tmp_path / "fit.npz", "key"), [perf_counter() + 10.0]

    def slow(path, key, states):
        clock.append(clock[-1] + 3.0)

    monkeypatch.setattr(module, "perf_counter", lambda: clock[-1])
    monkeypatch.setattr(module, "_write", slow)
    for later in (0.0, 29.0, 2.0):
        clock.append(clock[-1] + later)
        kept.keep("0", state(1.0))
    # Three seconds are a tenth of thirty.
    assert clock[-1] - clock[0] == pytest.approx(3.0 + 31.0 + 3.0)


def test_problems_on_threads_share_the_time_that_writing_may_take(tmp_path, monkeypatch):
    kept, written, asked = Checkpoint(tmp_path / "fit.npz", "key"), [], Event()
    monkeypatch.setattr(module.Checkpoint, "seconds", 1e9)
    other = Thread(target=kept.keep, args=("1", state(2.0)))

    def clock():
        if current_thread() is other:
            asked.set()
        return perf_counter()

    def write_as_the_other_waits(path, key, states):
        written.append(sorted(states))
        if len(written) == 1:
            other.start()
            assert asked.wait(60)

    monkeypatch.setattr(module, "perf_counter", clock)
    monkeypatch.setattr(module, "_write", write_as_the_other_waits)
    kept.keep("0", state(1.0))
    other.join(60)
    assert written == [["0"]]


def test_the_file_is_a_plain_archive_with_a_header_of_json(tmp_path):
    path = tmp_path / "fit.npz"
    Checkpoint(path, "key").keep("0", state(2.0))
    with np.load(path, allow_pickle=False) as found:
        header = json.loads(bytes(found["header"]).decode())
        assert header == {"format": "mercer checkpoint", "version": 1, "key": "key"}
        assert sorted(found.files) == ["0/step", "0/x", "header"]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    Checkpoint(path, "key").keep("0", state(1.0))
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        Checkpoint(path, "other")


def test_a_checkpoint_of_a_later_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    monkeypatch.setattr(module, "VERSION", 7)
    Checkpoint(path, "key").keep("0", state(1.0))
    monkeypatch.setattr(module, "VERSION", 1)
    with pytest.raises(CheckpointError, match="has the version 7, and this mercer reads 1"):
        Checkpoint(path, "key")


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty", "pickled"])
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path, damage):
    path = tmp_path / "fit.npz"
    Checkpoint(path, "key").keep("0", {"x": np.arange(1000.0)})
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    elif damage == "pickled":
        np.savez(path, header=np.array([{"version": 1}], object))
    else:
        path.write_bytes(b"" if damage == "empty" else b"no archive")
    with pytest.raises(
        CheckpointError, match="is damaged or none of mercer's; delete it and fit again"
    ):
        Checkpoint(path, "key")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fills_up_leaves_the_last_checkpoint_and_the_fit(tmp_path, monkeypatch, call):
    path = tmp_path / "fit.npz"
    kept = Checkpoint(path, "key")
    kept.keep("0", state(1.0))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.warns(CheckpointWarning, match="No space left on device; the fit goes on"):
            kept.keep("0", state(2.0))
    assert [file.name for file in tmp_path.iterdir()] == ["fit.npz"]
    assert Checkpoint(path, "key").restored("0")["step"] == 1


def test_a_write_that_breaks_off_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    kept = Checkpoint(path, "key")
    kept.keep("0", state(1.0))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    with pytest.warns(CheckpointWarning):
        kept.keep("0", state(2.0))
    monkeypatch.undo()
    assert Checkpoint(path, "key").restored("0")["step"] == 1


@pytest.mark.parametrize(
    ("path", "said"),
    [(3, "must be the path"), ("no/such/x.npz", "does not exist"), (".", "folder")],
)
def test_what_is_no_path_of_a_file_is_refused(path, said):
    with pytest.raises(ValueError, match=said):
        Checkpoint(path, "key")

"""A file is whole and as it was written, or refused."""

import errno
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
import safetensors.numpy

import mercer
from mercer.errors import ModelFileError
from mercer.files.container import EMPTY_HASH, FORMAT_VERSION, sealed, unsealed, write
from processes import forked

SPEC = {"model": {"object": "Gaussian", "fields": {"length_scale": 2.0}}}
CONTENT = sealed(SPEC, {"a": np.arange(3.0)})


def resealed(content, **metadata):
    """Return a file with other metadata and a hash that fits."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= {"sha256": EMPTY_HASH, **metadata}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + content[8 + length :]
    return whole.replace(EMPTY_HASH.encode(), sha256(whole).hexdigest().encode(), 1)


def test_what_is_sealed_comes_back():
    spec, arrays = unsealed(CONTENT)
    assert spec == SPEC
    assert np.array_equal(arrays["a"], np.arange(3.0))


def test_the_same_content_gives_the_same_bytes_in_every_process():
    code = (
        "from mercer.files.container import sealed; import numpy as np, sys;"
        f"sys.stdout.buffer.write(sealed({SPEC!r}, dict(a=np.arange(3.0))))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert said.stdout == CONTENT


def test_the_hash_is_that_of_all_bytes():
    (stated,) = [json.loads(CONTENT[8 : 8 + int.from_bytes(CONTENT[:8], "little")])]
    digest = stated["__metadata__"]["sha256"]
    zeros = CONTENT.replace(digest.encode(), EMPTY_HASH.encode())
    assert sha256(zeros).hexdigest() == digest


def test_no_bit_can_change_unseen():
    for place in range(len(CONTENT)):
        for bit in range(8):
            changed = bytearray(CONTENT)
            changed[place] ^= 1 << bit
            with pytest.raises(ModelFileError):
                unsealed(bytes(changed))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, len(CONTENT) - 1])
def test_no_end_can_be_missing(length):
    with pytest.raises(ModelFileError):
        unsealed(CONTENT[:length])


def test_nothing_can_be_added():
    with pytest.raises(ModelFileError):
        unsealed(CONTENT + b"\0")


def test_a_file_of_a_newer_format_is_refused_by_its_version():
    newer = resealed(CONTENT, format_version=str(FORMAT_VERSION + 1))
    with pytest.raises(ModelFileError, match=r"format_version 2.*install a newer one"):
        unsealed(newer)


@pytest.mark.parametrize("version", ["0", "-1", "1.0", "", "9" * 50])
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises(ModelFileError, match="format_version"):
        unsealed(resealed(CONTENT, format_version=version))


def test_a_file_of_safetensors_that_is_not_ours_is_told_apart():
    with pytest.raises(ModelFileError, match="no model file of mercer, though one of safetensors"):
        unsealed(resealed(CONTENT, format="pt"))


def test_a_pickle_is_refused_and_not_opened():
    for protocol in range(6):
        with pytest.raises(ModelFileError, match="pickle"):
            unsealed(pickle.dumps({"a": 1}, protocol))


def test_a_header_that_claims_to_be_huge_takes_no_memory():
    with pytest.raises(ModelFileError, match="is missing"):
        unsealed((2**62).to_bytes(8, "little") + b"{}")


def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "k.mercer"
    mercer.save(mercer.Gaussian(1.0), path)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("mercer.data.replaced.os.fsync", full)
    with pytest.raises(ModelFileError, match="No space left on device; what was there before"):
        mercer.save(mercer.Gaussian(2.0), path)
    monkeypatch.undo()
    assert mercer.load(path) == mercer.Gaussian(1.0)
    assert os.listdir(tmp_path) == ["k.mercer"]


def test_the_file_is_forced_to_the_disk_before_it_has_its_name_and_the_folder_after(
    tmp_path, monkeypatch
):
    happened = []
    fsync, replace = os.fsync, os.replace

    def forced(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        size = None if is_folder else os.fstat(handle).st_size
        happened.append(("folder", None) if is_folder else ("file", size))
        fsync(handle)

    def renamed(old, new):
        happened.append(("name", os.path.getsize(old)))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", forced)
    monkeypatch.setattr(os, "replace", renamed)
    path = tmp_path / "m.mercer"
    write(path, SPEC, {"a": np.arange(3.0)})
    size = path.stat().st_size
    assert happened == [("file", size), ("name", size), ("folder", None)]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"none/k\.mercer cannot be written: No such file"):
        mercer.save(mercer.Gaussian(1.0), tmp_path / "none" / "k.mercer")


WRITER = """
import os, signal, sys, threading
from mercer.files.container import write
import numpy as np
path, wait, big = sys.argv[1], float(sys.argv[2]), np.ones(200_000)
threading.Timer(wait, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
i = 0
while True:
    i += 1
    model = {"object": "Gaussian", "fields": {"length_scale": float(i)}}
    write(path, {"model": model}, {"a": i * big})
"""


@pytest.mark.parametrize("wait", np.random.default_rng(0).uniform(0.0, 0.1, 3).round(4))
def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path, wait):
    path = tmp_path / "k.mercer"
    mercer.save(mercer.Gaussian(0.5), path)
    assert forked(WRITER, path, wait).returncode == -signal.SIGKILL
    assert isinstance(mercer.load(path), mercer.Gaussian)


FULL = """
import resource, sys, mercer
from mercer.errors import ModelFileError
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    mercer.save(mercer.Gaussian(2.0), sys.argv[1])
except ModelFileError as error:
    print(error)
"""


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path):
    path = tmp_path / "k.mercer"
    mercer.save(mercer.Gaussian(1.0), path)
    said = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert said.stdout.startswith(f"{path} cannot be written: File too large"), said.stderr
    assert said.stdout.count("\n") == 1
    assert mercer.load(path) == mercer.Gaussian(1.0)
    assert os.listdir(tmp_path) == ["k.mercer"]


def test_no_pipe_or_device_is_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "p.mercer"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match="a pipe or a device; give the name of a file"):
        mercer.save(mercer.Gaussian(1.0), pipe)
    assert pipe.is_fifo()


OTHER = {
    "an empty file": (b"", "the file is empty"),
    "a pickle": (pickle.dumps([1, 2]), "perhaps a pickle"),
    "an archive": (b"PK\x03\x04" + bytes(100), "perhaps a pickle or an archive"),
    "a graph of ONNX": (b"\x08\x08\x12\x06mercer:\xa1\x02" + bytes(99), "no model file"),
    "text": (b"age,price\n1,2\n" * 20, "no model file"),
    "a table whose first name begins like a pickle": (
        "city,café\n1,2\n".encode() * 20,
        "no model file but text, such as a table; give",
    ),
    "a pickle of text": (pickle.dumps([1, 2], 0), "perhaps a pickle"),
    "a pickle of text that calls a function": (pickle.dumps(range, 0), "perhaps a pickle"),
    "other tensors": (safetensors.numpy.save({"a": np.ones(3)}), "though one of safetensors"),
    "half a file": (CONTENT[: len(CONTENT) // 2], "a part"),
    "a file without its last byte": (CONTENT[:-1], "a part is missing"),
    "a file and a byte": (CONTENT + b"\0", "longer or shorter than it states"),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_is_no_model_file_is_refused_in_one_line(name, tmp_path):
    content, match = OTHER[name]
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as refused:
        mercer.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_folder_and_a_device_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="this is a folder"):
        mercer.load(tmp_path)
    with pytest.raises(ModelFileError, match="this is a device or a pipe"):
        mercer.load("/dev/zero")


def test_a_file_that_claims_a_thousand_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "large.mercer"
    path.write_bytes(CONTENT)
    os.truncate(path, 10**12)
    with pytest.raises(ModelFileError, match="longer or shorter than it states"):
        mercer.load(path)


def test_the_hash_is_verified_before_anything_is_read(monkeypatch):
    def reads(*given):
        raise AssertionError("the specification was read first")

    monkeypatch.setattr("mercer.files.container._specification", reads)
    monkeypatch.setattr("mercer.files.container.safetensors.numpy.load", reads)
    with pytest.raises(ModelFileError, match="do not have the SHA-256"):
        unsealed(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused(number):
    text = json.dumps(SPEC).replace("2.0", number)
    with pytest.raises(ModelFileError, match="is not finite"):
        unsealed(resealed(CONTENT, spec=text))

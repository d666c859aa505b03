"""Processes of their own, forked from one that has imported the package already."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

# What takes long to import, and starts no thread.
IMPORTED = ["mercer.estimators", "mercer.files.models", "mercer.selection", "pandas", "pytest"]
# Seconds after which a process that should have ended is given up.
PATIENCE = 120


def forked(code: str, *arguments: object) -> CompletedProcess[str]:
    """Run code as `python -c` does, and return how it ended."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=_run, args=(code, [*map(str, arguments)], folder))
        process.start()
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()
        stdout, stderr = ((Path(folder) / name).read_text() for name in ("stdout", "stderr"))
        return CompletedProcess(arguments, process.exitcode or 0, stdout, stderr)


def _run(code: str, arguments: list[str], folder: str) -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})

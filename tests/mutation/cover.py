"""Which tests run a line of the package, measured once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from places import PACKAGE, ROOT, Mutant, files

# Seconds of tests for one mutant.
BUDGET = 30.0
# What looks at the code as it was imported. No test is measured to run the lines of a class.
AT_IMPORT = "tests/test_values.py"


@dataclass(frozen=True)
class Cover:
    """Which tests run a line, and how long each of them takes."""

    tests: dict[tuple[str, int], set[str]]
    of_file: dict[str, set[str]]
    seconds: dict[str, float]
    there: set[str]

    def of(self, mutant: Mutant) -> tuple[list[str], float]:
        """Return the tests to try, and how long they take: the file's own, then the quick ones.

        Of test modules of its name in its room those count too that were written since lines were
        measured.
        """
        path = Path(mutant.path)
        room, name = f"tests/{path.parts[0]}/", f"/test_{path.stem}"
        found = self.tests.get((mutant.path, mutant.line))
        if found is None:
            found = self.of_file.get(mutant.path, set())
            found = found | {test for test in self.there if test.startswith(AT_IMPORT)}

        def is_own(test: str) -> bool:
            return test.startswith(room) and name in test.split("::")[0]

        def order(test: str) -> tuple[bool, float, str]:
            return not is_own(test), self.seconds.get(test, 0.1), test

        new = {test for test in self.there - self.seconds.keys() if is_own(test)}

        chosen: list[str] = []
        spent = 0.0
        for test in sorted((found & self.there) | new, key=order):
            seconds = self.seconds.get(test, 0.1)
            if not chosen or spent + seconds <= BUDGET:
                chosen.append(test)
                spent += seconds
        return chosen, spent


def measured(folder: Path, scope: list[str], workers: int, anew: bool) -> Cover:
    """Return which tests of the same rooms run which lines of the scope.

    It takes a run of these tests, whose lines and seconds are kept in the folder. Of a kept one the
    lines are followed to where they are now, by the sources as they were measured.
    """
    from coverage import CoverageData

    data, junit, then = folder / "coverage", folder / "junit.xml", folder / "sources"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if anew or not junit.exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / PACKAGE, then, ignore=shutil.ignore_patterns("__pycache__"))
        settings = folder / "settings"
        rooms = "\n    ".join(str(file.relative_to(ROOT)) for file in files(scope))
        settings.write_text(f"[run]\nrelative_files = true\ninclude =\n    {rooms}\n")
        # An empty --cov leaves the choice of the files to the settings.
        covered = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
        beside = ["-n", str(workers)] if workers > 1 else []
        # Lines that another thread runs are not seen.
        environment = {**os.environ, "COVERAGE_FILE": str(data), "MERCER_THREADS": "1"}
        subprocess.run(
            [*command, *covered, *beside, f"--junitxml={junit}", *_rooms(scope)],
            cwd=ROOT,
            env=environment,
        )
    listed = subprocess.run([*command, "--collect-only"], cwd=ROOT, text=True, capture_output=True)
    tests, of_file = defaultdict(set), defaultdict(set)
    found = CoverageData(str(data))
    found.read()
    for file in files(scope):
        path = str(file.relative_to(ROOT / PACKAGE))
        if not (then / path).exists():
            continue
        moved = _moved((then / path).read_text(), file.read_text())
        for line, contexts in found.contexts_by_lineno(str(PACKAGE / path)).items():
            run_by = {context.rsplit("|", 1)[0] for context in filter(None, contexts)}
            if line in moved and run_by:
                tests[path, moved[line]] |= run_by
            of_file[path] |= run_by
    seconds: dict[str, float] = {}
    there = set(listed.stdout.splitlines())
    for case in ElementTree.parse(junit).iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        seconds[test] = float(case.get("time", 1.0))
        # What fails without a mutant, as under a load, brings none down.
        if case.find("failure") is not None or case.find("error") is not None:
            there.discard(test)
    return Cover(dict(tests), dict(of_file), seconds, there)


def _rooms(scope: list[str]) -> list[str]:
    """Return where the tests of a scope are: those of the same rooms, and those of all classes."""
    places = [Path("tests", name) for name in scope]
    rooms = {str(place.parent if place.suffix else place) for place in places}
    return [*sorted(rooms), AT_IMPORT]


def _moved(then: str, now: str) -> dict[int, int]:
    """Return where the lines of a file are that were not changed."""
    blocks = SequenceMatcher(None, then.splitlines(), now.splitlines(), autojunk=False)
    return {
        block.a + i + 1: block.b + i + 1
        for block in blocks.get_matching_blocks()
        for i in range(block.size)
    }

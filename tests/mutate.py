"""Mutation testing: small faults are put into the code, and the tests should notice them.

`make mutate` runs it. cosmic-ray says where a mutant can be made and what it is; here are only the
choice of the mutants, that of the tests which run a mutated line, and a process of its own for
every mutant, forked from one that has imported the slow libraries already.

The mutants of a run are a sample, drawn with a seed, of those of the rooms in `SCOPE`. Mutants that
live and may do so are in mutants.toml, one by one or all of a line, with the reason; the share that
is reported counts them as alive, and a second one leaves them out.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import tomllib
import warnings
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import unified_diff
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from time import monotonic, sleep

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/mercer")
KNOWN = Path(__file__).with_name("mutants.toml")

# What guards the promises: solvers, the validity of kernels, checks of the data, and selection.
SCOPE = ["solvers", "selection", "kernels/validity", "data/checks.py"]

# Operators between bits, matrices and objects raise TypeError at once wherever numbers are meant,
# and a mutant that cannot run says nothing about the tests.
MEANINGLESS = ("_BitOr", "_BitAnd", "_BitXor", "_LShift", "_RShift", "_MatMult", "_Mod")
# Seconds of tests beside its own for one mutant, seconds of computing after which it is given up as
# one that does not end, and how many times as long it may wait: a busy machine brings none down.
BUDGET, PATIENCE, WAITING = 20.0, 120, 10.0
# What looks at the code as it was imported. No test is measured to run the lines of a class.
AT_IMPORT = "tests/test_values.py"
# Libraries that take long to import. Those that pytest rewrites are not among them.
PRELOADED = (
    "matplotlib.figure",
    "pandas",
    "pytest",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "sklearn.gaussian_process",
    "sklearn.model_selection",
    "sklearn.svm",
    "sklearn.utils.estimator_checks",
)


@dataclass(frozen=True)
class Mutant:
    """A changed file, and where it was changed."""

    path: str
    line: int
    before: str
    after: str
    code: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.path, self.before, self.after

    @property
    def module(self) -> str:
        parts = (PACKAGE.name, *Path(self.path).with_suffix("").parts)
        return ".".join(part for part in parts if part != "__init__")

    @property
    def is_one(self) -> bool:
        """Whether the code means something else: 1e60 + 1 is 1e60, and 2 < not x means nothing."""
        whole = (ROOT / PACKAGE / self.path).read_text()
        try:
            return ast.dump(ast.parse(self.code)) != ast.dump(ast.parse(whole))
        except SyntaxError:
            return False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True)
class Place:
    """Where an operator of cosmic-ray makes a mutant, the first, second, ... of its occurrences."""

    path: Path
    operator: str
    occurrence: int
    line: int

    def mutant(self) -> Mutant:
        """Return the mutant."""
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        source = self.path.read_text()
        code = mutate_code(source, get_operator(self.operator)(), self.occurrence)
        before, after = _changed(source.splitlines(), code.splitlines())
        name = str(self.path.relative_to(ROOT / PACKAGE))
        return Mutant(name, self.line, before, after, code)


@dataclass(frozen=True)
class Cover:
    """Which tests run a line, and how long each of them takes."""

    tests: dict[tuple[str, int], set[str]]
    of_file: dict[str, set[str]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests to try: the file's own test module, then others, the quick ones first.

        Of the module all tests are taken, so that those written since the lines were measured
        count.
        """
        found = self.tests.get((mutant.path, mutant.line))
        path = Path(mutant.path)
        own = f"tests/{path.parent}/test_{path.stem}.py"
        chosen = [own] if (ROOT / own).exists() else []
        if found is None:
            found = self.of_file.get(mutant.path, set())
            chosen.append(AT_IMPORT)
        others = {test for test in found if not test.startswith(f"{own}::")}
        spent = 0.0
        for test in sorted(others, key=lambda test: (self.seconds.get(test, 1.0), test)):
            spent += self.seconds.get(test, 1.0)
            if chosen and spent > BUDGET:
                break
            chosen.append(test)
        return chosen


def measured(folder: Path, scope: list[str]) -> Cover:
    """Run the suite once and return which tests run which lines of the files of the scope."""
    from coverage import CoverageData

    data, junit = folder / "coverage", folder / "junit.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not data.exists():
        covered = ["-n", "auto", "--cov=mercer", "--cov-context=test", "--cov-report="]
        environment = {**os.environ, "COVERAGE_FILE": str(data)}
        subprocess.run([*command, *covered, f"--junitxml={junit}"], cwd=ROOT, env=environment)
    # Of a kept folder some tests may be gone, or have other names.
    listed = subprocess.run([*command, "--collect-only"], cwd=ROOT, text=True, capture_output=True)
    there = set(listed.stdout.splitlines())
    tests, of_file = defaultdict(set), defaultdict(set)
    found = CoverageData(str(data))
    found.read()
    for file in files(scope):
        path = str(file.relative_to(ROOT / PACKAGE))
        for line, contexts in found.contexts_by_lineno(str(file)).items():
            for context in filter(None, contexts):
                test = context.rsplit("|", 1)[0]
                if test in there:
                    tests[path, line].add(test)
                    of_file[path].add(test)
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        seconds[test] = float(case.get("time", 1.0))
    return Cover(dict(tests), dict(of_file), seconds)


def files(scope: list[str]) -> Iterator[Path]:
    """Yield the files of the scope."""
    for name in scope:
        path = ROOT / PACKAGE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def places(path: Path) -> Iterator[Place]:
    """Yield where a file can be mutated; annotations, texts and what zip checks are left alone."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    silent = set(_spans(ast.parse(path.read_text())))
    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or name.endswith(MEANINGLESS):
            continue
        found = [place for node in nodes for place in operator().mutation_positions(node)]
        for occurrence, (start, _) in enumerate(found):
            if not any(first <= start < last for first, last in silent):
                yield Place(path, name, occurrence, start[0])


def _spans(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(tree):
        found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.JoinedStr):
            found.append(node)
        if isinstance(node, ast.keyword) and node.arg == "strict":
            found.append(node.value)
        for part in filter(None, found):
            yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def _changed(before: list[str], after: list[str]) -> tuple[str, str]:
    changes = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    old, new = (" ".join(d[1:].strip() for d in changes if d[0] == sign) for sign in "-+")
    return old, new


def killed(mutant: Mutant, tests: list[str]) -> str:
    """Return how a mutant ended: killed, alive, or endless, in a process of its own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        _use(mutant)
        import pytest

        settings = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
        try:
            # What cannot be imported is brought down; pytest would say that it could not run. So
            # is what Python warns of, as in every test: `is` beside a number or a text.
            warnings.simplefilter("error", SyntaxWarning)
            import_module(mutant.module)
            code = pytest.main([*settings, *tests])
        except BaseException:
            code = 1
        os._exit(int(code))
    deadline = monotonic() + WAITING * PATIENCE
    while monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # pytest ends with 3 to 5 where it could not run the tests at all.
            ends = {0: "alive", 3: "untested", 4: "untested", 5: "untested"}
            ends |= {-signal.SIGXCPU: "endless", -signal.SIGKILL: "endless"}
            return ends.get(os.waitstatus_to_exitcode(status), "killed")
        sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "endless"


def _use(mutant: Mutant) -> None:
    """Let this process import the mutant in place of the file."""
    path, plain = str(ROOT / PACKAGE / mutant.path), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> object:
        if self.path == path:
            return compile(mutant.code, path, "exec", dont_inherit=True)
        return plain(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def preload() -> None:
    """Import what every test needs and no mutant changes."""
    for name in PRELOADED:
        import_module(name)
    # What is there is not looked at again, so that memory stays shared with every mutant.
    gc.freeze()


def main() -> int:
    """Try a sample of the mutants, and say which live."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scope", nargs="*", default=SCOPE, help="files or rooms of src/mercer")
    parser.add_argument("--mutants", type=int, default=400, help="size of the sample, 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where coverage of an earlier run is kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="mutants at a time")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    os.chdir(ROOT)
    known = _known()

    cover = measured(folder, given.scope)
    every = [place for path in files(given.scope) for place in places(path)]
    size = given.mutants or len(every)
    drawn = random.Random(given.seed).sample(every, min(size, len(every)))
    sample = [mutant for mutant in (place.mutant() for place in drawn) if mutant.is_one]
    preload()

    ends: Counter[str] = Counter()
    excused = 0
    with ThreadPoolExecutor(given.workers) as pool:
        results = pool.map(lambda m: killed(m, cover.of(m)) if cover.of(m) else "uncovered", sample)
        for mutant, end in zip(sample, results, strict=True):
            ends[end] += 1
            if end in ("alive", "uncovered", "untested"):
                reason = known.get(mutant.key) or known.get((mutant.path, mutant.before, ""))
                excused += reason is not None
                print(end, mutant, f"\n    = {reason or 'NO REASON GIVEN'}", flush=True)
    down, size = ends["killed"] + ends["endless"], len(sample)
    print(f"{down} of {size} mutants brought down ({down / size:.1%}), of {len(every)}")
    print(f"{down / max(size - excused, 1):.1%} without those that may live")
    print(dict(ends))
    return 0


def _known() -> dict[tuple[str, str, str], str]:
    """Return the reasons of mutants that may live; without `after` they are all of a line.

    One of a line that is there no more is refused: the line may have become another.
    """
    listed = tomllib.loads(KNOWN.read_text())["mutant"]
    stale = [f"{m['path']}: {m['before']}" for m in listed if m["before"] not in _lines(m["path"])]
    if stale:
        raise SystemExit("\n".join([f"lines of {KNOWN.name} that are there no more:", *stale]))
    return {(m["path"], m["before"], m.get("after", "")): m["reason"] for m in listed}


def _lines(path: str) -> set[str]:
    """Return the lines of a file of the package as mutants have them, of no file none."""
    file = ROOT / PACKAGE / path
    return {line.strip() for line in file.read_text().splitlines()} if file.exists() else set()


if __name__ == "__main__":
    sys.exit(main())

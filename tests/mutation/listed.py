"""Mutants that may live, as mutants.toml lists them, and whether the code still has their lines."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from places import PACKAGE, ROOT, Mutant

KNOWN = Path(__file__).with_name("mutants.toml")


@dataclass(frozen=True)
class Listed:
    """A mutant that may live, or all of a line.

    Parameters
    ----------
    path : str
        The file in the package.
    before : str
        The line, without its indentation.
    reason : str
        Why it may.
    after : str
        What the mutant makes of the line; empty for anything.
    within : str
        The function that has the line, where others in the file have the same.
    """

    path: str
    before: str
    reason: str
    after: str = ""
    within: str = ""

    def means(self, mutant: Mutant) -> bool:
        """Whether it is this mutant."""
        return (
            (mutant.path, mutant.before) == (self.path, self.before)
            and self.after in ("", mutant.after)
            and mutant.line in self.lines()
        )

    def lines(self) -> list[int]:
        """Return the numbers of the lines that it may be, which should be one."""
        file = ROOT / PACKAGE / self.path
        if not file.exists():
            return []
        source = file.read_text()
        places = {number for span in self._spans(source) for number in span}
        numbered = enumerate(source.splitlines(), start=1)
        return [n for n, line in numbered if line.strip() == self.before and n in places]

    def _spans(self, source: str) -> Iterator[range]:
        if not self.within:
            yield range(1, len(source.splitlines()) + 1)
            return
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name == self.within:
                yield range(node.lineno, (node.end_lineno or node.lineno) + 1)


def listed() -> list[Listed]:
    """Return what is listed."""
    return [Listed(**entry) for entry in tomllib.loads(KNOWN.read_text())["mutant"]]


def stale(entries: list[Listed]) -> list[str]:
    """Return what is to be said of entries whose line is not there, or more than once."""
    found = [(entry, len(entry.lines())) for entry in entries]
    return [f"{e.path}: {e.before} (there {n} times)" for e, n in found if n != 1]

"""Small faults, and where cosmic-ray puts them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/mercer")

# Operators between bits, matrices and objects raise TypeError at once wherever numbers are meant,
# and a mutant that cannot run says nothing about the tests.
MEANINGLESS = ("_BitOr", "_BitAnd", "_BitXor", "_LShift", "_RShift", "_MatMult", "_Mod")


@dataclass(frozen=True)
class Mutant:
    """A changed file, and where it was changed."""

    path: str
    line: int
    before: str
    after: str
    code: str

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
    return old.strip(), new.strip()

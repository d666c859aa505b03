"""Mutated expressions for the parser: `python tests/fuzz_expression.py [COUNT] [FIRST]`.

Every text must be a kernel that prints as a text of the same meaning, or a KernelSyntaxError of one
line, within half a second. Text number i depends on i alone, so that a failure is had again by its
number. What fails is printed, and belongs into test_expression_errors.py once it is mended.
"""

from __future__ import annotations

import faulthandler
import random
import re
import sys
import time

from catalogue import ARD, COMPOSITE, SIMPLE
from mercer.errors import KernelSyntaxError
from mercer.kernels import kernel
from mercer.kernels.language.tokens import MAX_CHARACTERS
from mercer.kernels.language.vocabulary import ALIASES, KERNELS, METHODS

SECONDS = 0.5
HANGS_AFTER = 30
BLOCK = 1000
PIECE = re.compile(r"[0-9.]+(?:e[+-]?[0-9]+)?|\w+|\*\*|'[^']*'|.", re.DOTALL)

SEEDS = [
    *(str(k) for k in [*SIMPLE, *ARD, *COMPOSITE]),
    "0.5*gaussian(gamma=0.1).on(age) + linear.on(age, 'body mass')",
    "(linear + 1)**2 * laplacian('median').on(0, 1, -1)",
    "bilinear([[2.0, 0.5], [0.5, 1.0]]).normalized()",
    "gaussian('median').after(standardize(mean=[1, 2], scale=[3, 4])).on(age, dose)",
    "spectrum(k=[1, 2, 3], weights=[1, 0.5, 0.25]).on(smiles) * gaussian.on(mass)",
    "gapped_kmer(7, 3) + mismatch(k=5, m=1, letters=20) * subsequence([1, 2], 0.5)",
    "gaussian.polynomial([1, 0, 2]).exp() * match(missing='own-category').on(site)",
    "((9**9)**3)*((2 + 3)*4)**2*linear + gapped_kmer(10**1, 5*10**0)",
    "2**3**2*sum(linear, product(gaussian, matern32(2.0)), words(normalize=False))",
]
NUMBERS = ["0", "1", "9", "64", "65", "1e308", "1e-320", "5e-324", "1e999", "9" * 309, "9" * 5000]
NUMBERS += [
    "9**64",
    "(9**64)",
    "10**300",
    "2**2**2**2",
    "18446744073709551616",
    "1e19",
    "0.1",
    "7.",
]
SIGNS = [*"()[]{}.,=+-*/^@<>;:#'\"\\ \n\t\x00", "**", "-(", "[[", "]]", "\\x41", "\\u12"]
LETTERS = ["é", "ö", "ß", "ⅷ", "٣", "日", "😀", "\ud800", "\u2028", "\u200b", "\xa0", "²", "𝟙"]
WORDS = [
    *KERNELS,
    *ALIASES,
    *METHODS,
    "gamma",
    "k",
    "m",
    "g",
    "letters",
    "True",
    "None",
    "standardize",
]


def mutated(number: int) -> str:
    """Return the text of this number."""
    r = random.Random(number)
    # Words keep a text readable for longer than characters, and so get further into the parser.
    pieces = list(r.choice(SEEDS)) if r.random() < 0.2 else PIECE.findall(r.choice(SEEDS))
    for _ in range(r.choice([1, 1, 2, 3, 5])):
        a, b = sorted(r.randrange(len(pieces) + 1) for _ in range(2))
        b = min(b, a + r.choice([1, 1, 3, 1000]))
        pieces[a:b] = _changed(pieces[a:b], r)
    return "".join(pieces)[: MAX_CHARACTERS + 1]


def _changed(part: list[str], r: random.Random) -> list[str]:
    number, word = r.choice(NUMBERS), r.choice(WORDS)
    match r.randrange(12):
        case 0:
            return []
        case 1:
            return part * r.choice([2, 2, 3, 60, 400])
        case 2:
            return r.sample(part, len(part))
        case 3:
            return [c * r.choice([1, 2, 9]) if c.isdigit() else c for c in part]
        case 4:
            return ["(", *part, r.choice(["**", "*", "+"]), number, ")"]
        case 5:
            return ["(" * (depth := r.choice([1, 2, 49])), *part, ")" * depth]
        case 6:
            return [word, "(", *part, ")"]
        case 7:
            return ["(", *part, ").", r.choice(list(METHODS)), "(", number, ")"]
        case 8:
            return [number if c[0].isdigit() else c for c in part]
        case 9:
            return [r.choice(SIGNS)]
        case 10:
            return [r.choice([*LETTERS, chr(r.randrange(0x110000))])]
        case _:
            return ["(", r.choice(SEEDS), ")", r.choice(["*", "+"]), *part]


def failure(text: str) -> str | None:
    """Return what is wrong with the answer to a text, if anything."""
    # Time of this process, since a busy machine is no fault of the parser.
    start = time.process_time()
    try:
        k = kernel(text)
        printed = str(k)
        if len(printed) <= MAX_CHARACTERS and kernel(printed) != k:
            return "reads back as another kernel"
    except KernelSyntaxError as error:
        if len(str(error).splitlines()) != 1:
            return "an error of several lines"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    return f"{seconds:.2f} s" if seconds > SECONDS else None


def main(count: int = 1_000_000, first: int = 0) -> int:
    """Try texts and return how many failed."""
    failed = 0
    for number in range(first, first + count):
        if number % BLOCK == 0:
            # A loop in C hears no signal; the block in which the process ended tells where it was.
            print(f"\r{number} tried, {failed} failed", end="", flush=True)
            faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        text = mutated(number)
        reason = failure(text)
        if reason is not None:
            failed += 1
            print(f"\n{number}: {reason[:200]}\n    {ascii(text)[:500]}")
    faulthandler.cancel_dump_traceback_later()
    print(f"\r{count} texts, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))

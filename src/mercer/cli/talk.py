"""What commands say: errors of one line, and a line for every phase on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any

import click

# What a user can mend: bad data, a bad model, too little memory.
EXPECTED = (ValueError, TypeError, OSError, MemoryError)


def told(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose errors are one line and the exit code 1.

    Warnings are a line each on standard error. With ``--debug`` an error shows its traceback.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        debug = bool(click.get_current_context().find_root().obj)
        with _warnings_in_lines():
            try:
                return command(*args, **options)
            except (click.ClickException, BrokenPipeError):
                # click ends quietly where nobody reads on.
                raise
            except EXPECTED as error:
                if debug:
                    raise
                raise click.ClickException(_line(error)) from None

    return run


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__


@contextmanager
def _warnings_in_lines() -> Iterator[None]:
    said: set[str] = set()

    def show(message: Warning | str, *args: Any, **settings: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            click.echo(f"warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Say on standard error what is being done, and how long it took."""
    began = perf_counter()
    click.echo(f"{name} ...", err=True)
    yield
    click.echo(f"{name}: {perf_counter() - began:.1f} s", err=True)


def table(lines: dict[str, Any]) -> str:
    """Return labels and texts as a table of two columns; further lines of a text are indented."""
    width = max(map(len, lines)) + 2
    indent = "\n" + " " * width
    return "\n".join(
        f"{label:<{width}}" + indent.join(str(text).splitlines() or [""])
        for label, text in lines.items()
    )

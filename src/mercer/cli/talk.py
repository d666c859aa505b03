"""What commands say: errors of one line, and a line for every phase on standard error."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from time import perf_counter
from typing import Any, TextIO

import click

from mercer.cli.spelling import in_options

# What a user can mend: bad data, a bad model, too little memory.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError)
# What shells give for a command that Ctrl-C ended: 128 and the number of the signal.
INTERRUPTED = 130


class Interrupted(BaseException):
    """Ctrl-C in a command.

    Iterative fits take a KeyboardInterrupt for a wish to keep the model that they have come to. Who
    interrupts a command wants no model, so that it is an exception of its own which ends them.
    """


def told(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose errors are one line and the exit code 1; Ctrl-C is another one.

    Warnings are a line each on standard error. With ``--debug`` an error shows its traceback. Where
    nobody reads on, as behind ``| head``, the command ends quietly.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        debug = bool(click.get_current_context().find_root().obj)
        try:
            with ends_at_ctrl_c(), warnings_in_lines():
                result = command(*args, **options)
                # What cannot be written is an error here, and not when Python ends.
                sys.stdout.flush()
                return result
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            _leave_quietly()
        except (Interrupted, KeyboardInterrupt):
            if debug:
                raise
            note("interrupted; files are as they were before")
            raise click.exceptions.Exit(INTERRUPTED) from None
        except EXPECTED as error:
            if debug:
                raise
            raise click.ClickException(in_a_line(error)) from None
        except Exception as error:
            if debug:
                raise
            what = f"{type(error).__name__}: {in_a_line(error)}"
            raise click.ClickException(
                f"{what}; this is a fault of mercer, mercer --debug shows where: please report it"
            ) from None

    return run


@contextmanager
def ends_at_ctrl_c() -> Iterator[None]:
    """Have Ctrl-C raise `Interrupted` in this context; only the main thread hears signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_quietly() -> None:
    """Send what is still to be written nowhere: Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_a_line(error: BaseException | str) -> str:
    """Return the text of an error or a warning as one line."""
    text = in_options(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or 'the output'}: {error.strerror}"
    return text or type(error).__name__


@contextmanager
def warnings_in_lines() -> Iterator[None]:
    """Show every warning once, as a line on standard error, when the context ends."""
    said: dict[str, None] = {}

    def note(message: Warning | str, *args: Any, **settings: Any) -> None:
        said.setdefault(in_a_line(str(message)))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = note
            yield
    finally:
        for text in said:
            click.echo(wrapped(f"warning: {text}", 0, sys.stderr), err=True)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Say on standard error what is being done, and how long it took: one line.

    On a terminal a spinner and the seconds run on until it is done. Warnings follow the line.
    """
    is_terminal = sys.stderr.isatty()
    began, done = perf_counter(), False
    with warnings_in_lines():
        if not is_terminal:
            click.echo(f"{name} ... ", nl=False, err=True)
        try:
            with _spinner(name) if is_terminal else nullcontext():
                yield
            done = True
        finally:
            ending = f"{perf_counter() - began:.1f} s" if done else "not done"
            click.echo(f"{name} ... {ending}" if is_terminal else ending, err=True)


@contextmanager
def _spinner(name: str) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as spinner:
        task = spinner.add_task(name, total=None)
        with phases_told(lambda text: spinner.update(task, description=f"{name}: {text}")):
            yield


@contextmanager
def phases_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Hand on what a fit says of its phases, see `mercer.solvers.Run.enter`."""

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    logger, teller = logging.getLogger("mercer"), Teller(logging.INFO)
    before = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(teller)
        logger.setLevel(before)


def note(text: str) -> None:
    """Say something on standard error, on a terminal in lines that fit it."""
    click.echo(wrapped(text, 0, sys.stderr), err=True)


def heading(text: str) -> str:
    """Return a heading: bold on a terminal, unless the user wants no colours."""
    return text if os.environ.get("NO_COLOR") else click.style(text, bold=True)


def indented(text: Any, by: int = 2) -> str:
    """Return a text with every line moved to the right."""
    return "\n".join(" " * by + line for line in str(text).splitlines())


def quoted(expression: str) -> str:
    """Return an expression as shells take it, in double quotes where nothing in it is special."""
    return shlex.quote(expression) if set(expression) & set('"$`\\!') else f'"{expression}"'


def wrapped(text: str, indent: int, stream: TextIO | None = None) -> str:
    """Return prose in lines that fit a terminal, all but the first indented; else as it is.

    Parameters
    ----------
    text : str
        The prose.
    indent : int
        Spaces before all lines but the first.
    stream : file, optional
        Where it goes, by default to standard output.
    """
    if not (sys.stdout if stream is None else stream).isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    gap = " " * indent
    lines = textwrap.wrap(text, width, initial_indent=gap, subsequent_indent=gap)
    return "\n".join(lines)[indent:]


def pairs(lines: dict[str, Any]) -> str:
    """Return labels and texts in two columns; further lines of a text are indented."""
    width = max(map(len, lines)) + 2
    gap = "\n" + " " * width
    texts = {
        label: gap.join(wrapped(line, width) for line in str(text).splitlines() or [""])
        for label, text in lines.items()
    }
    return "\n".join(heading(f"{label:<{width}}") + text for label, text in texts.items())

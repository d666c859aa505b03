"""The command group and its entry point."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click

from mercer import __version__

__all__ = ["main"]

# Every command, with what it does. Its module is imported when it runs: help needs none of them.
COMMANDS = {
    "fit": "Fit a model to a table, test it on held-out rows and save it.",
    "predict": "Predict the rows of a table with a saved model.",
    "report": "Write a page about a saved model.",
    "explain": "Say what a saved model has learned.",
    "check": "Say whether an expression is a valid kernel, with a proof or a witness.",
    "info": "Tell what runs here, or what is in a model file.",
    "demo": "Do all of it on bundled data: fit, test, report, predict.",
    "bench": "Time the main jobs beside scikit-learn.",
    "completion": "Print what makes a shell complete commands and options.",
}


class Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by its name."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"mercer.cli.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; of an option that it does not have, the nearest one is told."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            nearest = difflib.get_close_matches(error.option_name, error.possibilities or (), 1)
            if not nearest:
                raise
            raise click.NoSuchOption(
                error.option_name, possibilities=nearest, ctx=error.ctx
            ) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, for which none of them is imported."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 bad data, a bad model or a refuted kernel; 2 wrong usage; 130 "
    "interrupted by Ctrl-C.",
)
@click.version_option(__version__, prog_name="mercer")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """Kernel machines: pick a similarity, get a model.

    mercer fit houses.csv --target price -o houses.mercer --report houses.html

    mercer predict houses.mercer new.csv > predicted.csv
    """
    ctx.obj = debug

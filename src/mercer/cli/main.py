"""The command group and its entry point."""

import click

from mercer import __version__
from mercer.cli.demo import demo
from mercer.cli.info import info

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mercer")
def main() -> None:
    """Kernel machines: pick a similarity, get a model."""


main.add_command(demo)
main.add_command(info)

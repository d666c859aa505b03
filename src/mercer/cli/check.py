"""`mercer check`: whether an expression is a valid kernel."""

from __future__ import annotations

import click

from mercer.cli.config import check_there, encoding_option
from mercer.cli.spelling import rows_of_file
from mercer.cli.talk import told
from mercer.errors import DataFileError

__all__ = ["check"]


class Expression(click.Command):
    """A command whose argument may begin with a minus, which options do too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart, and say how such an expression is given."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(
                f"{error.format_message()} An expression that begins with - follows --: "
                "mercer check -- EXPR",
                ctx,
            ) from None


@click.command(cls=Expression)
@click.argument("expression", metavar="EXPR")
@click.option("--data", metavar="FILE", help="A table whose rows are tried as witnesses first.")
@encoding_option
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Designs of points to try where there is no proof.",
)
@told
def check(expression: str, data: str | None, encoding: str | None, trials: int) -> None:
    """Say whether EXPR is a positive semi-definite kernel.

    The answer is a proof, a witness against it, or that none was found; a refuted kernel ends with
    exit code 1.
    """
    if expression.endswith(".mercer"):
        raise click.UsageError(
            f"{expression} is the name of a model file; mercer info {expression} shows its kernel, "
            "and EXPR is a kernel such as 'gaussian(length_scale=2.0) + linear'"
        )
    check_there(data)
    from mercer.kernels import kernel

    k = kernel(expression)
    # What reads rows takes longer to be imported than an expression to be refused.
    from mercer.files.lines import SparseRows, opened_rows
    from mercer.kernels.columns import refuse_unknown
    from mercer.kernels.validity.proof import Status

    rows = None
    if data is not None:
        opened = opened_rows(data, encoding=encoding)
        rows = opened.X if isinstance(opened, SparseRows) else opened.read()
        try:
            refuse_unknown(k, rows)
        except ValueError as error:
            raise DataFileError(f"{data}: {error}") from None
    with rows_of_file(data or "", lambda row: row):
        found = k.check(rows, trials=trials)
    click.echo(str(found))
    if found.status == Status.REFUTED:
        raise click.exceptions.Exit(1)

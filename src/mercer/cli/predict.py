"""`mercer predict`: a saved model on the rows of a table."""

from __future__ import annotations

from typing import Any

import click

from mercer.cli.talk import phase, told

__all__ = ["predict"]

# Rows that are predicted and written at a time.
ROWS = 1 << 16


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", help="The file to write, CSV or Parquet.")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Add columns lower and upper of intervals of this coverage.",
)
@click.option("--proba", is_flag=True, help="Add a column with the probability of every class.")
@click.option("--keep", is_flag=True, help="Write the columns of DATA as well.")
@told
def predict(
    model: str, data: str, output: str | None, interval: float | None, proba: bool, keep: bool
) -> None:
    """Predict the rows of the table DATA with the model file MODEL, in their order.

    The result has the column prediction, and lower and upper or proba_CLASS where asked for. It is
    CSV on standard output unless a file is given.
    """
    import polars as pl

    from mercer.files import load
    from mercer.files.tables import read_table

    machine = load(model)
    if not hasattr(machine, "predict"):
        raise ValueError(f"{model} holds a {type(machine).__name__}, which predicts nothing")
    rows = read_table(data)
    parts = []
    with phase(f"predicting {rows.height} rows"):
        for start in range(0, rows.height, ROWS):
            some = rows[start : start + ROWS]
            found = pl.DataFrame(_columns(machine, some, interval, proba))
            taken = [name for name in found.columns if keep and name in some.columns]
            if taken:
                raise ValueError(
                    f"{data} has a column {taken[0]!r} already; predict without --keep"
                )
            found = some.hstack(found) if keep else found
            if output is None:
                click.echo(found.write_csv(include_header=start == 0), nl=False)
            else:
                parts.append(found)
    if output is not None:
        table = pl.concat(parts)
        is_parquet = output.endswith((".parquet", ".pq"))
        table.write_parquet(output) if is_parquet else table.write_csv(output)


def _columns(machine: Any, rows: Any, interval: float | None, proba: bool) -> dict[str, Any]:
    """Return what a model says of rows, by columns."""
    columns = {"prediction": machine.predict(rows)}
    if interval is not None:
        if not hasattr(machine, "predict_interval"):
            raise ValueError(f"--interval is for regression, and this is {type(machine).__name__}")
        lower, upper = machine.predict_interval(rows, interval)
        columns |= {"lower": lower, "upper": upper}
    if proba:
        if not hasattr(machine, "predict_proba"):
            raise ValueError(f"--proba is for classes, and this is {type(machine).__name__}")
        shares = machine.predict_proba(rows)
        columns |= {f"proba_{c}": shares[:, j] for j, c in enumerate(machine.classes_)}
    return columns

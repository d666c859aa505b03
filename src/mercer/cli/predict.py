"""`mercer predict`: a saved model on the rows of a table, block by block."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Literal

import click

from mercer.cli.config import check_there, config_option, encoding_option
from mercer.cli.spelling import rows_of_file
from mercer.cli.talk import note, phase, told

if TYPE_CHECKING:
    from mercer.cli.fitting.outside import FarRows
    from mercer.data.ranges import Unseen
    from mercer.files.form import Form
    from mercer.files.tables import Table
    from mercer.functions.texts import UnknownTexts

__all__ = ["predict"]

# What becomes of the columns of a table: a cell 007 of CSV is the number 7 that a model reads.
Kept = Literal["dropped", "as written", "as read"]
# Rows that are read, predicted and written at a time.
ROWS = 1 << 14


@click.command()
@click.argument("model")
@click.argument("data")
@config_option
@click.option(
    "-o", "--output", metavar="FILE", help="CSV, TSV, Parquet, Arrow or NDJSON by its ending."
)
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Add columns lower and upper, between which this share of the targets of rows like those "
    "of the training lies; of other rows it is less.",
)
@click.option("--proba", is_flag=True, help="Add a column with the probability of every class.")
@click.option("--keep", is_flag=True, help="Write the columns of DATA as well.")
@encoding_option
@told
def predict(
    model: str,
    data: str,
    output: str | None,
    interval: float | None,
    proba: bool,
    keep: bool,
    encoding: str | None,
) -> None:
    """Predict the rows of the table DATA with the model file MODEL, in their order.

    The result has the column prediction, and lower and upper or proba_CLASS where asked for. It is
    CSV on standard output unless a file is given. Rows are read, predicted and written in blocks,
    so that a table may be larger than memory; - is CSV from standard input.
    """
    if output is not None:
        from mercer.files.written import check_output

        check_output(output)
    check_there(model, data)
    from mercer.cli.fitting.outside import FarRows
    from mercer.data.ranges import Unseen
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.files.written import lines_writer, table_writer
    from mercer.functions.texts import UnknownTexts

    machine = load(model)
    _check_model(machine, model, interval, proba)
    form = form_of(machine)
    looks: list[Unseen | FarRows | UnknownTexts] = [Unseen(form.categories), FarRows(form.ranges)]
    if hasattr(machine, "function_"):
        looks.append(UnknownTexts(machine.function_))
    with nullcontext() if output is None else phase(f"predicting {_called(data)}"):
        table = _table(data, form, encoding)
        kept = _kept_as(keep, table, output)
        separator = _separator(data, table, output) if kept == "as written" else None
        blocks = _predicted(machine, data, table, interval, proba, kept, looks)
        if output is None:
            write = lines_writer(sys.stdout.buffer, "csv", separator)
            for block in blocks:
                write(block)
                sys.stdout.buffer.flush()
        else:
            with table_writer(output, separator) as write:
                for block in blocks:
                    write(block)
    # What is read as in the training rows was told of these.
    remarks = () if table is None else table.remarks
    said = [text for text in remarks if text not in form.remarks]
    for text in (*said, *(sentence for look in looks for sentence in look.sentences)):
        note(f"{_called(data)}, {text}")


def _table(data: str, form: Form, encoding: str | None) -> Table | None:
    """Return a file that has named columns and is no FASTA as a table."""
    from mercer.files.tables import check_encoding, format_of, table_of

    if format_of(data) in ("svmlight", "fasta"):
        check_encoding(data, encoding)
        return None
    return table_of(data, form, encoding)


def _called(data: str) -> str:
    return "standard input" if data == "-" else data


def _check_model(machine: Any, path: str, interval: float | None, proba: bool) -> None:
    """Refuse a model that does not predict what was asked for."""
    kind = type(machine).__name__
    if not hasattr(machine, "predict"):
        raise ValueError(f"{path} holds a {kind}, which predicts nothing; give a model")
    if interval is not None and not hasattr(machine, "predict_interval"):
        raise click.UsageError(
            f"--interval is for regression, and {path} holds a {kind}; use --proba"
        )
    if proba and not hasattr(machine, "predict_proba"):
        raise click.UsageError(f"--proba is for classes, and {path} holds a {kind}; use --interval")


def _kept_as(keep: bool, table: Table | None, output: str | None) -> Kept:
    """Return what becomes of the columns of a table in the result.

    Numbers with decimal commas are understood where ``;`` stands between cells, and nowhere else.
    """
    from mercer.files.tables import format_of

    if not keep:
        return "dropped"
    kind = format_of(output or "-")
    if table is None or table.text is None or kind not in ("csv", "tsv"):
        return "as read"
    return "as read" if table.text[1] == ";" and kind == "tsv" else "as written"


def _separator(data: str, table: Table | None, output: str | None) -> str | None:
    """Return what stands between cells of a result: of CSV made of CSV what does there."""
    from mercer.files.tables import format_of

    is_csv = {format_of(data), format_of(output or "-")} == {"csv"}
    return table.text[1] if is_csv and table is not None and table.text is not None else None


def _predicted(
    machine: Any,
    data: str,
    table: Table | None,
    interval: float | None,
    proba: bool,
    kept: Kept,
    looks: Sequence[Unseen | FarRows | UnknownTexts],
) -> Iterator[Any]:
    """Yield what a model says of a file, some rows at a time, after a look at these."""
    import polars as pl

    from mercer.cli.fitting.known import check_columns
    from mercer.cli.fitting.outside import without_row_warnings
    from mercer.data.columns import n_rows
    from mercer.errors import DataFileError
    from mercer.files.form import form_of
    from mercer.files.lines import row_blocks
    from mercer.files.written import decimal_commas, has_decimal_commas

    blocks: Iterator[tuple[Any, Any]]
    first, has_commas = 0, False
    if table is not None:
        check_columns(machine, table.names, _called(data))
    if table is None:
        # Of svmlight a block is the rows and their targets.
        read = row_blocks(data, ROWS, form_of(machine))
        blocks = ((X[0] if isinstance(X, tuple) else X,) * 2 for X in read)
    else:
        as_read = ((X, X) for X in table.blocks(rows=ROWS))
        blocks = table.blocks_as_written(ROWS) if kept == "as written" else as_read
    for X, cells in blocks:
        for look in looks:
            look.see(X)
        try:
            with without_row_warnings(), rows_of_file(data, partial(add, first)):
                found = pl.DataFrame(_columns(machine, X, interval, proba))
        except DataFileError:
            raise
        except ValueError as error:
            raise DataFileError(f"{_called(data)}: {error}") from None
        if kept == "as written":
            # The first rows decide, so that a column is written in one way.
            if first == 0:
                has_commas = _separator(data, table, None) == ";" and has_decimal_commas(X, cells)
            found = decimal_commas(found) if has_commas else found
        yield found if kept == "dropped" else _beside(cells, found, data)
        first += n_rows(X)
    if first == 0:
        raise DataFileError(f"{_called(data)} has no rows of data")


def _beside(X: Any, found: Any, data: str) -> Any:
    """Return the columns of a table with those that were found."""
    if not hasattr(X, "hstack"):
        raise ValueError(f"{data} is svmlight and has no columns to keep; predict without --keep")
    taken = [name for name in found.columns if name in X.columns]
    if taken:
        raise ValueError(
            f"{_called(data)} has a column {taken[0]!r} already; rename it, or predict without "
            "--keep"
        )
    return X.hstack(found)


def _columns(machine: Any, rows: Any, interval: float | None, proba: bool) -> dict[str, Any]:
    """Return what a model says of rows, by columns."""
    columns = {"prediction": machine.predict(rows)}
    if interval is not None:
        lower, upper = machine.predict_interval(rows, interval)
        columns |= {"lower": lower, "upper": upper}
    if proba:
        shares = machine.predict_proba(rows)
        columns |= {f"proba_{c}": shares[:, j] for j, c in enumerate(machine.classes_)}
    return columns

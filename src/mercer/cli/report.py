"""`mercer report`: a page about a saved model."""

from __future__ import annotations

import shlex

import click

from mercer.cli.talk import phase, told

__all__ = ["report"]


@click.command()
@click.argument("model")
@click.option("--data", required=True, metavar="FILE", help="Rows that it was not fitted to.")
@click.option("--target", metavar="COLUMN", help="The column that it predicts.")
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="PAGE", help="Where to."
)
@told
def report(model: str, data: str, target: str | None, output: str) -> None:
    """Write a page about the model file MODEL and how it does on the rows of a table."""
    from mercer.cli.fitting.data import MOST_TESTED, Roles, job_of
    from mercer.files import load
    from mercer.reports.page import report as page_of

    machine = load(model)
    if not hasattr(machine, "predict"):
        raise ValueError(f"{model} holds a {type(machine).__name__}; a report is about a model")
    task = "classification" if hasattr(machine, "classes_") else "regression"
    with phase(f"reading {data}"):
        job = job_of(data, Roles(target), task).in_memory(MOST_TESTED)
    options = ["--data", data, *(["--target", target] if target else []), "-o", output]
    with phase(f"writing {output}"):
        page_of(
            machine, job.X, job.y, output, command=shlex.join(["mercer", "report", model, *options])
        )
    click.echo(output)

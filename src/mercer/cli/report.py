"""`mercer report`: a page about a saved model."""

from __future__ import annotations

import click

from mercer.cli.talk import phase, told

__all__ = ["report"]


@click.command()
@click.argument("model")
@click.option("--data", required=True, help="A table of rows that the model was not fitted to.")
@click.option("--target", required=True, help="The column that it predicts.")
@click.option("-o", "--output", default="report.html", show_default=True, help="The page to write.")
@told
def report(model: str, data: str, target: str, output: str) -> None:
    """Write a page about the model file MODEL and how it does on the rows of a table."""
    from mercer.cli.data import job_of
    from mercer.files import load
    from mercer.files.tables import read_table
    from mercer.reports.page import report as page_of

    machine = load(model)
    task = "classification" if hasattr(machine, "classes_") else "regression"
    with phase(f"reading {data}"):
        job = job_of(read_table(data), data, target, task, None, None, (), "auto")
    with phase(f"writing {output}"):
        page_of(machine, job.X, job.y, output, command=f"mercer report {model} --data {data}")
    click.echo(output)

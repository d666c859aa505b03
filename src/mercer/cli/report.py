"""`mercer report`: a page about a saved model."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from mercer.cli.config import OfModel, check_there, encoding_option
from mercer.cli.talk import note, phase, told

if TYPE_CHECKING:
    from mercer.cli.fitting.data import Job

__all__ = ["report"]


@click.command(cls=OfModel)
@click.argument("model")
@click.option("--data", metavar="FILE", help="Rows that it was not fitted to, to test it on.")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column of these that it predicts, if it is not called as when it was fitted.",
)
@encoding_option
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="PAGE", help="Where to."
)
@told
def report(
    model: str, data: str | None, target: str | None, encoding: str | None, output: str
) -> None:
    """Write a page about the model file MODEL and, with --data, how it does on other rows."""
    if target is not None and data is None:
        raise click.UsageError("--target names a column of the rows to test on; give --data FILE")
    check_there(model, data)
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.reports.page import Source, cautions, facts_of, looking, page_of

    machine = load(model)
    if not hasattr(machine, "predict"):
        raise ValueError(f"{model} holds a {type(machine).__name__}; a report is about a model")
    rest = None if data is None else _held_out(machine, data, target, encoding)
    given = {"--data": data, "--target": target, "--encoding": encoding, "-o": output}
    options = [part for name, value in given.items() if value for part in (name, value)]
    command = shlex.join(["mercer", "report", model, *options])
    form = form_of(machine)
    source = Source(form.target or "", command, form.remarks)
    with phase(f"writing {output}"):
        facts = facts_of(machine) if rest is None else facts_of(machine, rest.X, rest.y)
        page_of(facts, source).save(output)
    if facts.tests is not None:
        from mercer.cli.fitting.result import tests_of
        from mercer.cli.fitting.screen import shown_tests

        with looking():
            found = {**tests_of(facts.tests), "warnings": cautions(facts)}
        click.echo(shown_tests(found), err=True)
    click.echo(output)


def _held_out(machine: Any, data: str, target: str | None, encoding: str | None) -> Job:
    """Return the rows of a file that a model is tested on, after what is to be said of them."""
    from mercer.cli.fitting.data import MOST_TESTED, Roles, job_of
    from mercer.cli.fitting.known import check_columns, known_of
    from mercer.cli.fitting.outside import FarRows
    from mercer.data.ranges import Unseen

    known = known_of(machine)
    with phase(f"reading {data}"):
        roles = Roles(target or known.form.target)
        job = job_of(data, roles, like=known, encoding=encoding).in_memory(MOST_TESTED)
    if hasattr(job.X, "columns"):
        check_columns(machine, job.X.columns, data)
    for text in job.notes:
        note(text)
    for seen in (Unseen(known.form.categories), FarRows(known.form.ranges)):
        seen.see(job.X)
        for text in seen.sentences:
            note(f"{data}, {text}")
    return job

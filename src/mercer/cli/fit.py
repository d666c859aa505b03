"""`mercer fit`: from a table to a tested model in a file."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from mercer.cli.talk import phase, table, told

__all__ = ["fit"]


def _configured(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Read options from a file; what is given on the line counts more."""
    if path is None:
        return
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path}: {error}") from None
    known = {opt.lstrip("-"): p.name for p in ctx.command.params for opt in p.opts}
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise click.BadParameter(f"{path} has the option {unknown[0]!r}, which fit does not have")
    given = {str(known[key]): value for key, value in settings.items()}
    ctx.default_map = {**(ctx.default_map or {}), **given}


@click.command()
@click.argument("data")
@click.option(
    "--config",
    callback=_configured,
    is_eager=True,
    expose_value=False,
    help="Options from a TOML file; those on the line count more.",
)
@click.option("--target", required=True, help="The column to predict.")
@click.option("--task", type=click.Choice(["auto", "regression", "classification"]), default="auto")
@click.option("--kernel", help="An expression such as 'gaussian(2.0).on(age) + match.on(site)'.")
@click.option("--alpha", type=float, help="The ridge of a regression; chosen if it is left out.")
@click.option("--C", "C", type=float, help="The C of a classification; chosen if it is left out.")
@click.option("--select", default="loo", help="How to choose: loo, gcv, or a number of folds.")
@click.option(
    "--test",
    "share",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="The share of rows that is held out.",
)
@click.option("--test-data", help="A table of rows to test on, instead of a share.")
@click.option("--weights", help="A column of weights of the rows.")
@click.option("--groups", help="A column; rows of a group are held out together.")
@click.option("--drop", multiple=True, help="A column to leave out; may be given several times.")
@click.option("--missing", type=click.Choice(["auto", "refuse", "drop"]), default="auto")
@click.option("-o", "--output", help="Where the model goes, by custom with the ending .mercer.")
@click.option("--report", help="A page to write about the model and the held-out rows.")
@click.option("--memory", help="The limit of memory, such as 4GB.")
@click.option("--time-limit", type=float, help="The limit of time in seconds.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the split.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@told
def fit(
    data: str, target: str, task: str, as_json: bool, output: str | None, **options: Any
) -> None:
    """Fit a model to the table DATA, test it on held-out rows and save it.

    DATA is CSV, TSV, Parquet, Arrow, NDJSON, svmlight or FASTA; - is CSV from standard input.
    """
    from mercer.cli.data import job_of, split
    from mercer.cli.trained import tested, trained
    from mercer.files import save
    from mercer.files.tables import read_table

    columns = (options["weights"], options["groups"], options["drop"], options["missing"])
    with phase(f"reading {data}"):
        job = job_of(read_table(data), data, target, task, *columns)
        if options["test_data"] is None:
            train, test = (
                job.part(index) for index in split(job, options["share"], options["seed"])
            )
        else:
            other = read_table(options["test_data"])
            chosen = "classification" if job.is_classes else "regression"
            train, test = job, job_of(other, options["test_data"], target, chosen, *columns)
    for note in job.notes:
        click.echo(note, err=True)
    with phase(f"fitting to {len(train.y)} rows"):
        model = trained(train, options)
    with phase(f"testing on {len(test.y)} rows"):
        result = tested(model, train, test)
    if output is not None:
        save(model, output)
        result["model file"] = output
    if options["report"] is not None:
        from mercer.reports.page import report

        with phase(f"writing {options['report']}"):
            report(model, test.X, test.y, options["report"], command=_command())
        result["report"] = options["report"]
    click.echo(json.dumps(result, default=str) if as_json else table(_shown(result)))


def _command() -> str:
    """Return the line that was typed."""
    return shlex.join(["mercer", *sys.argv[1:]])


def _shown(result: dict[str, Any]) -> dict[str, str]:
    """Return a result as texts."""
    return {label: _text(value) for label, value in result.items()}


def _text(value: Any) -> str:
    if isinstance(value, dict) and "value" in value:
        better = "better than" if value["beats_baseline"] else "not surely better than"
        return (
            f"{value['value']:.4g} (95 %: {value['low']:.4g} to {value['high']:.4g}), "
            f"{better} {value['baseline']:.4g} of the baseline"
        )
    return str(value)

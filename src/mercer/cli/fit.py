"""`mercer fit`: from a table to a tested model in a file."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from mercer.cli.config import check_there, config_option, encoding_option
from mercer.cli.spelling import rows_of_file
from mercer.cli.talk import note, phase, told

if TYPE_CHECKING:
    from mercer.kernels import Kernel

__all__ = ["fit"]

# Bytes that the command holds beside the library: polars with its threads, and what makes reports.
COMMAND = 130 * 10**6


@click.command()
@click.argument("data")
@config_option
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option(
    "--task",
    type=click.Choice(["auto", "regression", "classification"]),
    default="auto",
    show_default=True,
    help="auto takes text, truth values and up to 10 distinct whole numbers for classes.",
)
@click.option(
    "--kernel",
    multiple=True,
    metavar="EXPR",
    help="An expression such as 'gaussian(2.0).on(age) + match.on(site)'; chosen if left out. Of "
    "several the best is taken, or with an --alpha for each their mean.",
)
@click.option(
    "--alpha", type=float, multiple=True, help="The ridge of least squares; chosen if left out."
)
@click.option(
    "--share", type=float, multiple=True, help="The weight of a kernel in a mean of several."
)
@click.option("--C", "C", type=float, help="The C of a logistic regression; chosen if left out.")
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Weigh every class alike, however few rows it has.",
)
@click.option(
    "--select",
    metavar="loo|gcv|K",
    help="How alpha or C is chosen for one kernel: by leave-one-out, by generalised "
    "cross-validation, or by K folds.",
)
@click.option(
    "--test",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    metavar="FRACTION",
    help="The share of rows that is held out.",
)
@click.option(
    "--test-split",
    type=click.Choice(["auto", "random", "time"]),
    default="auto",
    show_default=True,
    help="Which rows are held out: random ones, or the last ones in time; auto takes the last ones "
    "where a column of dates or times is the order of the rows.",
)
@click.option("--time", metavar="COLUMN", help="The dates or times that --test-split time goes by.")
@click.option("--test-data", metavar="FILE", help="Rows to test on, instead of a share.")
@click.option("--weights", metavar="COLUMN", help="Weights of the rows.")
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Rows of a group are held out together, for the test and when kernels are chosen.",
)
@click.option(
    "--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out, with commas between."
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMNS",
    help="Columns to learn from though they look like identifiers, which are left out.",
)
@click.option(
    "--missing",
    type=click.Choice(["auto", "impute", "refuse", "drop"]),
    default="auto",
    show_default=True,
    help="Missing cells: auto puts a number at its mean and marks that it was missing, and makes a "
    "category of its own, and a --kernel says what it does; impute has any --kernel do so, without "
    "the mark; refuse ends with the column; drop leaves rows out that miss what is learned from.",
)
@encoding_option
@click.option("-o", "--output", metavar="MODEL", help="Where the model goes, such as m.mercer.")
@click.option("--report", metavar="PAGE", help="A page to write about the model, such as m.html.")
@click.option("--memory", metavar="SIZE", help="The limit of memory, such as 4GB.")
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="The limit of time: the fit has what reading, test and report leave of it.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the split and samples.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@told
def fit(
    data: str,
    target: str | None,
    task: str,
    test: float,
    test_data: str | None,
    output: str | None,
    report: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit a model to the table DATA, test it on held-out rows and save it.

    DATA is CSV, TSV, Parquet, Arrow, NDJSON, svmlight or FASTA by its ending; - is CSV from
    standard input. Without --kernel, --alpha, --C and --select the automatic machine tries
    families of kernels and learns their scales.
    """
    _check_usage(options)
    _check_split(options, test_data)
    check_there(data, test_data)
    _check_target(data, target)
    _check_memory(options["memory"])
    _keep_little(options["memory"])
    for path in (output, report):
        _check_folder(path)
    kernels = _kernels(options["kernel"])
    from mercer.cli.fitting.clock import left_for_fit
    from mercer.cli.fitting.data import MOST_TESTED, Roles, job_of, without_text_warnings
    from mercer.cli.fitting.identifiers import remarks_on_identifiers
    from mercer.cli.fitting.outside import (
        FarRows,
        levels_of,
        ranges_of,
        read_ranges,
        without_row_warnings,
    )
    from mercer.cli.fitting.result import check_classes, result_of
    from mercer.cli.fitting.screen import shown
    from mercer.cli.fitting.script import script_of
    from mercer.cli.fitting.split import Split, split
    from mercer.cli.fitting.trained import Choice, keep_limits
    from mercer.data.limits.memory import room_of, warn_of_limit
    from mercer.data.ranges import Unseen
    from mercer.data.stream import some_rows
    from mercer.files import save
    from mercer.files.form import keep_form
    from mercer.kernels.tables.imputed import imputed
    from mercer.reports.held_out import inside
    from mercer.reports.page import Source, cautions, facts_of, looking, page_of

    roles = Roles(
        target,
        options["weights"],
        options["groups"],
        options["drop"],
        options["keep"],
        options["missing"],
        options["time"],
        options["test_split"] == "time",
        kernels,
    )
    memory, seed, limit = options["memory"], options["seed"], options["time_limit"]
    encoding = options["encoding"]
    began = perf_counter()
    with phase(f"reading {data}"):
        if test_data is None:
            # Nobody keeps all rows beside these parts: the targets of millions take memory.
            job = job_of(data, roles, task, memory, encoding=encoding)
            by = "time" if options["time"] else options["test_split"]
            found = split(job, test, seed, by)
            del job
        else:
            train = job_of(data, roles, task, memory, encoding=encoding)
            rest = job_of(test_data, roles, "auto", memory, train.known, encoding)
            rest = rest.in_memory(MOST_TESTED, seed)
            found = Split(train, rest, "file", f"rows of {test_data}")
        ranges = ranges_of(found.train)
    train, rest = found.train, found.test
    for text in (*train.notes, *found.notes):
        note(text)
    _check_task(options, train.is_classes)
    if options["missing"] == "impute":
        some = some_rows(train.X)
        kernels = tuple(k if isinstance(k, str) else imputed(k, some) for k in kernels)
    if limit is not None:
        limit = left_for_fit(limit, perf_counter() - began, len(rest), report is not None)
        if limit < options["time_limit"]:
            whole = f"--time-limit {options['time_limit']:g}"
            note(f"the fit has {limit:g} s of {whole}: the rest is for reading and testing")
    held = COMMAND + train.nbytes + rest.nbytes
    room = room_of(memory, held)
    warn_of_limit(memory, held)
    choice = Choice(
        kernels,
        options["alpha"],
        options["share"],
        options["C"],
        options["select"],
        options["class_weight"],
        room,
        limit,
        seed,
    )
    file_rows = rows_of_file(data, lambda row: int(train.rows[row]))
    with phase(f"fitting to {len(train)} rows"), without_text_warnings(), file_rows:
        model, judge = choice.trained(train)
        kernel = inside(model).kernel_
        levels, ranges = levels_of(train, kernel), read_ranges(ranges, train, kernel)
        is_grouped, is_given = train.groups is not None, bool(kernels)
        identifiers = remarks_on_identifiers(train.X, kernel, is_grouped, is_given)
        form = replace(
            train.form,
            target=train.target,
            categories=levels,
            ranges=ranges,
            remarks=(*train.form.remarks, *identifiers),
        )
        keep_form(model, form)
        keep_limits(model, memory, options["time_limit"])
    for text in identifiers:
        note(text)
    for look in (Unseen(levels), FarRows(ranges)):
        look.see(rest.X)
        for text in look.sentences:
            note(f"held-out rows, {text}")
    file_rows = rows_of_file(rest.path, lambda row: int(rest.rows[row]))
    told = without_text_warnings()
    with phase(f"testing on {len(rest)} rows"), without_row_warnings(), told, file_rows:
        check_classes(model, rest)
        facts = facts_of(model, rest.X, rest.y, rest.weights)
        with looking():
            result = result_of(facts, judge, found, is_given)
            result["warnings"] = [*cautions(facts), *found.cautions]
    if output is not None:
        save(model, output)
        result["model file"] = output
    if report is not None:
        named = (options["weights"], options["groups"], encoding)
        script = script_of(found, *named, test, seed)
        about = (train.rows + 1, found.words, found.cautions, script)
        source = Source(train.target, _command(), form.remarks, *about)
        with phase(f"writing {report}"), without_row_warnings():
            page_of(facts, source).save(report)
        result["report"] = report
    if output is None and not as_json:
        note("the model was not saved; -o MODEL.mercer does it")
    click.echo(json.dumps(result) if as_json else shown(result))


def _check_usage(options: dict[str, Any]) -> None:
    """Refuse options that exclude each other, before anything is read."""
    kernels, shares = (len(options[name]) for name in ("kernel", "share"))
    alphas = options["alpha"]
    if kernels and options["keep"]:
        raise click.UsageError("--keep is for a kernel that is chosen; name the column in --kernel")
    if alphas and options["C"] is not None:
        raise click.UsageError(
            "--alpha is for least squares and --C for a logistic regression; give one"
        )
    if options["select"] is not None and (alphas or options["C"] is not None):
        raise click.UsageError("--select chooses what --alpha or --C states; give one of them")
    if alphas and len(alphas) != max(kernels, 1):
        raise click.UsageError(
            f"give an --alpha for each --kernel; got {len(alphas)} for {kernels}"
        )
    if shares and not shares == kernels == len(alphas):
        raise click.UsageError("a --share is the weight of a --kernel with its --alpha in a mean")
    if options["C"] is not None and kernels > 1:
        raise click.UsageError(
            f"--C is for one --kernel, got {kernels}; --alpha for each is a mean"
        )
    for alpha in alphas:
        if not 0.0 <= alpha < math.inf:
            raise click.UsageError(f"--alpha must be finite and not negative, got {alpha:g}")
    if options["C"] is not None and not 0.0 < options["C"] < math.inf:
        raise click.UsageError(f"--C must be finite and above 0, got {options['C']:g}")
    limit = options["time_limit"]
    if limit is not None and not 0.0 < limit < math.inf:
        raise click.UsageError(f"--time-limit must be seconds above 0, got {limit:g}")
    select = options["select"] or "loo"
    if select not in ("loo", "gcv") and not (select.isdecimal() and int(select) >= 2):
        raise click.UsageError(
            f"--select must be loo, gcv or a number of folds of at least 2, got {select!r}"
        )


def _check_split(options: dict[str, Any], test_data: str | None) -> None:
    """Refuse options of how rows are held out that exclude each other."""
    is_timed = options["time"] is not None or options["test_split"] == "time"
    if options["time"] is not None and options["test_split"] == "random":
        raise click.UsageError("--time is for --test-split time, and random ones are asked for")
    source = click.get_current_context().get_parameter_source("test")
    if test_data is not None and source is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--test is the share to test on and --test-data its rows; give one")
    if test_data is not None and (is_timed or options["test_split"] == "random"):
        raise click.UsageError("--test-data has the rows to test on; leave --test-split out")
    if options["groups"] is not None and is_timed:
        raise click.UsageError("--groups holds out whole groups, and not the last rows; give one")


def _kernels(texts: Sequence[str]) -> tuple[Kernel | str, ...]:
    """Return the kernels that are given, before anything is read; "auto" is left to the rows."""
    if not texts:
        return ()
    from mercer.kernels.language.names import as_kernel, is_auto

    return tuple("auto" if is_auto(text) else as_kernel(text) for text in texts)


def _check_target(data: str, target: str | None) -> None:
    """Refuse a table without a target before it is read; only svmlight says what it is."""
    endings = (".svm", ".svmlight", ".libsvm")
    if target is None and not data.lower().removesuffix(".gz").endswith(endings):
        raise click.UsageError(f"say which column of {data} to predict: --target COLUMN")


def _check_memory(memory: str | None) -> None:
    """Refuse what is no limit, or has no unit and is little: gigabytes will have been meant."""
    from mercer.data.limits.memory import memory_limit

    try:
        memory_limit(memory)
    except ValueError:
        raise click.UsageError(
            f"--memory must be a size such as 512MB or 4GB, got {memory!r}"
        ) from None
    # Bytes in which nothing is fitted.
    least = 10**6
    is_bare = memory is not None and memory.strip().replace(".", "", 1).isdecimal()
    if is_bare and float(memory or 0) < least:
        raise click.UsageError(f"--memory {memory} is {memory} bytes; is {memory}GB meant?")


def _keep_little(memory: str | None) -> None:
    """Have the allocator of polars give back soon what tables were read with.

    It looks at this variable when polars is imported. At once would make reading take several times
    as long.
    """
    if memory is not None:
        soon = "dirty_decay_ms:500,muzzy_decay_ms:0,background_thread:true"
        os.environ.setdefault("_RJEM_MALLOC_CONF", soon)


def _check_folder(path: str | None) -> None:
    """Refuse a file that has no place, before the time is spent that it takes to make it."""
    from mercer.data.replaced import check_replaceable

    if path is None:
        return
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise ValueError(
            f"{path} cannot be written: there is no folder {target.parent}; make it first"
        )
    try:
        check_replaceable(target)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None


def _check_task(options: dict[str, Any], is_classes: bool) -> None:
    """Refuse what is for classes where the target is numbers."""
    for name, instead in (("C", "use --alpha"), ("class_weight", "use --weights COLUMN")):
        if options[name] is not None and not is_classes:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is not for a regression; {instead}")


def _command() -> str:
    """Return the line that was typed."""
    return shlex.join(["mercer", *sys.argv[1:]])

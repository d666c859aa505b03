"""`mercer demo`: the main job end to end, on real data that travels with the package."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mercer.cli.talk import heading, note, told

__all__ = ["demo"]

# The time limit of the fit.
SECONDS = 20


@click.command()
@click.option(
    "--folder",
    default="mercer-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where data, model, report and predictions go.",
)
@click.option(
    "--time-limit",
    type=float,
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="The limit of time for the fit.",
)
@click.pass_context
@told
def demo(ctx: click.Context, folder: str, time_limit: float) -> None:
    """Fit, test and report a model of aqueous solubility, and predict with it.

    The data are 3000 substances of AqSolDB, with 17 descriptors of each molecule and its
    structure as text. Every command that runs is printed, to be tried on a table of your own.
    """
    from mercer.cli.fit import fit
    from mercer.cli.predict import predict

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    known, new = str(place / "solubility.csv"), str(place / "new.csv")
    _write(known, new)
    model, page = str(place / "solubility.mercer"), str(place / "report.html")
    found = str(place / "predicted.csv")
    settings = ["--target", "solubility", "--drop", "smiles", "--time-limit", f"{time_limit:g}"]
    _run(ctx, fit, [known, *settings, "-o", model, "--report", page])
    click.echo()
    _run(ctx, predict, [model, new, "--interval", "0.9", "--keep", "-o", found])
    click.echo()
    click.echo(_comparison(found))
    click.echo(f"\n{heading('the report is')} {Path(page).resolve()}; open it in a browser")


def _run(ctx: click.Context, command: click.Command, arguments: list[str]) -> None:
    """Run a command as if it were typed, and show it."""
    note(heading(f"$ mercer {command.name} {shlex.join(arguments)}"))
    with command.make_context(command.name, list(arguments), parent=ctx) as inner:
        command.invoke(inner)


def _write(known: str, new: str) -> None:
    """Write the bundled data to two files: what is known, and rows to predict."""
    import numpy as np

    from mercer.data.samples import load_solubility
    from mercer.files.tables import polars

    pl, data = polars(), load_solubility()
    columns = dict(zip(data.names, data.X.T, strict=True))
    table = pl.DataFrame({"smiles": data.smiles, **columns, "solubility": data.y})
    order = np.random.default_rng(0).permutation(len(data.y)).tolist()
    # Rows that are kept back to be predicted, as if they were new.
    new_rows = 500
    table[order[new_rows:]].write_csv(known)
    table[order[:new_rows]].write_csv(new)


def _comparison(path: str) -> str:
    """Return how predictions of new rows compare with what was measured."""
    import numpy as np

    from mercer.files.tables import polars

    found = polars().read_csv(path)
    measured, predicted = found["solubility"].to_numpy(), found["prediction"].to_numpy()
    low, high = found["lower"].to_numpy(), found["upper"].to_numpy()
    error = float(np.sqrt(np.mean((measured - predicted) ** 2)))
    spread = float(measured.std())
    inside = float(np.mean((low <= measured) & (measured <= high)))
    return (
        f"{len(measured)} new substances: off by {error:.2f} in log10 mol/l (their mean is off by "
        f"{spread:.2f}), and {inside:.0%} of them lie in their intervals of 90%"
    )

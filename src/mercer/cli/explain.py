"""`mercer explain`: what a saved model has learned, as a table."""

from __future__ import annotations

import json
import math
import shutil
import sys
from typing import Any

import click

from mercer.cli.config import OfModel, check_there
from mercer.cli.talk import told

__all__ = ["explain"]


@click.command(cls=OfModel)
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
@told
def explain(model: str, as_json: bool) -> None:
    """Say what the model file MODEL has learned: what matters, how much and in which direction."""
    check_there(model)
    import mercer

    found = mercer.explain(mercer.load(model))
    if as_json:
        rows = [{name: _plain(v) for name, v in row._asdict().items()} for row in found]
        click.echo(json.dumps(rows))
    else:
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        click.echo(found.to_text(room))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as Python's, and no NaN."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)

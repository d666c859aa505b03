"""`mercer info`: what runs here, for bug reports and for the curious."""

from __future__ import annotations

import json
from typing import Any

import click

from mercer import __version__
from mercer.cli.config import check_there
from mercer.cli.talk import pairs, quoted, told

__all__ = ["engine_line", "info"]

# The models that `mercer fit` makes.
FITTED = (
    "KernelRidge",
    "KernelRidgeMean",
    "KernelRidgeClassifier",
    "KernelRidgeMeanClassifier",
    "KernelLogisticRegression",
)


@click.command()
@click.argument("model", required=False)
@click.option(
    "--exact",
    is_flag=True,
    help="Print the kernel of MODEL with every number, also those that a fit takes from the rows.",
)
@click.option(
    "--options",
    is_flag=True,
    help="Print the kernel and its penalty as a file for mercer fit DATA --config FILE.",
)
@told
def info(model: str | None, exact: bool, options: bool) -> None:
    """Print version, engine, threads and memory; or what is in the file MODEL."""
    if (exact or options) and model is None:
        raise click.UsageError("--exact and --options are about a model file; give MODEL")
    check_there(model)
    if model is None:
        click.echo(pairs(_here()))
    else:
        click.echo(_options(model, exact) if options else pairs(_inside(model, exact)))


def _inside(path: str, exact: bool) -> dict[str, str]:
    """Return what a model file holds, with the kernel in few digits or exactly."""
    from pathlib import Path

    from mercer.data.columns import n_rows
    from mercer.data.memory import gigabytes
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.kernels import Kernel
    from mercer.kernels.language.editable import editable
    from mercer.reports.held_out import inside

    model = load(path)
    lines = {"file": f"{path}, {gigabytes(Path(path).stat().st_size)}"}
    if isinstance(model, Kernel):
        return lines | {"kernel": str(model if exact else editable(model))}
    inner = inside(model)
    lines["model"] = type(inner).__name__
    if hasattr(inner, "kernel_"):
        lines |= _kernel(inner, exact)
    target = form_of(model).target
    if target is not None:
        lines["predicts"] = target
    if hasattr(inner, "classes_"):
        lines["classes"] = ", ".join(map(str, inner.classes_[:20]))
    names = getattr(inner, "feature_names_in_", None)
    if names is not None:
        lines["columns"] = ", ".join(map(str, names))
    dual = getattr(getattr(inner, "function_", None), "dual", None)
    if dual is not None:
        lines["holds"] = f"{n_rows(dual.rows)} training rows: whoever has the file can read them"
    if hasattr(inner, "certificate_"):
        lines["certificate"] = str(inner.certificate_)
    return lines


def _kernel(model: Any, exact: bool) -> dict[str, str]:
    """Return what a model compares rows by, and its kernels, to be given back."""
    from mercer.kernels.language.outline import outline
    from mercer.reports.recipe import recipe_of

    lines = {"compares": outline(model.kernel_)}
    parts = recipe_of(model, None if exact else 4)
    if parts[0].share is None:
        return lines | {"kernel": str(model.kernel_ if exact else parts[0].kernel)}
    for i, part in enumerate(parts, 1):
        lines[f"kernel {i}"] = f"{part.share:.2f} of {quoted(str(part.kernel))}"
    return lines


def _options(path: str, exact: bool) -> str:
    """Return the options of `mercer fit` that make a model again, as TOML."""
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.reports.held_out import inside
    from mercer.reports.recipe import recipe_of

    model = load(path)
    inner = inside(model)
    if type(inner).__name__ not in FITTED:
        raise ValueError(f"{path} holds a {type(inner).__name__}, which mercer fit does not make")
    parts = recipe_of(inner, None if exact else 4)
    kind = "classification" if hasattr(inner, "classes_") else "regression"
    given: dict[str, Any] = {"target": form_of(model).target, "task": kind}
    given["class-weight"] = getattr(inner, "class_weight", None)
    given |= {name: [part.penalties[name] for part in parts] for name in parts[0].penalties}
    given["share"] = [part.share for part in parts if part.share is not None]
    given["kernel"] = [str(part.kernel) for part in parts]
    lines = [f"{name} = {_toml(value)}" for name, value in given.items() if value]
    return "\n".join([f"# The model of {path}: mercer fit DATA --config FILE", "[fit]", *lines])


def _toml(value: Any) -> str:
    """Return a text, a number or a list of them as TOML has it, a line for each of several."""
    if isinstance(value, list):
        values = [_toml(each) for each in value]
        return values[0] if len(values) == 1 else "[\n  " + ",\n  ".join(values) + ",\n]"
    # TOML spells texts in quotes as JSON does.
    return json.dumps(value, ensure_ascii=False)


def _here() -> dict[str, str]:
    """Return what runs on this machine."""
    import platform
    from importlib.metadata import version

    from mercer.data.memory import available_bytes, gigabytes
    from mercer.native import describe

    engine = describe()
    libraries = ("numpy", "scipy", "scikit-learn")
    return {
        "mercer": __version__,
        "engine": engine_line(engine),
        "threads": str(engine["threads"]),
        "memory": f"{gigabytes(available_bytes())} available",
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in libraries),
    }


def engine_line(engine: dict[str, Any]) -> str:
    """Say in a few words which engine runs.

    Parameters
    ----------
    engine : dict
        The answer of ``mercer.native.describe()``.
    """
    if engine["engine"] != "native":
        return "NumPy"
    level = engine["cpu"]
    return "native" if level in (None, "plain") else f"native, x86-64-{level}"

"""`mercer info`: what runs here, for bug reports and for the curious."""

from __future__ import annotations

from typing import Any

import click

from mercer import __version__
from mercer.cli.talk import pairs, quoted, told

__all__ = ["engine_line", "info"]


@click.command()
@click.argument("model", required=False)
@click.option(
    "--exact",
    is_flag=True,
    help="Print the kernel of MODEL with every number, also those that a fit takes from the rows.",
)
@told
def info(model: str | None, exact: bool) -> None:
    """Print version, engine, threads and memory; or what is in the file MODEL."""
    if exact and model is None:
        raise click.UsageError("--exact is about the kernel in a model file; give MODEL")
    lines = _here() if model is None else _inside(model, exact)
    click.echo(pairs(lines))


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
    from mercer.estimators import KernelRidgeMean
    from mercer.kernels.language.editable import editable
    from mercer.kernels.language.outline import outline

    def text(kernel: Any) -> str:
        return str(kernel if exact else editable(kernel))

    lines = {"compares": outline(model.kernel_)}
    ridge = getattr(model, "estimator_", model)
    if not isinstance(ridge, KernelRidgeMean):
        return lines | {"kernel": text(model.kernel_)}
    for i, (v, fit) in enumerate(zip(ridge.function_.weights, ridge.estimators_, strict=True), 1):
        alpha = f"{fit.alpha:.17g}" if exact else f"{fit.alpha:.4g}"
        lines[f"kernel {i}"] = f"{v:.2f} of --alpha {alpha} --kernel {quoted(text(fit.kernel_))}"
    return lines


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

"""`mercer info`: what runs here, for bug reports and for the curious."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import click

from mercer import __version__
from mercer.cli.config import check_there
from mercer.cli.talk import note, pairs, quoted, told

__all__ = ["engine_line", "info"]

# The models that `mercer fit` makes, and others, in plain words.
FITTED = {
    "KernelRidge": "a kernel ridge regression",
    "KernelRidgeMean": "a mean of kernel ridge regressions",
    "KernelRidgeClassifier": "a kernel ridge classification",
    "KernelRidgeMeanClassifier": "a mean of kernel ridge classifications",
    "KernelLogisticRegression": "a kernel logistic regression",
}
OTHERS = {
    "KernelSVC": "a support vector machine",
    "KernelSVR": "a support vector regression",
    "KernelPerceptron": "a kernel perceptron",
    "KernelPCA": "principal components of a kernel",
}


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
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@told
def info(model: str | None, exact: bool, options: bool, as_json: bool) -> None:
    """Print version, engine, threads and memory; or what is in the file MODEL."""
    if (exact or options) and model is None:
        raise click.UsageError("--exact and --options are about a model file; give MODEL")
    if options and as_json:
        raise click.UsageError("--options prints TOML and --json prints JSON; give one of them")
    check_there(model)
    if options and model is not None:
        click.echo(_options(model))
        return
    found = _here() if model is None else _inside(model, exact)
    if as_json:
        click.echo(json.dumps({label: str(value) for label, value in found.items()}))
        return
    if exact:
        click.echo(pairs(found))
        return
    from mercer.kernels.language.brief import is_shortened

    kernels = {label: v.in_terms for label, v in found.items() if isinstance(v, Compared)}
    click.echo(pairs(found | kernels))
    if any(map(is_shortened, kernels.values())):
        note("long lists of numbers and columns are counted; --exact or --json writes them out")


class Compared(NamedTuple):
    """What a model compares rows by: a kernel, with its weight where it is one of several."""

    kernel: Any
    share: float | None = None

    def __str__(self) -> str:
        text = str(self.kernel)
        return text if self.share is None else f"{self.share:.2f} of {quoted(text)}"

    @property
    def in_terms(self) -> str:
        """The kernel at a glance, see `by_terms`."""
        from mercer.kernels.language.outline import by_terms

        text = by_terms(self.kernel)
        if text == str(self.kernel):
            return str(self)
        return text if self.share is None else f"{self.share:.2f} of {text}"


def _inside(path: str, exact: bool) -> dict[str, Any]:
    """Return what a model file holds, with kernels in few digits or exactly."""
    from pathlib import Path

    from mercer.data.columns import n_rows
    from mercer.data.limits.memory import gigabytes
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.kernels import Kernel
    from mercer.kernels.language.editable import editable
    from mercer.reports.held_out import inside

    model = load(path)
    lines: dict[str, Any] = {"file": f"{path}, {gigabytes(Path(path).stat().st_size)}"}
    if isinstance(model, Kernel):
        return lines | {"kernel": Compared(model if exact else editable(model))}
    inner = inside(model)
    lines["model"] = _called(model, inner)
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
    limits = _limits(inner)
    if limits:
        lines["limits"] = " ".join(f"--{name} {value}" for name, value in limits.items())
    if hasattr(inner, "certificate_"):
        lines["certificate"] = str(inner.certificate_)
    return lines


def _called(model: Any, inner: Any) -> str:
    """Return the class of a model, and in plain words what it is, or what it has chosen."""
    name, words = type(model).__name__, (FITTED | OTHERS).get(type(inner).__name__)
    if words is None:
        return name
    return f"{name}, {words}" if inner is model else f"{name}, which has chosen {words}"


def _kernel(model: Any, exact: bool) -> dict[str, Any]:
    """Return what a model compares rows by, and its kernels, to be given back."""
    from mercer.kernels.language.outline import outline
    from mercer.reports.recipe import recipe_of

    lines: dict[str, Any] = {"compares": outline(model.kernel_)}
    parts = recipe_of(model, None if exact else 4)
    if parts[0].share is None:
        return lines | {"kernel": Compared(model.kernel_ if exact else parts[0].kernel)}
    for i, part in enumerate(parts, 1):
        lines[f"kernel {i}"] = Compared(part.kernel, part.share)
    return lines


def _options(path: str) -> str:
    """Return the options of `mercer fit` that make a model again, with every digit, as TOML."""
    from mercer.files import load
    from mercer.files.form import form_of
    from mercer.reports.held_out import inside
    from mercer.reports.recipe import recipe_of

    model = load(path)
    inner = inside(model)
    if type(inner).__name__ not in FITTED:
        raise ValueError(f"{path} holds a {type(model).__name__}, which mercer fit does not make")
    parts = recipe_of(inner, None)
    kind = "classification" if hasattr(inner, "classes_") else "regression"
    given: dict[str, Any] = {"target": form_of(model).target, "task": kind}
    given["class-weight"] = getattr(inner, "class_weight", None)
    given |= {name: [part.penalties[name] for part in parts] for name in parts[0].penalties}
    given["share"] = [part.share for part in parts if part.share is not None]
    given |= _limits(inner)
    given["kernel"] = [str(part.kernel) for part in parts]
    lines = [f"{name} = {_toml(value)}" for name, value in given.items() if value]
    return "\n".join([f"# The model of {path}: mercer fit DATA --config FILE", "[fit]", *lines])


def _limits(model: Any) -> dict[str, Any]:
    """Return the limits of memory and time that a model was given, by the options' names."""
    memory, seconds = (getattr(model, name, None) for name in ("memory", "time_limit"))
    given = {"memory": memory, "time-limit": seconds}
    if isinstance(seconds, float) and seconds.is_integer():
        given["time-limit"] = int(seconds)
    return {name: value for name, value in given.items() if value is not None}


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

    from mercer.data.limits.memory import available_bytes, gigabytes
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

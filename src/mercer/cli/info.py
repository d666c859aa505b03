"""`mercer info`: what runs here, for bug reports and for the curious."""

from typing import Any

import click

from mercer import __version__

__all__ = ["engine_line", "info"]


@click.command()
def info() -> None:
    """Print version, engine, threads and memory."""
    import platform
    from importlib.metadata import version

    from mercer.data.memory import available_bytes, gigabytes
    from mercer.native import describe

    engine = describe()
    libraries = ("numpy", "scipy", "scikit-learn")
    lines = {
        "mercer": __version__,
        "engine": engine_line(engine),
        "threads": str(engine["threads"]),
        "memory": f"{gigabytes(available_bytes())} available",
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in libraries),
    }
    for label, text in lines.items():
        click.echo(f"{label:<10} {text}")


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

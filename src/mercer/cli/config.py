"""What commands share: a file of options, how bytes are text, and what is known of their files."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mercer.errors import DataFileError


class OfModel(click.Command):
    """A command on a model file, which says where rows belong that are named after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart, and say how rows are given."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # Others, of options, are of classes of their own.
            if type(error) is not click.UsageError:
                raise
            raise click.UsageError(
                f"{error.format_message()}. Rows to test a model on are given by --data: "
                "mercer report MODEL --data FILE",
                ctx,
            ) from None


def check_there(*paths: str | None) -> None:
    """Refuse files that do not exist, or are folders, before what reads them is imported."""
    for path in paths:
        if path not in (None, "-") and not Path(str(path)).exists():
            raise DataFileError(f"{path}: there is no such file; check its name and folder")
        if path is not None and Path(path).is_dir():
            raise DataFileError(f"{path} is a folder; give a file in it")


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option ``--config``."""
    return click.option(
        "--config",
        callback=_read,
        is_eager=True,
        expose_value=False,
        metavar="FILE",
        help="Options from a TOML file; those on the line win.",
    )(command)


def encoding_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that reads tables the option ``--encoding``."""
    return click.option(
        "--encoding",
        metavar="NAME",
        help="How the bytes of CSV and TSV are text, such as cp1252; UTF-8 if left out.",
    )(command)


def _read(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Take options from a file: its keys, or those of the table named like the command."""
    if path is None:
        return
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path}: {error}") from None
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    settings = {key: value for key, value in content.items() if key not in tables}
    settings |= tables.get(str(ctx.info_name), {})
    options = {
        opt.lstrip("-"): p
        for p in ctx.command.params
        if isinstance(p, click.Option) and p.expose_value
        for opt in p.opts
    }
    unknown = sorted(settings.keys() - options.keys())
    if unknown:
        listed = ", ".join(sorted(name for name in options if len(name) > 1 or name == "C"))
        raise click.BadParameter(
            f"{path} has {unknown[0]!r}, which is no option of {ctx.info_name}; it has {listed}"
        )
    given = {}
    for key, value in settings.items():
        option = options[key]
        is_alone = option.multiple and not isinstance(value, list)
        given[str(option.name)] = [value] if is_alone else value
        if isinstance(value, bool) != option.is_flag or isinstance(value, list) > option.multiple:
            needed = "be true or false" if option.is_flag else "have one value"
            raise click.BadParameter(f"{path}: {key} must {needed}, got {value!r}")
        try:
            option.type_cast_value(ctx, given[str(option.name)])
        except click.BadParameter as error:
            raise click.BadParameter(f"{path}: {key}: {error.message}") from None
    ctx.default_map = {**(ctx.default_map or {}), **given}

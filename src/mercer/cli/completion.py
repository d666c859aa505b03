"""`mercer completion`: the lines that let a shell complete commands and options."""

from __future__ import annotations

import click

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete the commands and options of mercer.

    mercer completion bash >> ~/.bashrc

    mercer completion zsh >> ~/.zshrc

    mercer completion fish > ~/.config/fish/completions/mercer.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click knows these three
    root = ctx.find_root().command
    click.echo(kind(root, {}, "mercer", "_MERCER_COMPLETE").source())

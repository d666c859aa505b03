"""The command as tests run it, and a table that it can learn."""

import json

import numpy as np
import polars as pl
from click.testing import CliRunner

from mercer.cli.main import main


def run(*arguments, **settings):
    return CliRunner().invoke(main, [str(a) for a in arguments], **settings)


def table(n=80):
    random = np.random.default_rng(0)
    age, site = random.normal(50, 10, n), random.choice(["a", "b", "c"], n)
    price = 0.1 * age + 2.0 * (site == "b") + 0.1 * random.normal(size=n)
    return pl.DataFrame(
        {
            "age": age,
            "site": site,
            "price": price,
            "sick": (price > np.median(price)).astype(int),
            "weight": np.ones(n),
            "home": np.arange(n) // 4,
        }
    )


PRICE = ("--target", "price", "--drop", "sick,weight", "--drop", "home")
SICK = ("--target", "sick", "--drop", "price,weight,home")


def fitted(*arguments):
    result = run("fit", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments, **settings):
    """Return the one line in which a command says what is wrong."""
    result = run(*arguments, **settings)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    return line

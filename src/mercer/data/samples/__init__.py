"""Small real data sets that travel with the package, for demonstrations and tests.

Sources, licences and how each sample was drawn are in the README beside this file.
"""

import csv
import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

__all__ = ["Solubility", "load_solubility"]


@dataclass(frozen=True, eq=False)
class Solubility:
    """Aqueous solubility of 3000 substances, with 17 descriptors of each molecule.

    Attributes
    ----------
    names : tuple of str
        Names of the columns of `X`.
    X : array of shape (3000, 17)
        Molecular descriptors.
    smiles : list of str
        Molecular structure as SMILES text, one per row.
    y : array of shape (3000,)
        Logarithm (base 10) of the solubility in mol/l.
    """

    names: tuple[str, ...]
    X: NDArray[np.float64]
    smiles: list[str]
    y: NDArray[np.float64]


def load_solubility() -> Solubility:
    """Load the bundled sample of AqSolDB.

    Returns
    -------
    Solubility
        Fresh arrays on every call, so that they may be changed in place.
    """
    packed = files("mercer.data.samples").joinpath("solubility.csv.gz").read_bytes()
    header, *rows = csv.reader(gzip.decompress(packed).decode("utf-8").splitlines())
    names = tuple(header[3:])  # after the identifier, the SMILES and the solubility
    return Solubility(
        names=names,
        X=np.array([[float(cell) for cell in row[3:]] for row in rows]),
        smiles=[row[1] for row in rows],
        y=np.array([float(row[2]) for row in rows]),
    )

import hashlib
from importlib.resources import files

import numpy as np

from mercer.data.samples import load_solubility


def test_the_file_is_the_one_its_readme_names():
    folder = files("mercer.data.samples")
    digest = hashlib.sha256((folder / "solubility.csv.gz").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text(encoding="utf-8")


def test_solubility_has_its_documented_shape():
    data = load_solubility()
    assert data.X.shape == (3000, 17)
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.y.shape == (3000,)
    assert len(data.smiles) == len(set(data.smiles)) == 3000
    assert len(data.names) == 17
    assert data.names[0] == "MolWt"


def test_solubility_is_complete_and_in_its_published_range():
    data = load_solubility()
    assert np.isfinite(data.X).all()
    assert -13.2 < data.y.min() < data.y.max() < 2.2
    assert (data.X.std(axis=0) > 0).all()


def test_the_first_row_is_the_one_of_the_source():
    data = load_solubility()
    assert data.smiles[0] == "[Br-].CCCCCCCCCCCCCCCCCC[N+](C)(C)C"
    assert data.y[0] == -3.6161271205000003
    assert data.X[0, data.names.index("MolLogP")] == 3.9581000000000017


def test_each_call_gives_arrays_of_its_own():
    first = load_solubility()
    first.y[:] = 0.0
    assert load_solubility().y.any()

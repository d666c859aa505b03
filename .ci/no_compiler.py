"""Check an installed pure wheel: right numbers, one warning, and the bundled data in place."""

import warnings

import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import mercer

    X = np.random.default_rng(0).standard_normal((40, 3))
    gram = mercer.Gaussian()(X)
    mercer.Gaussian(2.0)(X)

squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=-1)
np.testing.assert_allclose(gram, np.exp(-0.5 * squared), rtol=1e-12)

from mercer.data.samples import load_solubility  # noqa: E402
from mercer.errors import EngineWarning  # noqa: E402
from mercer.native import describe  # noqa: E402

categories = [w.category for w in caught]
assert categories == [EngineWarning], f"expected one EngineWarning, got {categories}"
assert "NumPy" in str(caught[0].message), f"the warning names no engine: {caught[0].message}"
assert describe()["engine"] == "numpy", f"expected the NumPy engine, got {describe()}"
assert load_solubility().X.shape == (3000, 17)
print("no_compiler: the NumPy engine serves, with one warning")

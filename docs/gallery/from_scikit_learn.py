"""
The same numbers, and then more
===============================

A name of scikit-learn's means here what it means there. The first panel draws both fits to the
same rows, kernel ridge regression with ``kernel="rbf", gamma=20.0``, and one line covers the other:
they differ by rounding. What they share shows at both ends, where the rows end and the curve falls
from its level of 3 to zero: without an offset the level is penalised too.

The second panel adds what changing the import gives: the offset, which is not penalised, and the
band of the predictive standard deviation. The certificate, in the title, bounds how far the fit can
be from the exact one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge

import mercer

rng = np.random.default_rng(0)
x = np.sort(np.concatenate([rng.uniform(0.0, 0.35, 30), rng.uniform(0.45, 1.0, 50)]))
y = 3.0 - 2.0 * np.exp(-80.0 * (x - 0.5) ** 2) + 0.8 * np.exp(-60.0 * (x - 0.72) ** 2)
y += rng.normal(0.0, 0.15, len(x))
X, grid = x[:, None], np.linspace(-0.25, 1.25, 400)[:, None]

# %%
# The import changes, and the numbers stay: ``fit_intercept=False`` is the one default to restore.

settings = {"alpha": 0.1, "kernel": "rbf", "gamma": 20.0}
theirs = KernelRidge(**settings).fit(X, y).predict(grid)
ours = mercer.KernelRidge(**settings, fit_intercept=False).fit(X, y).predict(grid)
difference = np.abs(ours - theirs).max()

# %%
# With the offset back, f decays to the level of the data and not to zero.

model = mercer.KernelRidge(**settings).fit(X, y)
values, deviation = model.predict(grid, return_std=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), sharey=True, layout="constrained")
for axes in (left, right):
    axes.plot(x, y, ".", color="0.6", markersize=4)
    axes.axhline(0.0, color="0.85", linewidth=0.8, zorder=0)
    axes.set_xlabel("x")
left.plot(grid, theirs, color="#c44e52", linewidth=4.5, alpha=0.5, label="scikit-learn")
left.plot(grid, ours, color="black", linewidth=1.0, label="mercer, fit_intercept=False")
left.set_title(f"the same numbers: they differ by {difference:.0e}", fontsize="medium")
left.set_ylabel("y")
left.legend(loc="lower center", frameon=False, fontsize="small")
right.fill_between(
    grid[:, 0], values - 2.0 * deviation, values + 2.0 * deviation, color="#4c72b0", alpha=0.2
)
right.plot(grid, values, color="#4c72b0", linewidth=1.5, label="mercer, ± 2 standard deviations")
right.plot(grid, ours, color="black", linewidth=0.8, linestyle=":", label="without the offset")
right.set_title(
    f"with the offset b = {model.intercept_:.2f}; residual at most {model.certificate_.value:.0e}",
    fontsize="medium",
)
right.legend(loc="lower center", frameon=False, fontsize="small")
plt.show()

"""
Two ways to the same curve
==========================

A cubic is linear in 1, x, x² and x³. Least squares can work with these features, one coefficient
for each of them; or with nothing but inner products of rows, one coefficient for each row. The
first panel draws both, and one line covers the other. They differ in what they cost: features by
their number, inner products by the number of rows.

So the inner product may be exchanged for one whose features nobody could write down. With the
Gaussian kernel f is a sum of bumps, one on each training row, as high as its coefficient says: the
second panel. The third one shows what the penalty alpha does to it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import mercer

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-3.0, 3.0, 40))[:, None]
y = np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 0] + rng.normal(scale=0.3, size=40)
grid = np.linspace(-3.4, 3.4, 300)[:, None]

# %%
# Cubics by features, and by the kernel (1 + x z)³ of these features.

features = make_pipeline(mercer.Monomials(3), Ridge(1.0)).fit(x, y)
inner_products = mercer.KernelRidge(mercer.Polynomial(3), alpha=1.0).fit(x, y)
by_features, by_kernel = features.predict(grid), inner_products.predict(grid)
print(f"4 coefficients or {len(inner_products.dual_coef_)}, and the curves differ by "
      f"{np.abs(by_features - by_kernel).max():.0e}")  # fmt: skip

# %%
# The same problem with a Gaussian in the place of the polynomial.

bumps = mercer.KernelRidge(mercer.Gaussian(0.6), alpha=0.3).fit(x, y)
_, axes = plt.subplots(1, 3, figsize=(14.0, 3.6), layout="constrained")
axes[0].plot(x, y, ".", color="0.6")
axes[0].plot(grid, by_features, linewidth=5.0, alpha=0.4, label="features: 4 numbers")
axes[0].plot(grid, by_kernel, color="black", linewidth=1.0, label="kernel: 40 numbers")
axes[0].set_title("a cubic, twice", fontsize="medium")
axes[0].set(xlabel="x", ylim=(-2.4, 2.4))
axes[0].legend(frameon=False, fontsize="small", loc="lower left")
mercer.KernelDisplay.from_estimator(bumps, ax=axes[1])
mercer.FitDisplay.from_alphas(bumps, x, y, ax=axes[2])
axes[1].set_title("40 bumps, and their sum", fontsize="medium")
axes[2].set_title("a small and a large penalty", fontsize="medium")
plt.show()

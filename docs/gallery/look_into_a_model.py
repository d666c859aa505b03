"""
Look into a model
=================

What a kernel ridge regression of solubility has learned: which columns matter and how, how alike
molecules are, and how many numbers the fit is free to choose. Then one column alone, where the
bumps can be seen whose sum is the fit.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import mercer
from mercer.data.samples import load_solubility

data = load_solubility()
table = pd.DataFrame(data.X, columns=list(data.names))
rows = np.random.default_rng(0).permutation(len(table))
train, test = rows[:800], rows[800:1200]
model = mercer.KernelRidge("matern32.after(standardize)", alpha=0.2)
model.fit(table.iloc[train], data.y[train])
print(f"R2 = {model.score(table.iloc[test], data.y[test]):.3f}")

# %%
# The columns by how far f moves with one deviation of them; and along the first one.

print(mercer.explain(model))
_, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
mercer.ImportanceDisplay.from_estimator(model, most=10, ax=axes[0])
mercer.EffectDisplay.from_estimator(model, table.iloc[test], "MolLogP", ax=axes[1])

# %%
# Molecules that are alike are dark squares; eigenvalues above alpha are learned.

mercer.GramDisplay.from_estimator(model)
mercer.SpectrumDisplay.from_estimator(model)

# %%
# One column: a fit with its band of 90 %, fits with other ridges, and the bumps whose sum is f.

x = np.sort(np.random.default_rng(1).uniform(-3, 3, 60))[:, None]
y = np.sin(2 * x[:, 0]) + 0.3 * np.random.default_rng(2).normal(size=60)
curve = mercer.KernelRidge("gaussian(0.6)", alpha=0.3).fit(x, y)
_, axes = plt.subplots(1, 3, figsize=(15, 3.8), layout="constrained")
mercer.FitDisplay.from_estimator(curve, x, y, ax=axes[0])
mercer.FitDisplay.from_alphas(curve, x, y, ax=axes[1])
mercer.KernelDisplay.from_estimator(curve, ax=axes[2])
plt.show()

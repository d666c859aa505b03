"""
A kernel that learns which columns matter
=========================================

Of thirty columns three matter here. A Gaussian with one length scale sees noise in thirty
dimensions; with a length scale for every column, learned by the gradient of the likelihood, it
finds the three and forgets the others.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 30))
y = np.sin(2 * X[:, 4]) * X[:, 11] + np.abs(X[:, 20]) + 0.1 * rng.normal(size=1000)
train, test = slice(0, 600), slice(600, None)

# %%
# One length scale for all columns, the best of several families by leave-one-out.

isotropic = mercer.KernelRidgeCV().fit(X[train], y[train])
print(isotropic.candidates_)
print(f"one scale for all: R2 = {isotropic.score(X[test], y[test]):.3f}")

# %%
# A scale for every column. Above, how the likelihood falls; below, the length scales and the ridge.

learned = mercer.learn("gaussian", X[train], y[train])
model = mercer.KernelRidge(learned.kernel, alpha=learned.alpha).fit(X[train], y[train])
print(f"one scale each: R2 = {model.score(X[test], y[test]):.3f}")
mercer.LearningDisplay.from_learned(learned)

# %%
# What the model says of the columns: how far f moves with each of them, and its sign.

mercer.ImportanceDisplay.from_estimator(model, most=8)
plt.show()

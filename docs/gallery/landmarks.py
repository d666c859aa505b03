"""
A few rows for all
==================

A kernel machine compares every row with every other one. Landmarks compare it with a few: k(x, z)
becomes the inner product of the projections of k(x, .) and k(z, .) on the span of the landmarks.
What this leaves of the kernel is the trace residual, a number from 0 to 1 that `approximation_`
tells of every model by landmarks.

On the left it falls with the number of landmarks. Chosen by randomly pivoted Cholesky, rows that
are alike count once, and a small group far from the others is not missed; rows taken at random miss
it. On the right is what it means for new rows: with a fifth of the 810 rows as landmarks a ridge is
as good as the exact one. Random Fourier features know the kernel and not the rows, and there have
to be more of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import mercer

rng = np.random.default_rng(0)
centres, sizes = rng.normal(scale=4.0, size=(12, 3)), np.array([600, *[60] * 8, *[10] * 3])
X = np.repeat(centres, sizes, axis=0) + rng.normal(scale=0.6, size=(sizes.sum(), 3))
y = np.sin(2.0 * X[:, 0]) + np.cos(X[:, 1]) + 0.1 * rng.normal(size=len(X))
held_out = rng.permutation(len(X))[:300]
train = np.setdiff1d(np.arange(len(X)), held_out)
kernel, counts = mercer.Gaussian(1.5), [10, 20, 40, 80, 160, 320]

# %%
# The same rows and kernel, and more and more features.


def error(model):
    found = model.fit(X[train], y[train]).predict(X[held_out])
    return np.sqrt(np.mean((found - y[held_out]) ** 2))


def with_features(features):
    return error(make_pipeline(features, Ridge(0.1)))


rules = ["rpcholesky", "uniform"]
left = {
    rule: [
        mercer.Nystroem(kernel, m, landmarks=rule).fit(X[train]).approximation_.value
        for m in counts
    ]
    for rule in rules
}
right = {
    rule: [with_features(mercer.Nystroem(kernel, m, landmarks=rule)) for m in counts]
    for rule in rules
}
right["random Fourier"] = [with_features(mercer.RandomFourier(kernel, m)) for m in counts]
exact = error(mercer.KernelRidge(kernel, 0.1))

# %%
# Landmarks by randomly pivoted Cholesky are first to come near the exact ridge.

figure, (first, second) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for name, values in left.items():
    first.plot(counts, values, marker="o", label=name)
for name, values in right.items():
    second.plot(counts, values, marker="o", label=name)
second.axhline(exact, color="black", linestyle="dashed", label="exact")
first.set(title="what landmarks leave of the kernel", xlabel="landmarks", ylabel="trace residual")
second.set(title="error at new rows", xlabel="features", ylabel="root mean square")
for axes in (first, second):
    axes.set_xscale("log")
    axes.set_xticks(counts, counts)
    axes.minorticks_off()
    axes.legend()
first.set_yscale("log")
plt.show()

"""
Time against the number of rows
===============================

An exact ridge takes a time that grows with the cube of the rows, by a factor of the Gram matrix. A
ridge by a fixed number of landmarks takes one that grows with the rows themselves: beyond what it
takes to choose the landmarks, twice the rows take twice the time.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import mercer

rng = np.random.default_rng(0)
X = rng.normal(size=(32_000, 8))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
kernel, counts = mercer.Gaussian(3.0), [1000, 2000, 4000, 8000, 16_000, 32_000]


def seconds(model, n):
    began = perf_counter()
    model.fit(X[:n], y[:n])
    return perf_counter() - began


# %%
# The exact factor ends at 4000 rows, where it is slower by far.

landmarks = mercer.KernelRidge(kernel, solver="nystrom", n_landmarks=300)
exact = mercer.KernelRidge(kernel, solver="cholesky")
by_landmarks = [seconds(landmarks, n) for n in counts]
by_factor = [seconds(exact, n) for n in counts[:3]]

# %%
# Lines of slope one and three in logarithms are dotted.

figure, axes = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for name, times, power in (("300 landmarks", by_landmarks, 1), ("exact", by_factor, 3)):
    (line,) = axes.loglog(counts[: len(times)], times, marker="o", label=name)
    guide = times[-1] * (np.array(counts[: len(times)]) / counts[len(times) - 1]) ** power
    axes.loglog(counts[: len(times)], guide, linestyle="dotted", color=line.get_color())
axes.set(xlabel="rows", ylabel="seconds", title="time of a ridge")
axes.legend()
plt.show()

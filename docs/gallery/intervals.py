"""
How sure is a prediction?
=========================

An interval of 90 % should hold nine of ten new targets. ``predict_interval`` takes it from errors
at rows that were left out, one at a time and without a second fit (jackknife+). It asks for no
normal noise: the errors here have heavy tails. Between the two groups of rows and beyond them it
widens.

The second panel repeats this on 100 new draws of the data, and counts how many of 200 new targets
lie inside: about 90 % in the mean, while at least 80 % are promised whatever the distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer

rng = np.random.default_rng(5)


def draw(n):
    x = np.concatenate([rng.uniform(0.0, 4.0, n // 2), rng.uniform(6.0, 10.0, n - n // 2)])
    return x[:, None], np.sin(x) + 0.2 * rng.standard_t(2.0, size=n)


x, y = draw(80)
grid = np.linspace(-1.0, 11.0, 400)[:, None]
model = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.3).fit(x, y)
low, high = model.predict_interval(grid, 0.9)

# %%
# The same with new data, many times.

inside = []
for _ in range(100):
    again = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.3).fit(*draw(80))
    new, truth = draw(200)
    bottom, top = again.predict_interval(new, 0.9)
    inside.append(np.mean((truth >= bottom) & (truth <= top)))
print(f"{np.mean(inside):.3f} of the new targets in the mean")

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.0, 3.8), width_ratios=[2, 1], layout="constrained"
)
left.fill_between(grid[:, 0], low, high, alpha=0.2, label="90 % of new targets")
left.plot(grid, model.predict(grid), label="prediction")
left.plot(x, y, ".", color="0.4", label="training rows")
left.set(ylim=(-4.0, 4.0), xlabel="x", title="wider where no rows are")
left.legend(ncols=3, frameon=False, fontsize="small", loc="upper center")
right.hist(inside, bins=np.linspace(0.75, 1.0, 26), alpha=0.6)
right.axvline(0.9, color="black", linestyle="dotted")
right.set(title="share of new targets inside", xlabel="share", ylabel="draws")
plt.show()

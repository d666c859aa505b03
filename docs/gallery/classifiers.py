"""
Five ways to draw a border
==========================

Two rings cannot be told apart by a straight line. Every machine here draws a curved border with the
same Gaussian kernel, and each goes by another rule. The perceptron changes its mind with every row
that it has wrong. Least squares aims at 1 and -1. Logistic regression makes the labels likely, and
so has probabilities of its own. The support vector machine cares for rows near the border alone.

The bars below say how many training rows each of them keeps to predict with: the hinge of the
support vector machine leaves out rows that are safely on their side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

import mercer

X, y = make_circles(200, noise=0.12, factor=0.45, random_state=4)
kernel = mercer.Gaussian(0.5)
machines = [
    mercer.KernelPerceptron(mercer.Linear(), max_epochs=20),
    mercer.KernelPerceptron(kernel, max_epochs=20),
    mercer.KernelRidgeClassifier(kernel, alpha=1.0),
    mercer.KernelLogisticRegression(kernel, C=1.0),
    mercer.KernelSVC(kernel, C=1.0),
]

# %%
# The first has the linear kernel, which is all that a straight line can do.

figure, axes = plt.subplots(
    2, 3, figsize=(10.0, 6.3), sharex=True, sharey=True, layout="constrained"
)
names, rows = [], []
for ax, machine in zip(axes.flat[:5], machines, strict=True):
    machine.fit(X, y)
    mercer.DecisionDisplay.from_estimator(machine, X, y, ax=ax)
    kept = np.count_nonzero(machine.dual_coef_)
    name = type(machine).__name__.removeprefix("Kernel")
    ax.set_title(f"{name}: {machine.score(X, y):.0%} right", fontsize="medium")
    ax.set(xlabel="", ylabel="", aspect="equal")
    ax.get_legend().remove()
    names.append(f"{name}, {type(machine.kernel).__name__}")
    rows.append(kept)
axes.flat[0].set_title(
    f"Perceptron, a line: {machines[0].score(X, y):.0%} right", fontsize="medium"
)
axes.flat[2].tick_params(labelbottom=True)
axes.flat[5].axis("off")

# %%
# How many of the 200 rows each of them predicts with. They are ringed above where that is a choice.

_, ax = plt.subplots(figsize=(6.5, 2.4), layout="constrained")
ax.barh(names[::-1], rows[::-1], color="#4c72b0")
ax.set(xlabel="rows kept", xlim=(0, 200))
plt.show()

"""
A Gaussian kernel that narrows
==============================

A support vector machine with the kernel exp(-gamma ||x - z||²) sees the whole plane at once while
gamma is small, and no further than the next point when it is large. Ten gammas between 2^-6 and
2^10, equal steps of the logarithm, lead from underfit to overfit: the boundary is a straight line
first, follows the two moons in the middle, and ends as a cage around every point of one class.

The shares below the panels tell the same story. The training rows are all right in the end, while
rows held out are no better than guessed. The number of support vectors, ringed, is smallest in
between.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import mercer

X, y = make_moons(200, noise=0.25, random_state=0)

# %%
# Every panel is a fit of its own, with the same C.

sweep = mercer.GammaSweepDisplay.from_data(X, y, estimator=mercer.KernelSVC(C=1.0))

# %%
# One panel on its own, with the margins f = -1 and f = 1 around the boundary f = 0.

model = mercer.KernelSVC(mercer.Gaussian.from_gamma(2.16), C=1.0).fit(X, y)
mercer.DecisionDisplay.from_estimator(model, X, y)
plt.show()

"""
Is it a kernel?
===============

A similarity is a kernel if no choice of points and coefficients makes the sum of
c_i c_j k(x_i, x_j) negative: then, and only then, it is an inner product of features. ``check``
answers with a proof, by the rules that build kernels from kernels, or with a witness, points and
coefficients that anyone can put into the sum. Where it finds neither it says so, and calls nothing
proved.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer

# %%
# Sums, products and powers of kernels are kernels, and the proof says which rule was used where.

print(mercer.kernel("0.5*gaussian(2.0) + linear()**2 * matern32()").check())

# %%
# The hyperbolic tangent looks like a kernel and is none. The witness can be checked by hand.

sigmoid = mercer.Sigmoid(scale=1.0, offset=-1.0)
verdict = sigmoid.check()
c = verdict.witness.coefficients
print(verdict)
print("again:", c @ sigmoid(verdict.witness.points) @ c)

# %%
# exp(-\|x - z\|^p) is a kernel up to p = 2 and none beyond: of 60 points on a line one eigenvalue
# of the matrix crosses zero there.

line = np.linspace(-2.0, 2.0, 60)[:, None]
powers = np.linspace(1.0, 3.0, 41)


def lowest(p):
    return np.linalg.eigvalsh(np.exp(-(np.abs(line - line.T) ** p)))[0]


# %%
# Mercer's theorem writes a kernel as a sum over eigenfunctions. Those of min(x, z) on the interval
# from 0 to 1 are known, sines with 1/2, 3/2, 5/2 ... half waves, and 400 rows find them.

sobolev, rows = mercer.Sobolev(), np.linspace(0.0, 1.0, 401)[1:, None]
found, grid = mercer.MercerMap(sobolev, n_components=4).fit(rows), np.linspace(0, 1, 200)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
left.plot(powers, [lowest(p) for p in powers], marker=".")
left.axhline(0.0, color="0.5", linewidth=0.8)
left.axvline(2.0, color="0.5", linestyle="dotted")
left.set(title="exp(-|x - z|^p): a kernel up to p = 2", xlabel="p", ylabel="least eigenvalue")
for j in range(4):
    function = found.eigenfunction(j, grid)
    known = np.sqrt(2.0) * np.sin((j + 0.5) * np.pi * grid[:, 0])
    (drawn,) = right.plot(grid, np.sign(function @ known) * function)
    right.plot(grid, known, linestyle="dotted", color=drawn.get_color())
right.set(title="eigenfunctions of min(x, z), and sines (dotted)", xlabel="x")
plt.show()

"""
Words that are alike
====================

A kernel needs no numbers: two words are alike if they have pieces in common. ``Spectrum`` counts
common runs of letters, ``Subsequence`` lets letters between them, ``EditDistance`` counts what has
to be changed. Each makes a matrix of the same twelve words. Then a model learns from names of days
and months which letters speak for German, and shows them.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer

words = ["nation", "national", "station", "stationary", "rational", "ration",
         "bridge", "bridges", "abridge", "fridge", "ridge", "ridges"]  # fmt: skip
kernels = {
    "runs of 3 letters": mercer.Spectrum(k=3).normalized(),
    "with gaps": mercer.Subsequence(k=3, decay=0.5).normalized(),
    "edits": mercer.EditDistance(scale=3.0),
}

# %%
# Dark squares are words that are alike. Words without a common run are nothing to each other, while
# any two words are some edits apart.

figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.2), sharey=True, layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    ax.imshow(kernel(words), cmap="Blues", vmin=0.0, vmax=1.0)
    ax.set_title(name, fontsize="medium")
    ax.set_xticks(range(len(words)), words, rotation=90)
    ax.set_yticks(range(len(words)), words)

# %%
# Days and months in two languages: the k-grams that speak for German, and against it.

german = "montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar juli oktober"
english = "monday tuesday wednesday thursday friday saturday sunday january february july october"
texts = german.split() + english.split()
y = np.repeat([1.0, -1.0], len(texts) // 2)
model = mercer.KernelRidge("spectrum(k=[1, 2, 3]).normalized()", alpha=0.3).fit(texts, y)
for text in ("feiertag", "holiday"):
    print(f"{text}: {model.predict([text])[0]:+.2f}")

strongest = sorted(mercer.explain(model).kgrams, key=lambda row: row.weight)
ends = [*strongest[:8], *strongest[-8:]]
_, ax = plt.subplots(figsize=(5.5, 4.6), layout="constrained")
ax.barh([row.gram for row in ends], [row.weight for row in ends],
        color=["#c44e52" if row.weight < 0.0 else "#4c72b0" for row in ends])  # fmt: skip
ax.axvline(0.0, color="0.3", linewidth=0.8)
ax.set(xlabel="weight in f", title="English to the left, German to the right")
plt.show()

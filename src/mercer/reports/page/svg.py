"""Plots as SVG in the colours of the page that they stand on, light or dark."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from math import floor, log10
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]

# Sizes from which on numbers along an axis would take too much room, and the units that they are
# written in.
UNITS = ((1e13, 1.0, ""), (1e9, 1e9, "billions"), (1e6, 1e6, "millions"), (1e4, 1e3, "thousands"))

# Units of dates along an axis, their steps, how many had been in 1970, and what is shown of them.
CALENDAR = (
    ("Y", (1, 2, 5, 10, 20, 50, 100), 1970, slice(None)),
    ("M", (1, 2, 3, 6), 0, slice(None)),
    ("D", (1, 2, 5, 10), 0, slice(None)),
    ("h", (1, 2, 3, 6, 12), 0, slice(5, None)),
    ("m", (1, 2, 5, 10, 15, 30), 0, slice(11, None)),
)


@dataclass
class Plot:
    """Axes on which points, lines and bands are drawn.

    Parameters
    ----------
    x, y : (float, float)
        The ends of the axes.
    x_label, y_label : str
        What they measure.
    about : str
        What is to be seen, for those who do not see it.
    y_names : sequence of str
        Names along the y axis in place of numbers, at 0, 1, 2 and so on.
    is_date : bool
        Whether x is in seconds since 1970, and written as dates.
    """

    # The size of a picture, and where its axes end; numbers may need more room on the left.
    width: ClassVar[int] = 400
    height: ClassVar[int] = 270
    left: ClassVar[int] = 68
    right: ClassVar[int] = width - 14
    top: ClassVar[int] = 12
    bottom: ClassVar[int] = height - 50
    # The width of a letter.
    letter: ClassVar[float] = 8.0

    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    about: str
    y_names: Sequence[str] = ()
    is_date: bool = False
    _parts: list[str] = field(default_factory=list)

    def _at(self, x: Any, y: Any) -> tuple[Array, Array]:
        """Return where numbers stand on the picture."""
        across = (np.asarray(x, float) - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0)
        up = (np.asarray(y, float) - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0)
        return self._left + across * (self.right - self._left), self.bottom - up * (
            self.bottom - self.top
        )

    def points(self, x: Any, y: Any, kind: str = "point") -> Plot:
        """Draw a dot at every pair of numbers."""
        dots = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
            for a, b in zip(*self._at(x, y), strict=True)
        )
        return self._add(f'<g class="{kind}">{dots}</g>')

    def line(self, x: Any, y: Any, kind: str = "line") -> Plot:
        """Draw a line through pairs of numbers."""
        return self._add(f'<polyline class="{kind}" points="{self._path(x, y)}"/>')

    def band(self, x: Any, low: Any, high: Any) -> Plot:
        """Draw the area between two lines."""
        there, back = self._path(x, low), self._path(np.asarray(x)[::-1], np.asarray(high)[::-1])
        return self._add(f'<polygon class="band" points="{there} {back}"/>')

    def ranges(self, low: Any, high: Any, y: Any) -> Plot:
        """Draw lying lines from one number to another."""
        ends = zip(*self._at(low, y), self._at(high, y)[0], strict=True)
        lines = "".join(
            f'<line x1="{a:.1f}" x2="{c:.1f}" y1="{b:.1f}" y2="{b:.1f}"/>' for a, b, c in ends
        )
        return self._add(f'<g class="range">{lines}</g>')

    def _path(self, x: Any, y: Any) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self._at(x, y), strict=True))

    def _add(self, part: str) -> Plot:
        self._parts.append(part)
        return self

    def __str__(self) -> str:
        name = escape(self.about, quote=True)
        axes = [*self._x_axis(), *self._y_axis()]
        box = f"0 0 {self.width} {self.height}"
        return (
            f'<svg class="plot" viewBox="{box}" role="img" aria-label="{name}">'
            f"<title>{name}</title>{''.join(axes)}{''.join(self._parts)}</svg>"
        )

    def _x_axis(self) -> list[str]:
        middle = (self._left + self.right) / 2
        label = _label(self.x_label, "" if self.is_date else _unit(self.x)[1])
        parts = [f'<text class="label" x="{middle}" y="{self.height - 6}">{label}</text>']
        for value, text in self._x_ticks():
            a = float(self._at(value, self.y[0])[0])
            parts.append(
                f'<line class="grid" x1="{a:.1f}" x2="{a:.1f}" y1="{self.top}" y2="{self.bottom}"/>'
            )
            parts.append(
                f'<text class="tick middle" x="{a:.1f}" y="{self.bottom + 18}">{text}</text>'
            )
        return parts

    def _x_ticks(self) -> list[tuple[float, str]]:
        """Return where numbers or dates stand along the x axis: as many as do not touch."""
        width = (self.right - self._left) / self.letter
        for most in (6, 5, 4, 3, 2):
            found = dates(*self.x, most) if self.is_date else _numbered(self.x, most)
            if sum(len(text) + 1 for _, text in found) <= width:
                break
        return found

    def _y_ticks(self) -> list[tuple[float, str]]:
        """Return where numbers or names stand along the y axis."""
        # Characters of a name.
        most = 18
        if self.y_names:
            cut = (n if len(n) <= most else f"{n[: most - 1]}…" for n in self.y_names)
            return [(float(j), name) for j, name in enumerate(cut)]
        return _numbered(self.y, 6)

    @cached_property
    def _left(self) -> float:
        """Where the y axis stands: to the right of its longest number."""
        longest = max((len(text) for _, text in self._y_ticks()), default=0)
        return max(self.left, 30.0 + self.letter * longest)

    def _y_axis(self) -> list[str]:
        middle = (self.top + self.bottom) / 2
        turned = f'transform="rotate(-90 14 {middle})"'
        label = _label(self.y_label, "" if self.y_names else _unit(self.y)[1])
        parts = [f'<text class="label" x="14" y="{middle}" {turned}>{label}</text>']
        left, right = self._left, self.right
        for value, text in self._y_ticks():
            b = float(self._at(self.x[0], value)[1])
            parts.append(
                f'<line class="grid" x1="{left:g}" x2="{right}" y1="{b:.1f}" y2="{b:.1f}"/>'
            )
            parts.append(
                f'<text class="tick end" x="{left - 6:g}" y="{b + 5:.1f}">{escape(text)}</text>'
            )
        return parts


def dates(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round dates between two moments in seconds: as many as are wanted, or fewer."""
    moments = np.array([low, high]).astype("M8[s]")
    for each in CALENDAR:
        unit, steps, since, text = each
        first, last = moments.astype(f"M8[{unit}]").astype(int) + since
        # Two ends and one between them; of shorter spans a smaller unit tells more.
        if last - first >= 3 or unit == "m":
            break
    step = next((s for s in steps if (last - first) // s <= most), steps[-1])
    found = (np.arange(first // step + 1, last // step + 1) * step - since).astype(f"M8[{unit}]")
    texts = [str(t)[text].replace("T", " ") + "h" * (unit == "h") for t in found]
    return list(zip(found.astype("M8[s]").astype(float).tolist(), texts, strict=True))


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from `low` to `high`, about as many as are wanted."""
    span = high - low
    if not span > 0.0 or not np.isfinite(span):
        return [low]
    step = 10.0 ** floor(log10(span / most))
    step *= next(f for f in (1.0, 2.0, 5.0, 10.0) if span / (step * f) <= most)
    first = np.ceil(low / step - 1e-9)
    return [float(k * step) for k in np.arange(first, np.floor(high / step + 1e-9) + 1.0)]


def _numbered(ends: tuple[float, float], most: int) -> list[tuple[float, str]]:
    """Return round numbers along an axis, in its unit."""
    size, _ = _unit(ends)
    places = ticks(*ends, most)
    return list(zip(places, _numbers([t / size for t in places]), strict=True))


def _numbers(values: list[float]) -> list[str]:
    """Return numbers in four digits, or in more where these do not tell them apart."""
    texts: list[str] = []
    for digits in range(4, 16):
        texts = [f"{value + 0.0:.{digits}g}".replace("-", "−") for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _unit(ends: tuple[float, float]) -> tuple[float, str]:
    """Return the number that those along an axis are divided by, and what it is called."""
    size = max(abs(ends[0]), abs(ends[1]))
    return next(((unit, word) for least, unit, word in UNITS if size >= least), (1.0, ""))


def _label(text: str, unit: str = "") -> str:
    text = f"{text}, {unit}" if unit else text
    # Characters of what an axis measures.
    longest = 44
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")


def around(*values: Any) -> tuple[float, float]:
    """Return ends of an axis that hold all numbers, with a little room."""
    every = np.concatenate([np.ravel(np.asarray(v, float)) for v in values])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    room = 0.04 * (high - low) or max(abs(low), 1.0) * 0.05
    return low - room, high + room


def heat_map(matrix: Array, about: str) -> str:
    """Return a matrix as a picture, its smallest entry pale and its largest dark.

    Colours go by rank: where a few entries are far from the others, these are still told apart.
    """
    # Digits of the largest entry in which entries differ, and not by rounding.
    digits = 9
    size = float(np.abs(matrix).max()) or 1.0
    place = rankdata(np.round(matrix / size, digits)).reshape(matrix.shape)
    low, high = float(place.min()), float(place.max())
    share = (place - low) / ((high - low) or 1.0)
    ends = np.array([[247, 251, 255], [8, 48, 107]], float)
    pixels = (ends[0] + share[..., None] * (ends[1] - ends[0])).astype(np.uint8)
    return (
        f'<img class="heat" alt="{escape(about, quote=True)}" '
        f'src="data:image/png;base64,{base64.b64encode(png(pixels)).decode()}">'
    )


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return an array of shape (rows, columns, 3) as a PNG."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines, 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)

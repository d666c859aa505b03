"""Sums of products of named factors, folded and written out in LaTeX."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

# How tightly the text of a factor binds: a sum needs brackets beside anything, a big sign beside
# other factors, a product of rows under an exponent, and the rest never.
SUM, SIGN, PRODUCT, TIGHT = range(4)

# Numbers of so many digits are written in full, longer ones are rounded to DIGITS.
FULL, DIGITS = 8, 6


@dataclass(frozen=True)
class Factor:
    """A thing with a LaTeX text.

    Parameters
    ----------
    text : str
        LaTeX.
    binding : int
        How tightly the text binds.
    short : bool
        Whether it may stand in the numerator of a numeric fraction.
    positive : bool
        Whether it is never negative, so that the root of its square is itself.
    radicand : float
        What it is the square root of, if it is the root of a number.
    logarithm_of : Factor, optional
        What it is the logarithm of.
    """

    text: str
    binding: int = TIGHT
    short: bool = False
    positive: bool = False
    radicand: float = 0.0
    logarithm_of: Factor | None = None


Product = tuple[tuple[Factor, float], ...]


@dataclass(frozen=True)
class Terms:
    """A sum of products of powers, by the coefficient of each; none is zero."""

    coefficients: dict[Product, float]

    @classmethod
    def constant(cls, value: float) -> Self:
        """Return a constant."""
        return cls({(): value} if value else {})

    @classmethod
    def factor(cls, factor: Factor) -> Self:
        """Return a factor alone."""
        return cls({((factor, 1.0),): 1.0})

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def as_factor(self) -> Factor:
        """Return these terms as one factor."""
        if len(self.coefficients) == 1:
            ((product, coefficient),) = self.coefficients.items()
            if coefficient == 1.0 and len(product) == 1 and product[0][1] == 1.0:
                return product[0][0]
        positive = all(
            c > 0.0 and all(f.positive for f, _ in p) for p, c in self.coefficients.items()
        )
        return Factor(written(self), SUM, positive=positive)

    def as_product(self) -> tuple[float, Product]:
        """Return these terms as a coefficient and one product."""
        if len(self.coefficients) == 1:
            ((product, coefficient),) = self.coefficients.items()
            return coefficient, product
        return (1.0, ((self.as_factor(), 1.0),)) if self else (0.0, ())

    def as_logarithm(self) -> tuple[float, Factor] | None:
        """Return (c, u) if these terms are c log(u)."""
        coefficient, product = self.as_product()
        if len(product) == 1 and product[0][1] == 1.0 and product[0][0].logarithm_of:
            return coefficient, product[0][0].logarithm_of
        return None


def plus(summands: Iterable[Terms]) -> Terms:
    """Return the sum."""
    total: dict[Product, float] = {}
    for terms in summands:
        for product, coefficient in terms.coefficients.items():
            total[product] = total.get(product, 0.0) + coefficient
    return Terms({product: c for product, c in total.items() if c})


def times(a: Terms, b: Terms) -> Terms:
    """Return the product; a polynomial times its variable (Horner's scheme) is multiplied out."""
    for one, other in ((a, b), (b, a)):
        if one.coefficients == {(): 1.0}:
            return other
    for one, other in ((a, b), (b, a)):
        coefficient, variable = other.as_product()
        if len(one.coefficients) > 1 and _is_polynomial(one, variable):
            return plus(
                _gathered(c * coefficient, (*p, *variable)) for p, c in one.coefficients.items()
            )
    (c, p), (d, q) = a.as_product(), b.as_product()
    return _gathered(c * d, (*p, *q))


def power(terms: Terms, exponent: float) -> Terms:
    """Return a power; the exponent is whole unless the terms are positive."""
    coefficient, product = terms.as_product()
    try:
        coefficient = coefficient**exponent
    except (OverflowError, ZeroDivisionError):
        coefficient, product = 1.0, ((terms.as_factor(), 1.0),)
    return _gathered(coefficient, _raised(product, exponent))


def root(terms: Terms) -> Terms:
    """Return the square root, taken of everything that is known not to be negative."""
    coefficient, product = terms.as_product()
    if coefficient < 0.0 or not all(f.positive for f, _ in product):
        return Terms.factor(Factor(rf"\sqrt{{{written(terms)}}}", positive=True))
    outside, radicand = 1.0, coefficient
    for candidate in (1.0, 2.0, 3.0, 5.0):
        ratio = math.sqrt(coefficient / candidate)
        if _digits(ratio) <= DIGITS or _digits(1.0 / ratio) <= DIGITS:
            outside, radicand = ratio, candidate
            break
    sign = Factor(rf"\sqrt{{{number(radicand)}}}", short=True, positive=True, radicand=radicand)
    return _gathered(outside, ((sign, 1.0), *_raised(product, 0.5)))


def _is_polynomial(terms: Terms, variable: Product) -> bool:
    if not variable:
        return False
    degrees = [p[0][1] / variable[0][1] if p else 0.0 for p in terms.coefficients]
    powers = [_raised(variable, n) if n else () for n in degrees]
    whole = all(n >= 0.0 and n % 1.0 == 0.0 for n in degrees)
    return whole and max(degrees) > 0.0 and powers == list(terms.coefficients)


def _raised(product: Product, exponent: float) -> Product:
    return tuple((f, e * exponent) for f, e in product)


def _gathered(coefficient: float, factors: Product) -> Terms:
    """Return a product with equal factors gathered, and squares of numeric roots as numbers."""
    exponents: dict[Factor, float] = {}
    for factor, exponent in factors:
        exponents[factor] = exponents.get(factor, 0.0) + exponent
    for factor, exponent in exponents.items():
        if factor.radicand:
            odd = 0.0 if factor.radicand == 1.0 else exponent % 2.0
            # A number too large to be multiplied out stays a power.
            with contextlib.suppress(OverflowError):
                coefficient *= factor.radicand ** ((exponent - odd) / 2.0)
                exponents[factor] = odd
    product = tuple((f, e) for f, e in exponents.items() if e)
    return Terms({product: coefficient} if coefficient else {})


def written(terms: Terms) -> str:
    """Return the LaTeX of a sum."""
    text = ""
    for product, coefficient in terms.coefficients.items():
        body = _written_product(coefficient, product)
        if text:
            text += f" - {body}" if coefficient < 0.0 else f" + {body}"
        else:
            text = f"-{body}" if coefficient < 0.0 else body
    return text or "0"


def _written_product(coefficient: float, product: Product) -> str:
    """Return the LaTeX of a product without its sign."""
    above = [(f, e) for f, e in product if e > 0.0]
    below = [(f, -e) for f, e in product if e < 0.0]
    numerator, denominator = _ratio(abs(coefficient))
    if below or (denominator and above and all(f.short for f, _ in above)):
        upper, lower = _joined(numerator, above, True), _joined(denominator, below, True)
        return rf"\frac{{{upper}}}{{{lower}}}"
    number = rf"\frac{{{numerator}}}{{{denominator}}}" if denominator else numerator
    return _joined(number, above, bare=coefficient == 1.0)


def _joined(number: str, factors: list[tuple[Factor, float]], bare: bool) -> str:
    """Return a product; `bare` says that a sum may go without brackets if it is alone."""
    shown = [number] if number not in ("", "1") or not factors else []
    alone = not shown and len(factors) == 1
    loosest = SUM if alone and bare else SIGN if len(factors) == 1 else PRODUCT
    return r" \, ".join([*shown, *(_written_power(f, e, loosest) for f, e in factors)])


def _written_power(factor: Factor, exponent: float, loosest: int) -> str:
    if exponent == 0.5:
        return rf"\sqrt{{{factor.text}}}"
    raised = exponent != 1.0
    brackets = factor.binding < (TIGHT if raised else loosest)
    text = rf"\left({factor.text}\right)" if brackets else factor.text
    return f"{text}^{{{number(exponent)}}}" if raised else text


def matrix(rows: tuple[tuple[float, ...], ...], most: int = 6) -> str:
    """Return a matrix by its entries, or as the letter A if it has more rows than that."""
    if len(rows) > most:
        return "A"
    body = r" \\ ".join(" & ".join(number(v) for v in row) for row in rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def _ratio(value: float) -> tuple[str, str]:
    """Return a positive number as the numerator and denominator that read best."""
    inverse = 1.0 / value
    if _digits(inverse) == 1 and 2.0 <= inverse < 9.5:
        return "1", number(inverse)
    if _digits(value) <= 3:
        return number(value), ""
    choices = [(_digits(value), number(value), ""), (_digits(inverse), "1", number(inverse))]
    if 0.01 < value < 100.0:
        whole = ((round(value * q), q) for q in range(2, 100))
        exact = [(p, q) for p, q in whole if math.isclose(p, value * q, rel_tol=1e-14)]
        # A fraction of small numbers is preferred to as many digits.
        choices[:0] = [(len(f"{p}{q}") - 1, str(p), str(q)) for p, q in exact[:1] if 1 < p < 100]
    return min(choices, key=lambda choice: choice[0])[1:]


def _digits(value: float) -> int:
    """Return the number of digits that a number needs, to within rounding."""
    mantissa = f"{value:.12g}".partition("e")[0]
    return len(mantissa.replace(".", "").strip("0")) if math.isfinite(value) else 99


def number(value: float) -> str:
    """Return a number in LaTeX, rounded if it is long."""
    if not math.isfinite(value):
        return r"\infty"
    digits = _digits(value)
    text = f"{value:.{digits if DIGITS < digits <= FULL else DIGITS}g}"
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return mantissa
    ten = f"10^{{{int(exponent)}}}"
    return ten if mantissa == "1" else rf"{mantissa} \cdot {ten}"

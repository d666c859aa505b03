"""Text that spells numbers or dates, as files that were read without their types hold it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

# Numbers with a point or a comma, by thousands or not, with a sign of money or percent or without;
# no codes such as "007" or "01067".
NUMBER = re.compile(
    r"\s*[-+]?[$€£¥]?\s?(?:(?:0|[1-9]\d*)(?:[.,]\d*)?|[.,]\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
    r"|[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?)(?:[eE][-+]?\d+)?\s*[%$€£¥]?\s*"
)
# The year first or last, with a time of the day and a zone or without.
DATE = re.compile(
    r"\s*(?:\d{4}([-/.])\d{1,2}\1\d{1,2}"
    r"|(?P<first>\d{1,2})([-/.])(?P<second>\d{1,2})\3(?:\d{4}|\d{2}))"
    r"(?:[T ]\s*\d{1,2}:\d{2}.*)?\s*"
)
# What dates begin with.
YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "the year first", "the day first", "the month first"


class Spelled(NamedTuple):
    """What text spells: a remark, and an expression for a column of each library that converts it.

    The expressions have `{column}` for its name, and are "" where the texts leave it open how.
    Digits alone, `are_digits`, may be codes.
    """

    remark: str = ""
    pandas: str = ""
    polars: str = ""
    are_digits: bool = False


NOTHING = Spelled()


def spelled(words: Sequence[Any]) -> Spelled:
    """Return what different texts spell, by an example, and what to do; nothing of other text."""
    # The share of different values that says what was meant, where others are marks such as "n/a".
    meant_share = 0.9
    for what, pattern in (("numbers", NUMBER), ("dates", DATE)):
        found = [w for w in words if isinstance(w, str) and pattern.fullmatch(w)]
        if not found or len(found) < meant_share * len(words):
            continue
        known = set(found)
        mark = next((w for w in words if w not in known), None)
        beside = "" if mark is None else f" and {mark!r:.30}"
        gaps = "" if mark is None else ", missing where there is none,"
        how, use = _of_numbers(found) if what == "numbers" else _of_dates(found)
        remark = (
            f"holds {what} as text, such as {found[0]!r:.30}{beside}; make {what} of it{how}{gaps} "
            f"to have them compared by {use}"
        )
        convert = _numbers_from if what == "numbers" else _dates_from
        are_digits = all(text.isdecimal() for text in found)
        return Spelled(remark, *convert(found, has_gaps=mark is not None), are_digits)
    return NOTHING


def _of_numbers(texts: Sequence[str]) -> tuple[str, str]:
    return (" with decimal points" if any("," in text for text in texts) else "", "size")


def _of_dates(texts: Sequence[str]) -> tuple[str, str]:
    order = _order_of(texts)
    if order == YEAR_FIRST:
        return "", "time"
    return (f" ({order})" if order else " (the day or the month first, as you know)"), "time"


def _order_of(texts: Sequence[str]) -> str:
    """Return what dates begin with, "" where all of them would do with either."""
    found = [match for match in map(DATE.fullmatch, texts) if match and match["first"]]
    if not found:
        return YEAR_FIRST
    first, second = (max(int(match[part]) for match in found) for part in ("first", "second"))
    return DAY_FIRST if first > 12 else MONTH_FIRST if second > 12 else ""


def _numbers_from(texts: Sequence[str], has_gaps: bool) -> tuple[str, str]:
    """Return the expressions of pandas and polars that make numbers of texts, if one rule does."""
    bare = [re.sub(r"[^0-9.,]", "", text) for text in texts]
    # A comma before anything but three digits, or after a point, stands before decimals.
    has_commas = any(re.search(r",(?!\d{3}(?!\d))|\..*,", text) for text in bare)
    form = r"(?:\d*|\d{1,3}(?:\.\d{3})+(?=,))(?:,\d*)?" if has_commas else r"[\d,]*(?:\.\d*)?"
    is_one_form = all(re.fullmatch(form, text) for text in bare)
    is_one_unit = len({"".join(re.findall("[%$€£¥]", text)) for text in texts} - {""}) < 2
    some_percent = 0 < sum("%" in text for text in texts) < len(texts)
    if not is_one_form or not is_one_unit or some_percent:
        return "", ""
    kept, point = ("[^0-9,eE-]", ".str.replace(',', '.')") if has_commas else ("[^0-9.eE-]", "")
    coerced, strict = (", errors='coerce'", ", strict=False") if has_gaps else ("", "")
    return (
        f"pd.to_numeric(X[{{column}}].str.replace({kept!r}, '', regex=True){point}{coerced})",
        f"pl.col({{column}}).str.replace_all({kept!r}, ''){point}.cast(pl.Float64{strict})",
    )


def _dates_from(texts: Sequence[str], has_gaps: bool) -> tuple[str, str]:
    """Return the expressions of pandas and polars that make dates of texts, if one form does."""
    parts = {YEAR_FIRST: "Ymd", DAY_FIRST: "dmY", MONTH_FIRST: "mdY"}.get(_order_of(texts))
    signs = {"".join(re.findall("[^0-9]", text)) for text in texts}
    mark = signs.pop()
    years = {len(number) for text in texts for number in re.findall(r"\d+", text)} - {1, 2}
    if parts is None or signs or len(mark) != 2 or years != {4}:
        return "", ""
    form = mark[0].join(f"%{part}" for part in parts)
    coerced, strict = (", errors='coerce'", ", strict=False") if has_gaps else ("", "")
    return (
        f"pd.to_datetime(X[{{column}}], format={form!r}{coerced})",
        f"pl.col({{column}}).str.to_date({form!r}{strict})",
    )

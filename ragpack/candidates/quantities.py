"""Dates, years and numbers with their units, brought to one form each. English month and unit names."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ragpack.text import Span


class Quantity(NamedTuple):
    """One mention."""

    span: Span
    """[start, end) in the text."""
    key: str
    """ISO 8601 for dates, digits without commas for numbers, one name for each unit."""
    kind: Literal["date", "year", "number"]


_MONTHS = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sept sep", "october oct", "november nov", "december dec",
)  # fmt: skip
MONTHS = {name: at for at, names in enumerate(_MONTHS, start=1) for name in names.split()}
"""Lower-case names and short forms of the months, each with its number."""

_UNITS = {
    "%": "% percent", "km": "km kilometre kilometres kilometer kilometers", "mi": "mi mile miles",
    "m": "m metre metres meter meters", "ft": "ft foot feet", "in": "inch inches", "cm": "cm", "mm": "mm",
    "kg": "kg kilogram kilograms", "lb": "lb lbs", "t": "ton tons tonne tonnes", "ha": "ha hectare hectares",
    "acre": "acre acres", "mph": "mph", "km/h": "km/h", "°c": "°C", "°f": "°F", "min": "minute minutes",
    "h": "hour hours", "day": "day days", "week": "week weeks", "month": "month months", "year": "year years",
    "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
}  # fmt: skip
_UNIT = {form.lower(): unit for unit, forms in _UNITS.items() for form in forms.split()}


def _one_of(names: list[str]) -> str:
    return f"(?:{'|'.join(re.escape(name) for name in sorted(names, key=len, reverse=True))})"


_MONTH = _one_of([name.title() for name in MONTHS])
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"""(?<!\w)(?:
        (?P<iso>[12]\d\d\d-[01]\d-[0-3]\d)
      | (?P<day1>{_DAY})(?:\ of)?\s(?P<month1>{_MONTH})\b\.?(?:,?\s(?P<year1>\d{{4}}))?
      | (?P<month2>{_MONTH})\b\.?\s(?P<day2>{_DAY})\b(?:,?\s(?P<year2>\d{{4}}))?
      | (?P<month3>{_MONTH})\b\.?,?\s(?P<year3>\d{{4}})
    )(?!\w)""",
    re.VERBOSE,
)
NUMBER = (
    r"(?<![A-Za-z0-9_])(?<!\d[.,])[$€£¥]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    rf"(?:st|nd|rd|th|s|[ \u00a0\n-]?{_one_of([form for forms in _UNITS.values() for form in forms.split()])})?"
    r"(?![A-Za-z0-9_])"
)
"""Expression, without groups, of a number with currency, ordinal or unit."""
_PARTS = re.compile(r"([$€£¥]?)([\d.,]*\d)(.*)", re.DOTALL)


def dates(text: str) -> list[Quantity]:
    """The dates, each followed by the year in it; `--03-12` is a day without a year.

    >>> [one.key for one in dates("May 3rd, 1980; 3 May; Sept. 1980; 1980-05-03")]
    ['1980-05-03', '1980', '--05-03', '1980-09', '1980', '1980-05-03', '1980']
    """
    found: list[Quantity] = []
    for match in _DATE.finditer(text):
        start = match.start()
        if match["iso"]:
            key, year = match["iso"], (start, start + 4)
        else:
            form = next(form for form in "123" if match[f"month{form}"])
            year = match.span(f"year{form}")
            key = f"{int(match[f'year{form}']):04}" if year[0] >= 0 else "-"
            key += f"-{MONTHS[match[f'month{form}'].lower()]:02}"
            if form != "3":
                key += f"-{int(match[f'day{form}'].rstrip('stndrh')):02}"
        found.append(Quantity(match.span(), key, "date"))
        if year[0] >= 0:
            found.append(Quantity(year, key[:4], "year"))
    return found


def quantity(text: str, start: int, end: int) -> Quantity:
    """The number at [start, end), as `NUMBER` found it. 1000 to 2099 without currency or unit is a year, `1990s` too.

    >>> [quantity(one, 0, len(one)).key for one in ("1,200,000", "3.50 metres", "$4 million", "007", "1990s", "4th")]
    ['1200000', '3.50 m', '$4 million', '7', '1990s', '4th']
    """
    match = _PARTS.fullmatch(text, start, end)
    assert match is not None, text[start:end]
    currency, digits, tail = match.groups()
    tail = tail.lstrip(" \u00a0\n-").lower()
    if not currency and tail in ("", "s") and len(digits) == 4 and digits.isdecimal() and 1000 <= int(digits) < 2100:
        return Quantity((start, end), f"{int(digits)}{tail}", "year")
    plain = digits.replace(",", "")
    if plain.isdecimal():
        plain = str(int(plain)) if len(plain) < 20 else plain  # Subtle: int() refuses some thousands of digits
    unit = _UNIT.get(tail)
    return Quantity((start, end), f"{currency}{plain}{f' {unit}' if unit else tail}", "number")

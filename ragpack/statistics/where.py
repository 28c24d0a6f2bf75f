"""Conditions on rows: `answer_kind=span`, `budget<200`, `policy!=topk|gold`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ragpack.errors import UsageError, did_you_mean
from ragpack.statistics.rows import Bools, Floats, Rows

_CONDITION = re.compile(r"\s*(?P<name>[\w@]+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*\S)\s*")
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
UNKNOWN = "null"
"""How a level that is unknown is written."""


class Condition(NamedTuple):
    """One condition: a name, a sign, and the values of which one is enough."""

    text: str
    name: str
    sign: str
    values: tuple[str, ...]


def read(text: str) -> Condition:
    """Read `name=value`, `name!=value` or `name<value` (also <=, >, >=); `|` parts values of = and !=.

    Raises `UsageError` where it is none of these.

    >>> read("budget = 96|160")[1:]
    ('budget', '=', ('96', '160'))
    """
    found = _CONDITION.fullmatch(text)
    if not found:
        raise UsageError(f"--where: '{text}' is no condition", "Write --where 'answer_kind=span' or 'f1>=0.5'.")
    values = tuple(value.strip() for value in found["value"].split("|"))
    if len(values) > 1 and found["sign"] not in ("=", "!="):
        raise UsageError(f"--where: '{text}' compares with several numbers", "Write one number, or = and !=.")
    return Condition(text, found["name"], found["sign"], values)


def holds(rows: Rows, condition: Condition, names: Mapping[str, str]) -> Bools:
    """[n] rows for which a condition holds. `names` gives factors under other names (`reader`).

    An undefined number fulfils no condition, not even `!=`. A factor compares by its text under = and !=; `null` is
    its unknown level. Raises `UsageError` for an unknown name, a value that is no number, and < of a name.
    """
    name = names.get(condition.name, condition.name)
    if name == "id" and condition.sign in ("=", "!="):
        return _among(
            condition, np.isin(rows.question, [at for at, one in enumerate(rows.names) if one in condition.values])
        )
    if name not in rows.factors and name not in rows.columns:
        known = {*names, *rows.factors, *rows.columns, "id"}
        raise UsageError(f"--where: unknown name '{condition.name}'. {did_you_mean(condition.name, known)}")
    if name in rows.factors and condition.sign in ("=", "!="):
        factor = rows.factors[name]
        wanted = [UNKNOWN if level is None else str(level) for level in factor.levels]
        return _among(condition, np.array([one in condition.values for one in wanted], np.bool_)[factor.codes])
    column = _numbers(rows, name, condition)
    try:
        numbers = [float(value) for value in condition.values]
    except ValueError:
        raise UsageError(f"--where: {condition.name} is a number, got '{'|'.join(condition.values)}'") from None
    each = [_SIGNS[condition.sign](column, number) for number in numbers]
    found: Bools = (np.logical_and if condition.sign == "!=" else np.logical_or).reduce(each) & ~np.isnan(column)
    return found


def _among(condition: Condition, found: Bools) -> Bools:
    return ~found if condition.sign == "!=" else found


def _numbers(rows: Rows, name: str, condition: Condition) -> Floats:
    if name in rows.columns:
        return rows.columns[name]
    factor = rows.factors[name]
    if not all(isinstance(level, int | None) for level in factor.levels):
        raise UsageError(f"--where: {condition.name} is a name: it can be = or !=, not {condition.sign}")
    return np.array([np.nan if level is None else level for level in factor.levels], np.float64)[factor.codes]

"""Rows of the diagnostic for tests of statistics, from the numbers alone."""

from ragpack.statistics.rows import FACTORS, METRICS, collect

NAN = float("nan")


def rows_of(found, **levels):
    """Rows from (question, policy, seed, {metric: value}); a metric that is not given is undefined.

    `levels`: other factors, the same for all rows or a list of each row's."""
    names = dict.fromkeys([*METRICS, *(name for *_, values in found for name in values)])
    columns = {name: [values.get(name, NAN) for *_, values in found] for name in names}
    factors = {name: [None] * len(found) for name in FACTORS} | {
        "policy": [policy for _, policy, *_ in found],
        "budget": [9] * len(found),
        "seed": [seed for _, _, seed, _ in found],
        "answer_kind": ["span"] * len(found),
    }
    for name, level in levels.items():
        factors[name] = level if isinstance(level, list) else [level] * len(found)
    return collect([question for question, *_ in found], factors, columns)

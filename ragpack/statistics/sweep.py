"""Table 9: quality against tokens, over policies and budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragpack.statistics.bootstrap import interval
from ragpack.statistics.estimates import Part, drawn, ends, mean_interval, mean_part, ratio
from ragpack.statistics.needs import score_of
from ragpack.statistics.oracle import shared_instances
from ragpack.statistics.paired import pair, pairs_of
from ragpack.statistics.rows import Bools, Floats, Level, Options, Row, Rows, axes, mean

DIGITS = 9
"""Means that agree in so many decimals are equal."""

KINDS = ("mean", "contrast", "iso", "pareto")

Finish = Callable[[list[Floats]], None]


class Point(NamedTuple):
    """A policy at a budget."""

    policy: Level
    budget: Level
    rows: Bools
    """[n] its rows."""
    tokens: float
    """Mean tokens of its contexts."""


class Sweep:
    """The table in the making: rows wait for their draws, which all are drawn together."""

    def __init__(self, part: Rows, labels: Row, score: str, options: Options) -> None:
        self.part, self.labels, self.score, self.options = part, labels, score, options
        self.points = _points(part)
        self.table: list[Row] = []
        self.parts: list[Part] = []
        self.steps: list[tuple[int, Finish]] = []

    def row(self, kind: str, **columns: Any) -> Row:  # noqa: ANN401 # the columns of a row
        """A new row, at the end of the table."""
        made: Row = {**self.labels, "kind": kind, **columns}
        self.table.append(made)
        return made

    def later(self, parts: list[Part], done: Finish) -> None:
        """Call `done` with the draws of `parts`."""
        self.parts += parts
        self.steps.append((len(parts), done))

    def finish(self, draws: Iterator[Floats]) -> list[Row]:
        """The rows, complete."""
        for count, done in self.steps:
            done(list(islice(draws, count)))
        for row in self.table:
            row["method"] = self.options.method
        return self.table


def sweep(rows: Rows, options: Options) -> list[Row]:
    """Means, contrasts, iso-quality and the Pareto frontier over policies × budgets, for each model.

    `kind` tells four sorts of rows apart. The score is F1, or answer_in_context where no row has an F1.

    - `mean`: a policy at a budget, where there are several.
    - `contrast`: policy − baseline at each of several budgets, for the contrasts asked for; not corrected.
    - `iso`: the budget at which a policy is as good as the baseline at its own with the fewest tokens: the largest
      saving for which the interval of the paired difference does not fall below −margin. Budget null: there is none.
      Without contrasts each policy is compared with itself at larger budgets.
    - `pareto`: the points on the instances that all of them have. `on_frontier`: no other point has as high a score for
      as few tokens, and is better in one of them. `frontier_share` is the share of resamples in which it holds.

    Source: P1 §6 (budget sweep, iso-quality).
    """
    own = axes(("model",), tuple(name for name in options.by if name not in ("policy", "budget")))
    score = score_of(rows)
    made = [Sweep(part, labels, score, options) for labels, part in rows.split(own)]
    for one in made:
        if len(one.part.levels("budget")) > 1:
            _means(one)
            _contrasts(one)
        _iso(one)
        _pareto(one)
    draws = iter(drawn([part for one in made for part in one.parts], options))
    table = [row for one in made for row in one.finish(draws)]
    return sorted(table, key=lambda row: KINDS.index(row["kind"]))


def _points(part: Rows) -> list[Point]:
    tokens = part.column("tokens")
    found = []
    for policy in part.levels("policy"):
        of_policy = part.is_level("policy", policy)
        for budget in part.where(of_policy).levels("budget"):
            mask = of_policy & part.is_level("budget", budget)
            found.append(Point(policy, budget, mask, float(tokens[mask].mean())))
    return found


def _means(sweep: Sweep) -> None:
    part, options = sweep.part, sweep.options
    for point in sweep.points:
        question = part.question[point.rows]
        row = sweep.row("mean", policy=point.policy, budget=point.budget, n=len(question),
                        questions=len(np.unique(question)))  # fmt: skip
        names = ("f1", "answer_in_context")
        parts = []
        for name in names:
            column = part.column(name)[point.rows]
            row[name], row[f"{name}_n"] = mean(column)
            row[f"{name}_ci"] = None
            parts.append(mean_part(question, column))
        row["tokens"] = point.tokens
        row["prompt_tokens"] = mean(part.column("prompt_tokens")[point.rows]).value

        def done(draws: list[Floats], row: Row = row, names: tuple[str, ...] = names) -> None:
            for name, found in zip(names, draws, strict=True):
                row[f"{name}_ci"] = ends(mean_interval(found, options))

        sweep.later(parts, done)


def _contrasts(sweep: Sweep) -> None:
    """The same contrast over the budgets."""
    at = {(point.policy, point.budget): point for point in sweep.points}
    for policy, baseline in pairs_of(sweep.part, sweep.options):
        for point in (one for one in sweep.points if one.policy == policy and (baseline, one.budget) in at):
            found = _compare(sweep, point, at[baseline, point.budget])
            row = sweep.row("contrast", policy=policy, baseline=baseline, budget=point.budget, **found.counts,
                            difference=found.difference, ci=None)  # fmt: skip

            def done(draws: list[Floats], row: Row = row) -> None:
                row["ci"] = ends(mean_interval(draws[0], sweep.options))

            sweep.later([found.part], done)


class Compared(NamedTuple):
    """One point against another, on the instances that both have with a score."""

    counts: Row
    difference: float | None
    part: Part
    tokens: float
    """Mean tokens of the first, on these instances; 0 without any."""
    other: float


def _compare(sweep: Sweep, ours: Point, theirs: Point) -> Compared:
    rows = sweep.part
    paired = pair(rows, ours.rows, theirs.rows)
    column, tokens = rows.column(sweep.score), rows.column("tokens")
    difference = column[paired.ours] - column[paired.theirs]
    kept = ~np.isnan(difference)
    average = mean(difference)
    counts = {"n": average.n, "questions": len(np.unique(paired.question[kept])),
              "excluded": paired.excluded + len(difference) - average.n, "score": sweep.score}  # fmt: skip
    cost, other = (mean(tokens[side][kept]).value or 0.0 for side in (paired.ours, paired.theirs))
    return Compared(counts, average.value, mean_part(paired.question, difference), cost, other)


def _iso(sweep: Sweep) -> None:
    """For each baseline point the cheapest point of the policy that is as good."""
    options = sweep.options
    wanted: list[tuple[Level, Level]] = [*pairs_of(sweep.part, options)]
    if not options.pairs:
        wanted = [(level, level) for level in sweep.part.levels("policy")]
    for policy, baseline in wanted:
        for target in (one for one in sweep.points if one.policy == baseline):
            cheaper = []
            for point in (one for one in sweep.points if one.policy == policy and one is not target):
                found = _compare(sweep, point, target)
                if found.counts["n"] and found.tokens < found.other:
                    cheaper.append((found, point.budget))
            cheaper.sort(key=lambda pair: pair[0].tokens)
            if cheaper:
                row = sweep.row("iso", policy=policy, budget=None, baseline=baseline, baseline_budget=target.budget,
                                tried=len(cheaper), n=None, questions=None, excluded=None, score=sweep.score,
                                difference=None, ci=None, tokens=None, baseline_tokens=None, saved=None,
                                margin=options.margin)  # fmt: skip
                sweep.later([found.part for found, _ in cheaper], _iso_into(row, cheaper, options))


def _iso_into(row: Row, cheaper: list[tuple[Compared, Level]], options: Options) -> Finish:
    def done(draws: list[Floats]) -> None:
        for (found, budget), drawn_ in zip(cheaper, draws, strict=True):
            between = mean_interval(drawn_, options)
            if between.low is not None and between.low >= -options.margin:
                row.update(found.counts, budget=budget, difference=found.difference, ci=ends(between))
                row.update(tokens=found.tokens, baseline_tokens=found.other, saved=1 - found.tokens / found.other)
                return

    return done


def _pareto(sweep: Sweep) -> None:
    """The points on the instances that all of them have."""
    part, points = sweep.part, sweep.points
    shared = shared_instances(part, sweep.score, [point.rows for point in points])
    count = shared.rows.shape[1]
    if len(points) < 2 or not count:
        return
    question = part.question[shared.rows[0]]
    scores, tokens = part.column(sweep.score)[shared.rows], part.column("tokens")[shared.rows]
    on = on_frontier(scores.mean(axis=1)[None], tokens.mean(axis=1)[None])[0]
    rows = []
    for at, point in enumerate(points):
        row = sweep.row("pareto", policy=point.policy, budget=point.budget, n=count, questions=len(np.unique(question)),
                        excluded=shared.excluded, score=sweep.score)  # fmt: skip
        row |= {sweep.score: float(scores[at].mean()), f"{sweep.score}_ci": None, "tokens": float(tokens[at].mean()),
                "on_frontier": bool(on[at]), "frontier_share": None}  # fmt: skip
        rows.append(row)

    def done(draws: list[Floats]) -> None:
        means = [(ratio(found, 0, 2), ratio(found, 1, 2)) for found in draws]
        up, cost = np.stack([one for one, _ in means], axis=1), np.stack([one for _, one in means], axis=1)
        for row, (score, _) in zip(rows, means, strict=True):
            row[f"{sweep.score}_ci"] = ends(interval(score, sweep.options.level))
        if len(np.unique(question)) > 1:  # one question drawn anew is itself
            for row, share in zip(rows, on_frontier(up, cost).mean(axis=0), strict=True):
                row["frontier_share"] = float(share)

    each = [Part(question, np.column_stack([scores[at], tokens[at], np.ones(count)])) for at in range(len(points))]
    sweep.later(each, done)


def on_frontier(score: Floats, tokens: Floats) -> NDArray[np.bool_]:
    """[r, p] is a point undominated in its row: does no other have a score as high for as few tokens, one of them
    better? Equal points are on the frontier together. O(r p log p): along falling scores of rising tokens.

    >>> on_frontier(np.array([[0.4, 0.5, 0.3]]), np.array([[100.0, 150.0, 120.0]])).tolist()
    [[True, True, False]]
    """
    # Means over the same rows differ in their last bits by the order of summing.
    score, tokens = np.round(score, DIGITS), np.round(tokens, DIGITS)
    order = np.lexsort((-score, tokens), axis=1)
    up, cost = np.take_along_axis(score, order, axis=1), np.take_along_axis(tokens, order, axis=1)
    highest = np.full(up.shape, -np.inf)  # of the cheaper points
    highest[:, 1:] = np.maximum.accumulate(up, axis=1)[:, :-1]
    reached = np.zeros(up.shape, np.int64)  # where they first reach it
    rises = np.where(up > highest, np.arange(up.shape[1]), 0)
    reached[:, 1:] = np.maximum.accumulate(rises, axis=1)[:, :-1]
    dominated = (highest > up) | ((highest == up) & (np.take_along_axis(cost, reached, axis=1) < cost))
    held = np.empty(up.shape, np.bool_)
    np.put_along_axis(held, order, ~dominated, axis=1)
    return held

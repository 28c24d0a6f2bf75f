"""What a person is shown of each table: columns in their order, heads, titles, and the sentences under it.

JSONL, CSV and JSON have all columns. A label that `--by` adds stands among those listed here.
"""

from __future__ import annotations

from collections.abc import Callable

from ragpack.records import Raw
from ragpack.statistics.scope import READER, SHARE

SHOWN: dict[str, tuple[str, ...]] = {
    "policies": ("model", "policy", "budget", "n", "missing", "failed", "f1", "f1_ci", "em", "answer_in_context",
                 "answer_in_context_ci", "graded", "gold_doc_coverage", "all_gold_in_context", "gold_token_density",
                 "tokens", "prompt_tokens", "nte", "nte_ci", "probe_calls", "probe_tokens", "certified",
                 "certified_p05"),
    "correlations": ("model", "metric", "feature", "n", "undefined", "pearson", "pearson_ci", "spearman",
                     "spearman_ci"),
    "conditional": ("model", "subset", "metric", "n", "undefined", "given_1", "given_1_n", "given_0", "given_0_n",
                    "difference", "difference_ci", "ratio", "ratio_ci", "lost"),
    "incremental": ("model", "metric", "base", "feature", "n", "undefined", "r2_base", "r2_full", "delta_r2",
                    "delta_r2_ci", "beta_base", "beta", "beta_se", "beta_ci", "p", "partial", "partial_ci", "corr"),
    "contrasts": ("model", "policy", "baseline", "budget", "metric", "n", "excluded", "difference", "ci", "p",
                  "p_adjusted", "significant"),
    "mediation": ("model", "policy", "baseline", "budget", "n", "excluded", "f1", "f1_ci", "em", "em_ci",
                  "answer_in_context", "answer_in_context_ci", "gold_doc_coverage", "gold_doc_coverage_ci",
                  "f1_given_1", "f1_given_0", "f1_expected", "f1_expected_ci"),
    "decomposition": ("model", "policy", "baseline", "budget", "group", "n", "excluded", "share", "gain", "gain_ci",
                      "contribution", "contribution_ci", "share_of_gain", "all_gold", "all_gold_baseline"),
    "oracle": ("model", "budget", "policy", "n", "excluded", "f1", "f1_ci", "em", "answer_in_context",
               "answer_in_context_ci", "tokens", "headroom", "headroom_ci", "best", "sole_best"),
    "sweep-mean": ("model", "policy", "budget", "n", "f1", "f1_ci", "answer_in_context", "answer_in_context_ci",
                   "tokens", "prompt_tokens"),
    "sweep-contrast": ("model", "policy", "baseline", "budget", "score", "n", "excluded", "difference", "ci"),
    "sweep-iso": ("model", "policy", "budget", "baseline", "baseline_budget", "n", "excluded", "score", "difference",
                  "ci", "tokens", "baseline_tokens", "saved", "tried"),
    "sweep-pareto": ("model", "policy", "budget", "n", "excluded", "f1", "f1_ci", "answer_in_context",
                     "answer_in_context_ci", "tokens", "on_frontier", "frontier_share"),
    "scope": ("model", "budget", "dataset", "questions", "several_gold", "all_gold_in_hits", "left_out", "lost_gold",
              "f1_given_1", "complementary", "surfaced", "binds", "reader_limits", "all_four", "policy", "baseline",
              "pairs", "excluded", "score", "difference", "ci"),
}  # fmt: skip

LABELS = ("model", "policy", "baseline", "budget", "dataset", "seed", "answer_kind", "kind", "subset", "metric",
          "base", "feature", "group", "score")  # fmt: skip
"""Columns of names, set to the left."""
TO_TITLE = ("model", "dataset", "baseline", "score")
"""Labels that go into the title where all rows have the same: a screen is narrow."""
ONLY_IF_ANY = ("missing", "failed", "excluded", "undefined")
"""Counts that are shown where they are not 0 throughout."""
PERCENT = (
    "best",
    "sole_best",
    "saved",
    "frontier_share",
    "several_gold",
    "all_gold_in_hits",
    "left_out",
    "lost_gold",
    "share",
)
"""Shares; shown as whole percentages."""
DIGITS = {"tokens": 1, "prompt_tokens": 1, "baseline_tokens": 1, "probe_tokens": 1, "probe_calls": 1, "p": 4,
          "p_adjusted": 4, "ratio": 2, "ratio_ci": 2, "nte": 2, "nte_ci": 2, "share_of_gain": 2}  # fmt: skip
"""Decimals where they are not three."""

CI = "95 % CI"
HEADS = {"answer_in_context": "AiC", "gold_doc_coverage": "coverage", "all_gold_in_context": "all-gold",
         "gold_token_density": "density", "f1": "F1", "em": "EM", "given_1": "AiC=1", "given_0": "AiC=0",
         "given_1_n": "n₁", "given_0_n": "n₀", "p_adjusted": "p adj.", "significant": "signif.", "nte": "NTE",
         "probe_calls": "probes", "certified": "certified", "certified_p05": "5 % quantile", "r2_base": "R² base",
         "r2_full": "R² full", "delta_r2": "ΔR²", "beta_base": "β base", "beta": "β", "beta_se": "SE",
         "corr": "r(base, feature)", "partial": "partial r", "f1_given_1": "F1, AiC=1", "f1_given_0": "F1, AiC=0",
         "f1_expected": "F1 expected", "share_of_gain": "of the gain", "all_gold_baseline": "all-gold base",
         "all_gold": "all-gold", "baseline_budget": "base at", "baseline_tokens": "its tokens",
         "on_frontier": "frontier", "frontier_share": "in resamples", "several_gold": "≥ 2 gold",
         "all_gold_in_hits": "all-gold found", "left_out": "left out", "lost_gold": "gold lost",
         "reader_limits": "reader", "all_four": "all four",
         "sole_best": "alone best", "tried": "cheaper", "pearson": "Pearson", "spearman": "Spearman"}  # fmt: skip
HEADS_IN: dict[str, dict[str, str]] = {
    "mediation": {"f1": "ΔF1", "em": "ΔEM", "answer_in_context": "ΔAiC", "gold_doc_coverage": "Δcoverage"},
}
"""Heads that differ in one table."""

TITLES = {"policies": "Policies", "correlations": "What goes with answer quality",
          "conditional": "With and without the answer in the context",
          "incremental": "What a feature tells beyond recall", "contrasts": "Contrasts with the baseline",
          "mediation": "The answer in the context, and the score, side by side",
          "decomposition": "Which questions the difference comes from", "oracle": "The best policy for each question",
          "sweep-mean": "Sweep: means", "sweep-contrast": "Sweep: the contrast over budgets",
          "sweep-iso": "Sweep: the same quality for fewer tokens", "sweep-pareto": "Sweep: Pareto frontier",
          "scope": "Where packing can help"}  # fmt: skip


def _policies(found: list[Raw]) -> list[str]:
    notes = []
    if any(row["missing"] for row in found):
        notes.append("missing: instances that another policy has and this one has not; they are in no mean.")
    if any(row["failed"] for row in found):
        notes.append("failed: lacking instances of a question that a stage failed on.")
    if any(row.get("nte") is not None for row in found):
        notes.append("NTE: F1 over prompt tokens, each relative to the baseline.")
    if any(row.get("certified") is not None for row in found):
        notes.append("certified: the objective reaches at least this share of its largest value; mean, and 5 % "
                     "quantile of the packs.")  # fmt: skip
    return notes


def _contrasts(found: list[Raw]) -> list[str]:
    unclear = [row for row in found if row["significant"] is False]
    families = ", ".join(dict.fromkeys(row["family"] for row in found if row.get("family")))
    return [f"{len(unclear)} of {len(found)} differences are not significant at 0.05 (corrected: {families})."] * bool(
        unclear
    )


def _decomposition(found: list[Raw]) -> list[str]:
    del found
    return ["entered, left: the answer is in the context of the policy alone, of the baseline alone. Contributions of "
            "the groups add up to the whole difference."]  # fmt: skip


def _mediation(found: list[Raw]) -> list[str]:
    del found
    return ["All of Δ are differences policy − baseline on the same pairs. F1 expected: ΔAiC × (F1 with "
            "AiC=1 − F1 with AiC=0)."]  # fmt: skip


def _oracle(found: list[Raw]) -> list[str]:
    notes = ["The oracle knows the answers: it is a ceiling, not a policy. best: reaches the largest score of the "
             "question, ties included."]  # fmt: skip
    tied = [row["all_tied"] for row in found if row.get("all_tied") is not None]
    if tied:
        span = f"{min(tied):.0%}" if min(tied) == max(tied) else f"{min(tied):.0%} to {max(tied):.0%}"
        notes.append(f"All policies score the same on {span} of the instances.".replace("%", " %"))
    return notes


def _iso(found: list[Raw]) -> list[str]:
    margins = " or ".join(dict.fromkeys(f"{row['margin']:g}" for row in found))
    notes = [f"The same quality: the interval of the paired difference does not fall below −{margins}. It is not "
             "corrected for the number of cheaper points."]  # fmt: skip
    none = sum(row["budget"] is None for row in found)
    if none:
        notes.append(f"In {none} of {len(found)} rows no cheaper point is shown to be as good.")
    return notes


def _sweep_contrast(found: list[Raw]) -> list[str]:
    open_ = sum(row["ci"] is not None and None not in row["ci"] and row["ci"][0] <= 0 <= row["ci"][1] for row in found)
    return ["Not corrected; the table contrasts has p-values that are. "
            f"{open_} of {len(found)} intervals hold 0."]  # fmt: skip


def _pareto(found: list[Raw]) -> list[str]:
    del found
    return ["frontier: no other point scores as high for as few tokens. in resamples: how often that holds when the "
            "questions are drawn anew."]  # fmt: skip


def _scope(found: list[Raw]) -> list[str]:
    share = f"{SHARE:.0%}".replace("%", " %")
    notes = [f"complementary: {share} of the questions or more have two gold documents. surfaced: as many have all of "
             f"them retrieved. binds: as many contexts leave something out. reader: F1 with the answer in the context "
             f"is below {READER:g}."]  # fmt: skip
    if any(row.get("difference") is not None for row in found):
        notes.append("The difference is not corrected; the table contrasts has p-values that are.")
    return notes


FEET: dict[str, Callable[[list[Raw]], list[str]]] = {
    "policies": _policies,
    "contrasts": _contrasts,
    "mediation": _mediation,
    "decomposition": _decomposition,
    "oracle": _oracle,
    "sweep-contrast": _sweep_contrast,
    "sweep-iso": _iso,
    "sweep-pareto": _pareto,
    "scope": _scope,
}
"""Sentences under a table, beside the one on how its intervals were made."""

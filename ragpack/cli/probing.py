"""Options of `generate --probe`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from ragpack.cli.options import Options, bundled
from ragpack.cli.reading import Chosen
from ragpack.errors import UsageError


class Probing(NamedTuple):
    """What is asked of each hit."""

    kinds: tuple[str, ...]
    """None: `generate` answers."""
    k: int
    max_tokens: int
    form: str

    def run(self, flow: Any, reader: Chosen) -> int:  # noqa: ANN401 # a Flow, whose module is not loaded for --help
        """Probe instead of answering."""
        from ragpack.flow.run import run_stage
        from ragpack.stages.probe import ProbeParams, open_probe

        params = ProbeParams(reader.name, reader.model, self.kinds, self.k, self.max_tokens, self.form, reader.engine)
        about = {
            "params": {
                "reader": reader.name, "model": reader.model, "probe": list(self.kinds), "k": self.k,
                "max_tokens": self.max_tokens, "form": self.form, "engine": reader.shown,
            }
        }  # fmt: skip
        return run_stage("generate", open_probe, params, flow, about, fields=("hits", "probe"), made="probe")


PROBE: Options = {
    "probe": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--probe",
                metavar="ig|qlm|yesno",
                help="Score each hit instead of answering: hits in, hits out; several with commas, or repeated.",
            ),
        ],
        None,
    ),
    "probe_k": (
        Annotated[int, typer.Option("--probe-k", metavar="K", help="ig: most likely tokens of each step.")],
        128,
    ),
    "probe_tokens": (
        Annotated[int, typer.Option("--probe-tokens", metavar="N", help="ig: most tokens of a rollout.")],
        32,
    ),
    "probe_form": (
        Annotated[
            str,
            typer.Option(
                "--probe-form", metavar="text|chat", help="Plain prompts, or a user's message in the chat template."
            ),
        ],
        "text",
    ),
}


def with_probe(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the probing options; it gets them as `probe`, a `Probing`."""
    return bundled(command, "probe", PROBE, _chosen)


def _chosen(given: dict[str, Any]) -> Probing:
    kinds = tuple(kind.strip() for text in given["probe"] or () for kind in text.split(","))
    if given["probe"] and not all(kinds):
        raise UsageError("--probe: name what to probe: ig, qlm, yesno")
    return Probing(tuple(dict.fromkeys(kinds)), given["probe_k"], given["probe_tokens"], given["probe_form"])

"""Contexts are counted by one tokenizer and read by another: then no budget says what the reader sees."""

from __future__ import annotations

from pathlib import Path

from ragpack.errors import BackendError, UsageError
from ragpack.records import Answered, Packed
from ragpack.tokens import Counter, open_counter


class SameTokenizer:
    """Compares the tokenizer of each pack with the reader's, by fingerprint: a folder may have another name."""

    def __init__(self, model: str | None, given: str | None) -> None:
        """`given` is the reader's tokenizer as the user names it; else that of `model` is looked for, once there is
        something to compare. With neither nothing is compared. Raises `UsageError` or `BackendError` for a `given` that
        is no tokenizer."""
        self._model = given or model
        self._counter: Counter | None = open_counter(given) if given else None
        self._sought = given is not None or model is None
        self._last: str | None = None
        self.notes: list[str] = []

    def check(self, record: Packed | Answered) -> None:
        """Raises `UsageError` where they differ: so will all other records of this run."""
        unit = record.pack.unit
        if unit == self._last:
            return
        counter = self._found()
        if counter is not None and not _same(unit, counter):
            raise UsageError(
                f"id={record.id}: the context was counted by the tokenizer {unit}, the reader's is {counter.unit}",
                f"Pack with --tokenizer {self._model}, or read it all the same: --allow-tokenizer-mismatch.",
            )
        self._last = unit

    def _found(self) -> Counter | None:
        if not self._sought:
            self._sought = True
            assert self._model is not None
            try:
                # What `~` means to the reader.
                folder = Path(self._model).expanduser()
                self._counter = open_counter(str(folder) if folder.exists() else self._model)
            except (UsageError, BackendError):
                self.notes.append(
                    f"no tokenizer of {self._model} was found to compare with the contexts'; --tokenizer names it"
                )
        return self._counter


def _same(unit: str, counter: Counter) -> bool:
    name, _, head = unit.rpartition("@")
    return unit == counter.unit or bool(name and head == counter.fingerprint[:8])

"""A file of specs: a set of policies that stands under version control."""

from __future__ import annotations

from pathlib import Path

from ragpack.errors import UsageError


def read_specs(name: str) -> list[str]:
    """The specs of a file: one or several a line, `#` begins a comment. Raises `UsageError` where there is none."""
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"--policy-file {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--policy-file {name}: not UTF-8 text") from None
    specs = [line.partition("#")[0].strip().rstrip(",") for line in text.splitlines()]
    found = [spec for spec in specs if spec]
    if not found:
        raise UsageError(f"--policy-file {name}: no policy in it", "Write a spec a line: chunk_mmr:lambda=0.5")
    return found

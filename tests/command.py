"""The type of the `ragpack` fixture, and where the repository is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]

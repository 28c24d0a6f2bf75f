"""The reader of the integration tests: SmolLM2-135M-Instruct in vLLM, where both are there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_PLACE = importlib.util.spec_from_file_location("reader_script", Path(__file__).parents[1] / "fixtures" / "reader.py")
_script = importlib.util.module_from_spec(_PLACE)
_PLACE.loader.exec_module(_script)

MODEL: Path = _script.default_folder()
"""The converted folder, as `just reader` leaves it."""

needs_reader = [
    pytest.mark.reader,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None or importlib.util.find_spec("transformers") is None,
        reason="vLLM is not installed (just reader)",
    ),
    pytest.mark.skipif(not (MODEL / "config.json").is_file(), reason="no converted SmolLM2 folder (just reader)"),
]

"""The reader of the integration tests: SmolLM2-135M-Instruct in vLLM, where both are there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"


def script(name: str) -> ModuleType:
    """One of the scripts in `fixtures`, as a module."""
    place = importlib.util.spec_from_file_location(f"fixtures_{name}", FIXTURES / f"{name}.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


MODEL: Path = script("reader").default_folder()
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

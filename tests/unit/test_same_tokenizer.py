"""The tokenizer that counted a context and the one that reads it."""

import shutil

import pytest
from mapped import mapped, rows
from trained import tokenizer

from ragpack.checked import view
from ragpack.errors import BackendError, UsageError
from ragpack.readers.base import Completion, Sample
from ragpack.records import Packed
from ragpack.stages import generate
from ragpack.stages.generate import GenerateParams, open_generate
from ragpack.stages.same_tokenizer import SameTokenizer
from ragpack.tokens import open_counter


def packed(unit, number=1):
    pack = {"policy": "p", "budget": 9, "unit": unit, "tokens": 1, "context": "c", "snippets": [], "dropped": 0}
    return {"schema": "ragpack.pack/1", "id": f"q{number}", "question": "Q?", "hits": [], "pack": pack}


def record(unit):
    return view(packed(unit), (Packed,))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models' folders with tokenizers of their own, and the first one under another name."""
    base = tmp_path_factory.mktemp("models")
    for name, kind in (("small", "byte-level"), ("other", "wordpiece")):
        (base / name).mkdir()
        (base / name / "tokenizer.json").write_text(tokenizer(kind).to_str(), encoding="utf-8")
    shutil.copytree(base / "small", base / "renamed")
    (base / "bare").mkdir()
    return base


class Fake:
    name, model, fingerprint, about, notes = "vllm", "m", "f", {}, ["the server gives 20 at most"]

    def __init__(self):
        self.asked = 0

    def answer(self, requests):
        for request in requests:
            self.asked += 1
            yield Completion(request.id, (Sample("a", "stop", 1),), 5)

    def close(self):
        pass


@pytest.fixture
def fake(monkeypatch):
    reader = Fake()
    monkeypatch.setattr(generate, "load", lambda table, name: lambda model, **_: reader)
    return reader


def test_the_same_under_another_name(folders, fake):
    """The fingerprint tells, not the folder's name."""
    unit = open_counter(str(folders / "small")).unit
    assert unit.startswith("small@")
    for name in ("small", "renamed"):
        stage = open_generate(GenerateParams("vllm", str(folders / name)))
        assert len(rows(stage, [packed(unit), packed(unit, 2)])) == 2
        assert stage.notes() == fake.notes


@pytest.mark.parametrize("unit", ["regex", "other", "tiktoken:cl100k_base@01234567", "small@", "@", ""])
def test_another_one_ends_the_run(folders, fake, unit):
    """All records would fail: the first one says so, with both, and no model is asked."""
    unit = open_counter(str(folders / "other")).unit if unit == "other" else unit
    stage = open_generate(GenerateParams("vllm", str(folders / "small")))
    with pytest.raises(UsageError) as caught:
        mapped(stage, [packed(unit)])
    own = open_counter(str(folders / "small")).unit
    assert caught.value.message == f"id=q1: the context was counted by the tokenizer {unit}, the reader's is {own}"
    assert f"--tokenizer {folders / 'small'}" in caught.value.hint
    assert "--allow-tokenizer-mismatch" in caught.value.hint
    assert fake.asked == 0
    allowed = open_generate(GenerateParams("vllm", str(folders / "small"), any_tokenizer=True))
    assert len(rows(allowed, [packed(unit)])) == 1


def test_a_later_record_is_looked_at_too(folders, fake):
    unit = open_counter(str(folders / "small")).unit
    stage = open_generate(GenerateParams("vllm", str(folders / "small")))
    with pytest.raises(UsageError, match=r"id=q2: .* regex"):
        mapped(stage, [packed(unit), packed("regex", 2)])


def test_a_model_whose_tokenizer_is_not_there_is_not_compared(folders, fake):
    """And that is said, once."""
    stage = open_generate(GenerateParams("vllm", str(folders / "bare")))
    assert len(rows(stage, [packed("regex"), packed("x@01234567", 2)])) == 2
    (said, other) = stage.notes()
    assert said.startswith(f"no tokenizer of {folders / 'bare'} was found to compare")
    assert other == "the server gives 20 at most"


def test_servers_are_compared_where_the_tokenizer_is_named(folders, fake):
    assert len(rows(open_generate(GenerateParams("openai", "m")), [packed("regex")])) == 1
    stage = open_generate(GenerateParams("openai", "m", tokenizer=str(folders / "small")))
    with pytest.raises(UsageError, match="counted by the tokenizer regex"):
        mapped(stage, [packed("regex")])
    assert len(rows(open_generate(GenerateParams("openai", "m", tokenizer="regex")), [packed("regex")])) == 1


def test_the_engine_s_own_tokenizer_counts(folders, fake):
    """`--engine-arg tokenizer=…` reads with another one than the model's."""
    engine = {"engine_args": {"tokenizer": str(folders / "other")}}
    stage = open_generate(GenerateParams("vllm", str(folders / "small"), engine=engine))
    assert len(rows(stage, [packed(open_counter(str(folders / "other")).unit)])) == 1


def test_a_named_one_must_be_there(folders):
    with pytest.raises(UsageError, match="no such file"):
        SameTokenizer(None, "./none.json")
    with pytest.raises(UsageError, match="the extractive reader has none"):
        open_generate(GenerateParams("extractive", tokenizer="regex"))


def test_it_is_looked_for_only_when_needed(folders, monkeypatch):
    """A run whose rows are all cached asks no hub."""
    from ragpack.stages import same_tokenizer

    def none(name):
        raise BackendError("no hub")

    monkeypatch.setattr(same_tokenizer, "open_counter", none)
    check = SameTokenizer("owner/model", None)
    assert check.notes == []
    check.check(record("regex"))
    check.check(record("other@01234567"))
    assert len(check.notes) == 1

"""--prompt-budget: template, question, evidence and answer together."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import mapped, rows

from ragpack.errors import UsageError
from ragpack.readers.prompts.named import TEMPLATES, plain_text
from ragpack.stages.pack import PackParams, open_pack
from ragpack.stages.policies import POLICIES
from ragpack.stages.whole_prompt import WholePrompt
from ragpack.tokens.regex import RegexCounter

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
MODEL = Path(os.environ.get("RAGPACK_CACHE") or CACHE / "ragpack") / "smollm2-135m-instruct"

# answer/1 in tokens of `regex`: the system message has 30 (6 + 6 + 5 + 9 + 4), the words around context and question
# 6 (`Evidence :`, `Question :`, `Answer :`), `(none)` in place of no context 3.
SYSTEM, AROUND, NONE = 30, 6, 3
QUESTION = "Who built the mill?"  # 5
BARE = SYSTEM + AROUND + NONE + 5  # 44
# Lines of 9, 10 and 10 tokens; as one document 23.
BRIDGE = "Ostra Bridge crosses the Lisk. It was built by Ida Vale. Ida Vale also built a mill."


def hits(*texts, question=QUESTION, title="Ostra Bridge"):
    found = [{"rank": n, "id": f"d{n}", "title": title, "text": text, "score": 1.0, "scores": {"ig": 0.1 * n}}
             for n, text in enumerate(texts, 1)]  # fmt: skip
    return {"schema": "ragpack.hits/1", "id": "a", "question": question, "answers": ["Vale"], "gold": ["d1"],
            "hits": found}  # fmt: skip


def params(policy, *limits, **more):
    return PackParams((policy,), (), prompt_budgets=limits, **more)


def pack(record, policy, limit, **more):
    return rows(open_pack(params(policy, limit, **more)), [record])[0]["pack"]


def test_by_hand():
    """100 less 32 for the answer less 41 (44, but no `(none)`) leave 27: two lines of 10 and one less than the third;
    or all 23 of the document; or 27 of two documents."""
    found = pack(hits(BRIDGE), "chunk_packed", 100)
    assert found["prompt"] == {"name": "answer/1", "hash": TEMPLATES["answer/1"].hash, "budget": 100, "reserve": 32,
                               "evidence": 27, "tokens": 41 + 20}  # fmt: skip
    assert (found["tokens"], found["budget"]) == (20, 100)
    found = pack(hits(BRIDGE), "topk", 100)
    assert (found["tokens"], found["prompt"]["tokens"]) == (23, 64)
    found = pack(hits(BRIDGE, BRIDGE + " More."), "topk", 100)
    assert (found["tokens"], found["prompt"]["tokens"], found["prompt"]["evidence"]) == (27, 68, 27)


@pytest.mark.parametrize(("reserve", "limit"), [(0, BARE), (1, BARE + 1), (32, BARE + 32), (500, BARE + 500)])
def test_the_smallest_budget(reserve, limit):
    """Where only `(none)` fits, evidence of its size fits in its place; a token less is refused with the numbers."""
    found = pack(hits("Built by Ida Vale in Orrel.", title=None), "topk", limit, reserve=reserve)
    assert (found["context"], found["prompt"]["tokens"]) == ("Built by Ida", BARE)
    (done,) = mapped(open_pack(params("topk", limit - 1, reserve=reserve)), [hits(BRIDGE)])
    assert done.failed.message == (
        f"--prompt-budget {limit - 1}: the prompt without evidence has 44 tokens and {reserve} are kept for the answer"
    )
    assert "--answer-reserve" in done.failed.hint


def test_a_question_alone_is_too_long():
    """It fails alone: the questions beside it are packed."""
    stage = open_pack(params("chunk_mmr", 120))
    long = hits(BRIDGE, question="mill " * 200)
    done = mapped(stage, [hits(BRIDGE), long, hits(BRIDGE)])
    assert [one.failed is None for one in done] == [True, False, True]
    assert f"has {SYSTEM + AROUND + NONE + 200} tokens" in done[1].failed.message


def test_without_evidence_the_prompt_is_still_counted():
    for record in (hits(), hits("")):
        found = pack(record, "chunk_focused", 100)
        assert (found["context"], found["tokens"], found["prompt"]["tokens"]) == ("", 0, BARE)


def test_both_kinds_of_budget_in_one_run():
    """Context budgets first; each kind in the order given."""
    made = rows(open_pack(PackParams(("topk",), (20, 10), prompt_budgets=(100, 90))), [hits(BRIDGE)])
    assert [(row["pack"]["budget"], "prompt" in row["pack"]) for row in made] == [
        (20, False), (10, False), (100, True), (90, True)]  # fmt: skip
    assert len({row["pack"]["key"] for row in made}) == 4


def test_a_budget_of_the_prompt_is_another_cell_than_one_of_the_context():
    def key(**more):
        return rows(open_pack(PackParams(("topk",), **more)), [hits(BRIDGE)])[0]["pack"]["key"]

    found = [key(budgets=(100,)), key(budgets=(), prompt_budgets=(100,)),
             key(budgets=(), prompt_budgets=(100,), reserve=31)]  # fmt: skip
    assert len(set(found)) == 3
    one, other = (key(budgets=(), prompt_budgets=(400,), prompt=name) for name in TEMPLATES)
    assert one != other


def test_other_prompts():
    """Examples take room: they are counted."""
    more = rows(open_pack(params("topk", 400, prompt="answer-examples/1")), [hits(BRIDGE)])[0]["pack"]["prompt"]
    counting = RegexCounter()
    messages = TEMPLATES["answer-examples/1"].messages(QUESTION, f"Ostra Bridge: {BRIDGE}")
    assert len(messages) > 2
    assert more["tokens"] == sum(counting.count(message["content"]) for message in messages)
    with pytest.raises(UsageError, match=r"unknown prompt 'answr/1'. Did you mean 'answer/1'"):
        open_pack(params("topk", 100, prompt="answr/1"))


def test_a_prompt_of_the_user_s(tmp_path):
    """By hand: `Q :` and `E :` are 4 words, the question 5, the titles 2 for each snippet; 40 less 10 leave 21 for
    evidence of which each line of 10 brings its title along: one fits (4 + 5 + 2 + 10), two would not (33)."""
    (tmp_path / "mine.jinja").write_text(
        "{% for one in snippets %}{{ one.title }} {% endfor %}E: {{ context }}\nQ: {{ question }}"
    )
    name = str(tmp_path / "mine.jinja")
    found = pack(hits(BRIDGE), "chunk_packed", 40, reserve=10, prompt=name)
    assert found["prompt"]["name"] == "mine.jinja"
    assert len(found["snippets"]) == 1
    assert found["prompt"]["tokens"] == 4 + 5 + 2 + found["tokens"] <= 30
    (tmp_path / "mine.jinja").write_text("{{ context }} {{ question }}")
    other = pack(hits(BRIDGE), "chunk_packed", 40, reserve=10, prompt=name)
    assert other["key"] != found["key"]
    assert other["prompt"]["tokens"] == 5 + other["tokens"]


def test_a_plain_prompt_is_another_cell():
    found = pack(hits(BRIDGE), "chunk_packed", 100, chat_template=False)
    assert found["prompt"]["chat_template"] is False
    assert found["prompt"]["tokens"] == 61, "`regex` sees no chat either way"
    assert found["key"] != pack(hits(BRIDGE), "chunk_packed", 100)["key"]


@pytest.mark.parametrize("over", [0, 1, 5, 30])
def test_what_is_over_is_taken_from_the_evidence(over):
    """Templates and tokenizers for which the parts do not add up: a pack that is `over` tokens too long each time is
    asked for less, until prompt and answer fit."""
    whole = WholePrompt("regex", TEMPLATES["answer/1"], 32, RegexCounter())
    asked = []

    def packed(room):
        asked.append(room)
        return "one " * (room + over if room else 0)

    found, prompt = whole.fitted(QUESTION, 100, packed, str)
    assert prompt["tokens"] == 41 + (len(found.split()) or NONE) <= 100 - 32
    assert asked[0] == 27
    assert prompt["evidence"] == asked[-1] == max(27 - over, 0)


WORDS = st.sampled_from(["Ostra", "Bridge", "mill", "1901", "it's", "(none)", "{context}", "\n\nQuestion:", "...", "😀",
                         "{question}", "built."])  # fmt: skip
texts = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=4)


@settings(max_examples=300)
@given(
    texts,
    st.lists(WORDS, max_size=8).map(" ".join),
    st.sampled_from([*POLICIES, "chunk_mmr:layout=grouped,order=edges"]),
    st.integers(0, 60),
    st.sampled_from([0, 7, 32]),
    st.sampled_from(sorted(TEMPLATES)),
)
def test_the_whole_is_never_over(found, question, policy, more, reserve, prompt):
    """Counted again from the messages that `generate` would send; and where `topk` leaves room, all is shown."""
    counting, template = RegexCounter(), TEMPLATES[prompt]

    def size(context):
        return sum(counting.count(message["content"]) for message in template.messages(question, context))

    limit = size("") + reserve + more
    made = pack(hits(*found, question=question), policy, limit, reserve=reserve, prompt=prompt)
    assert made["prompt"]["tokens"] == size(made["context"]) <= limit - reserve
    assert made["prompt"]["evidence"] == limit - reserve - (size("one") - 1)
    assert made["tokens"] == counting.count(made["context"]) <= made["prompt"]["evidence"]
    if policy == "topk" and made["dropped"] and made["context"]:
        # One token more would not fit, or it is a header alone, which is never shown.
        assert made["prompt"]["tokens"] + 3 >= limit - reserve


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"tokenizer": "tiktoken:cl100k_base"}, "a tiktoken encoding has no chat template|needs the extra|not loaded"),
        ({"reserve": -1}, "--answer-reserve: -1 is negative"),
    ],
)
def test_what_cannot_be(more, expected, monkeypatch):
    from ragpack.stages import pack as stage

    monkeypatch.setattr(stage, "open_counter", lambda _: RegexCounter())
    with pytest.raises(UsageError, match=expected):
        open_pack(params("topk", 100, **more))


def test_budgets_that_cannot_be():
    for limits, expected in [
        ((-1,), "-1 is negative"),
        ((9, 9), "give different whole numbers"),
        ((), "whole numbers"),
    ]:
        with pytest.raises(UsageError, match=expected):
            open_pack(params("topk", *limits))


# ---- a real chat template


@pytest.fixture(scope="module")
def folder():
    pytest.importorskip("transformers", reason="transformers is not installed: just reader")
    if not MODEL.is_dir():
        pytest.skip(reason="the SmolLM2 folder is not there: just reader")
    return MODEL


@pytest.mark.parametrize("policy", ["topk", "chunk_focused", "ragpack", "chunk_submod"])
def test_the_chat_template_is_counted(folder, policy):
    """`prompt.tokens` is the length of the prompt that transformers makes of the messages, BOS and roles included."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    question = "Who built the mill — and when?"
    record = hits(BRIDGE, "The mill burnt in 1901. 空鈴琴 😀", BRIDGE + " It is long.", question=question)
    for limit in (105, 120, 170, 999):
        found = rows(open_pack(params(policy, limit, tokenizer=str(folder), reserve=16)), [record])[0]["pack"]
        messages = TEMPLATES["answer/1"].messages(question, found["context"])
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        assert found["prompt"]["tokens"] == len(tokenizer(text, add_special_tokens=False)["input_ids"]) <= limit - 16
        if policy == "topk" and found["dropped"]:
            assert found["prompt"]["tokens"] > limit - 16 - 4, "room was left"


def test_another_chat_template_is_another_key(folder, tmp_path):
    """The tokenizer is the same, the prompt is not: what was packed under the old one may be too long."""
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"):
        if (folder / name).is_file():
            shutil.copy(folder / name, tmp_path / name)

    def packed():
        return rows(open_pack(params("topk", 120, tokenizer=str(tmp_path))), [hits(BRIDGE)])[0]["pack"]

    before = packed()
    assert packed() == before
    template = (tmp_path / "chat_template.jinja").read_text()
    (tmp_path / "chat_template.jinja").write_text("A long preamble of many words. " + template)
    after = packed()
    assert after["prompt"]["evidence"] < before["prompt"]["evidence"]
    assert after["key"] != before["key"]


def test_a_model_without_a_chat_template(folder, tmp_path):
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(folder / name, tmp_path / name)
    with pytest.raises(UsageError, match="it has no chat template") as caught:
        open_pack(params("topk", 120, tokenizer=str(tmp_path)))
    assert "--no-chat-template" in caught.value.hint


def test_a_plain_prompt_is_counted_as_it_is(folder, tmp_path):
    """A base model's folder: the joined messages, and no BOS, since this tokenizer puts none."""
    import transformers

    for name in ("tokenizer.json", "config.json"):
        shutil.copy(folder / name, tmp_path / name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    found = pack(hits(BRIDGE), "topk", 120, tokenizer=str(tmp_path), chat_template=False)
    text = plain_text(TEMPLATES["answer/1"].messages(QUESTION, found["context"]))
    assert found["prompt"]["tokens"] == len(tokenizer(text)["input_ids"]) <= 120 - 32

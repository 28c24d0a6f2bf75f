"""generate: what is asked of the reader, and what is kept of its reply."""

import orjson
import pytest
from mapped import mapped, rows

from ragpack.readers.base import Completion, Decoding, Likely, Sample, Step
from ragpack.readers.prompts.named import TEMPLATES
from ragpack.stages import generate
from ragpack.stages.generate import GenerateParams, open_generate

PACK = {"policy": "p", "budget": 9, "unit": "regex", "tokens": 1, "snippets": [], "dropped": 0}


def packed(number, context="c"):
    return {"schema": "ragpack.pack/1", "id": f"q{number}", "question": f"Which {number}?", "hits": [],
            "pack": {**PACK, "context": context}}  # fmt: skip


class Saying:
    """Gives these samples to every prompt."""

    name, model, fingerprint, about = "fake", "fake/1", "f", {}

    def __init__(self, *samples):
        self.samples, self.seen, self.most = samples, [], None

    def answer(self, requests):
        for request in requests:
            self.seen.append(request)
            yield Completion(request.id, self.samples, 5)

    def close(self):
        pass


def said(monkeypatch, *samples, record=None, **params):
    """What one record gets, and the reader that was asked."""
    reader = Saying(*samples)

    def opened(model, *, most_logprobs, **_):
        reader.most = most_logprobs
        return reader

    monkeypatch.setattr(generate, "load", lambda table, name: opened)
    stage = open_generate(GenerateParams("openai", "m", **params))
    (done,) = mapped(stage, [record or packed(1)])
    return (done.failed.message if done.failed else orjson.loads(done.rows[0])["generate"]), reader


def steps(*logprobs):
    return tuple(
        Step(Likely(f"t{n}", n, value), (Likely("a", 7, -0.5), Likely("b", None, None), Likely("c", 9, -2.0)))
        for n, value in enumerate(logprobs)
    )


def test_a_greedy_row_has_no_new_field(monkeypatch):
    made, reader = said(monkeypatch, Sample("Ida", "stop", 2))
    assert list(made) == ["reader", "model", "prompt", "answer", "finish", "tokens", "key"]
    assert reader.seen[0].decoding == Decoding()
    assert reader.most == 0


def test_several_samples_are_all_kept(monkeypatch):
    samples = Sample(" Ida ", "stop", 2, -0.5), Sample("", "length", 3, -1.25)
    made, reader = said(monkeypatch, *samples, temperature=0.7, top_p=0.9, seed=5, n=2, stop=("\n",), logprob=True)
    assert made["answer"] == "Ida"
    assert made["sampling"] == {"temperature": 0.7, "top_p": 0.9, "seed": 5, "n": 2}
    assert made["samples"] == [
        {"answer": "Ida", "finish": "stop", "tokens": 2, "logprob": -0.5},
        {"answer": "", "finish": "length", "tokens": 3, "logprob": -1.25},
    ]
    assert (made["finish"], made["logprob"], made["stop"]) == ("stop", -0.5, ["\n"])
    assert made["tokens"] == {"prompt": 5, "completion": 5}, "those of the whole call"
    how = reader.seen[0].decoding
    assert (how.temperature, how.top_p, how.seed, how.n, how.stop, how.logprobs) == (0.7, 0.9, 5, 2, ("\n",), 0)
    made, _ = said(monkeypatch, Sample("Ida", "stop", 2), temperature=0.7)
    assert "samples" not in made
    assert made["sampling"]["seed"] == 0, "a seed that nobody gave is told"


@pytest.mark.parametrize("given", [1, 3])
def test_another_number_of_samples_is_a_failed_row(monkeypatch, given):
    failed, _ = said(monkeypatch, *[Sample("a", "stop", 1)] * given, temperature=1, n=2)
    assert failed == f"the reader gave {given} answers of 2"


def test_an_empty_completion_is_an_answer(monkeypatch):
    made, _ = said(monkeypatch, Sample(" \n", "stop", 0))
    assert (made["answer"], made["finish"], made["tokens"]["completion"]) == ("", "stop", 0)


def test_the_first_line_alone(monkeypatch):
    made, _ = said(monkeypatch, Sample("\n \nIda Vale \nEvidence: x\n", "length", 9), first_line=True)
    assert (made["answer"], made["raw"], made["post"]) == ("Ida Vale", "Ida Vale \nEvidence: x", ["first_line"])
    made, _ = said(monkeypatch, Sample(" Ida\n", "stop", 1), first_line=True)
    assert (made["answer"], made["post"], "raw" in made) == ("Ida", ["first_line"], False)
    made, _ = said(monkeypatch, Sample("\n", "stop", 1), first_line=True)
    assert (made["answer"], "raw" in made) == ("", False)
    made, _ = said(monkeypatch, *[Sample("a\nb", "stop", 1)] * 2, first_line=True, temperature=1, n=2)
    assert made["samples"] == [{"answer": "a", "raw": "a\nb", "finish": "stop", "tokens": 1}] * 2


def test_log_probabilities_of_tokens(monkeypatch):
    sample = Sample("Ida", "stop", 2, -0.75, steps(-0.5, -0.25))
    made, reader = said(monkeypatch, sample, logprobs=2)
    assert (reader.most, reader.seen[0].decoding.logprobs) == (2, 2)
    top = [["a", 7, -0.5], ["b", None, None]]
    assert made["token_logprobs"] == [
        {"token": "t0", "id": 0, "logprob": -0.5, "top": top},
        {"token": "t1", "id": 1, "logprob": -0.25, "top": top},
    ]
    made, reader = said(monkeypatch, sample, logprobs=0)
    assert made["token_logprobs"] == [
        {"token": "t0", "id": 0, "logprob": -0.5},
        {"token": "t1", "id": 1, "logprob": -0.25},
    ]
    nameless = Sample("I", "stop", 1, -1.0, (Step(Likely("I", None, -1.0)),))
    made, _ = said(monkeypatch, nameless, logprobs=0)
    assert made["token_logprobs"] == [{"token": "I", "logprob": -1.0}]


NAN = float("nan")


@pytest.mark.parametrize(
    ("sample", "params", "expected"),
    [
        (Sample("a", "stop", 1), {"logprob": True}, "gave no log-probability"),
        (Sample("a", "stop", 1, -1.0), {"logprobs": 3}, "gave no log-probabilities of tokens"),
        (Sample("a", "stop", 1, NAN), {"logprob": True}, "gave nan for a log-probability"),
        (Sample("a", "stop", 1, float("-inf")), {"logprob": True}, "gave -inf for"),
        (Sample("a", "stop", 1, -1.0, steps(NAN)), {"logprobs": 0}, "gave nan for"),
        (
            Sample("a", "stop", 1, -1.0, (Step(Likely("a", 1, -1.0), (Likely("b", 2, NAN),)),)),
            {"logprobs": 1},
            "gave nan",
        ),
    ],
)
def test_log_probabilities_that_are_none_fail_the_row(monkeypatch, sample, params, expected):
    """Never a null that could mean something else, and never silence."""
    failed, _ = said(monkeypatch, sample, **params)
    assert failed.startswith("the reader fake ")
    assert expected in failed


def test_a_plain_text_in_place_of_messages(monkeypatch):
    made, reader = said(monkeypatch, Sample("a", "stop", 1), chat_template=False)
    (request,) = reader.seen
    assert made["chat_template"] is False
    assert request.messages is None
    assert request.text == f"{TEMPLATES['answer/1'].system}\n\nEvidence:\nc\n\nQuestion: Which 1?\nAnswer:"
    assert (request.question, request.context) == ("Which 1?", "c")


def test_an_empty_context_is_asked_about(monkeypatch):
    made, reader = said(monkeypatch, Sample("a", "stop", 1), record=packed(1, ""))
    assert made["answer"] == "a"
    assert "Evidence:\n(none)\n" in reader.seen[0].messages[-1]["content"]


def test_a_prompt_of_the_user_s(monkeypatch, tmp_path):
    (tmp_path / "mine.jinja").write_text("{% if context %}{{ context }} {{ question }}{% endif %}")
    prompt = str(tmp_path / "mine.jinja")
    made, reader = said(monkeypatch, Sample("a", "stop", 1), prompt=prompt)
    assert reader.seen[0].messages == [{"role": "user", "content": "c Which 1?"}]
    assert made["prompt"]["name"] == "mine.jinja"
    failed, reader = said(monkeypatch, Sample("a", "stop", 1), prompt=prompt, record=packed(1, ""))
    assert failed == "the prompt mine.jinja renders to nothing: there is no user message"
    assert reader.seen == []


def test_snippets_decide_only_where_they_are_printed(tmp_path):
    (tmp_path / "with.jinja").write_text("{{ question }} {{ snippets | map(attribute='title') | join(', ') }}")
    snippet = {"id": "d", "title": "A", "rank": 1, "span": [0, 1], "tokens": 1, "relevance": 1.0}
    one = packed(1)
    one["pack"] = {**one["pack"], "snippets": [snippet]}
    other = packed(1)
    other["pack"] = {**other["pack"], "snippets": [{**snippet, "title": "B"}]}

    def key(record, prompt):
        return rows(open_generate(GenerateParams("extractive", prompt=prompt)), [record])[0]["generate"]["key"]

    assert key(one, "answer/1") == key(other, "answer/1")
    prompt = str(tmp_path / "with.jinja")
    assert key(one, prompt) != key(other, prompt)


def test_keys_of_earlier_versions_stay():
    """An answers file of version 0 of these options: its rows are still found by --resume."""
    (row,) = rows(open_generate(GenerateParams("extractive")), [packed(1)])
    assert row["generate"]["key"] == "5ecfedfe2bba207310295ab14a6761e0"
    changed = {
        rows(open_generate(GenerateParams("extractive", **params)), [packed(1)])[0]["generate"]["key"]
        for params in ({"first_line": True}, {"chat_template": False}, {"stop": ("x",)}, {"temperature": 1.0},
                       {"temperature": 1.0, "n": 2}, {"temperature": 1.0, "seed": 1})
    }  # fmt: skip
    assert len(changed | {"5ecfedfe2bba207310295ab14a6761e0"}) == 7

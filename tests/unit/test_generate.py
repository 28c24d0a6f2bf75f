"""generate: order, refusals, look-ahead, with readers that answer as they like."""

import itertools

import pytest
from mapped import mapped, rows

from ragpack.errors import BackendError, DataError, UsageError
from ragpack.readers.base import Completion, Refusal, Sample
from ragpack.readers.prompts.named import TEMPLATES, open_prompt
from ragpack.stage import Task
from ragpack.stages import generate, session
from ragpack.stages.generate import Asked, GenerateParams, open_generate

PACK = {"policy": "p", "budget": 9, "unit": "regex", "tokens": 1, "snippets": [], "dropped": 0}


def packed(number, context="c"):
    return {"schema": "ragpack.pack/1", "id": f"q{number}", "question": f"Which {number}?", "hits": [],
            "pack": {**PACK, "context": context}}  # fmt: skip


class Fake:
    """Answers in windows of `width`, each in reversed order; refuses what it is told to."""

    name, model, fingerprint, about = "fake", "fake/1", "f", {}

    def __init__(self, width=3, refuse=(), forget=()):
        self.width, self.refuse, self.forget = width, refuse, forget
        self.seen, self.ahead, self.closed = [], 0, False

    def answer(self, requests):
        while window := list(itertools.islice(requests, self.width)):
            self.seen += window
            for request in reversed(window):
                if request.question in self.refuse:
                    yield Refusal(request.id, f"too long: {request.question}")
                elif request.question not in self.forget:
                    yield Completion(request.id, (Sample(f" <{request.question}>\n", "stop", 2),), 5)

    def close(self):
        self.closed = True


ASKED = Asked(TEMPLATES["answer/1"])


def run(reader, tasks, asked=ASKED):
    return list(asked.run(reader, iter(tasks)))


def task(number, wanted=True):
    record = generate.Packed(id=f"q{number}", question=f"Which {number}?", hits=[], pack=_Context(f"c{number}"))
    return Task({}, record if wanted else None, (0,) if wanted else ())


class _Context:
    def __init__(self, context):
        self.context = context


def answers(outcomes):
    return [
        one if isinstance(one, BackendError) else [payload["generate"]["answer"] for payload in one] for one in outcomes
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 50])
@pytest.mark.parametrize("pattern", ["+", "+++++++", "-", "---", "+-+--++-", "--+++-", "-+", "+--------"])
def test_order_is_kept(width, pattern):
    """One outcome a task, in the tasks' order; tasks that want nothing give nothing, and reach no reader."""
    reader = Fake(width)
    outcomes = answers(run(reader, [task(at, sign == "+") for at, sign in enumerate(pattern)]))
    assert outcomes == [[f"<Which {at}?>"] if sign == "+" else [] for at, sign in enumerate(pattern)]
    assert [request.question for request in reader.seen] == [
        f"Which {at}?" for at, sign in enumerate(pattern) if sign == "+"]  # fmt: skip


def test_the_reader_gets_prompt_question_and_context():
    reader = Fake()
    run(reader, [task(4)])
    (request,) = reader.seen
    assert (request.question, request.context) == ("Which 4?", "c4")
    assert request.messages[-1] == {"role": "user", "content": "Evidence:\nc4\n\nQuestion: Which 4?\nAnswer:"}


def test_braces_in_a_context_are_text():
    chat = TEMPLATES["answer/1"].messages("{context}", "{question} {0}")
    assert chat[-1]["content"] == "Evidence:\n{question} {0}\n\nQuestion: {context}\nAnswer:"
    assert "(none)" in TEMPLATES["answer/1"].messages("q", "")[-1]["content"]


def test_a_refusal_fails_its_row_alone(monkeypatch):
    monkeypatch.setattr(generate, "load", lambda table, name: lambda model, **_: Fake(refuse=["Which 1?"]))
    stage = open_generate(GenerateParams("extractive"))
    done = mapped(stage, [packed(0), packed(1), packed(2)])
    assert [len(one.rows) for one in done] == [1, 0, 1]
    assert done[1].failed.message == "too long: Which 1?"
    assert done[1].failed.kind == "BackendError"
    assert done[1].failed.id == "q1"


def test_bad_lines_between_good_ones(monkeypatch):
    reader = Fake(width=2)
    monkeypatch.setattr(generate, "load", lambda table, name: lambda model, **_: reader)
    stage = open_generate(GenerateParams("extractive"))
    done = mapped(stage, [{"id": "bad"}, packed(1), {"id": 7}, packed(3), {"id": "bad"}])
    assert [one.failed is not None for one in done] == [True, False, True, False, True]
    stage.close()
    assert reader.closed


def test_nothing_waits_for_an_answer_that_nobody_awaits():
    """Cached rows pass at once: a long resumed run shows its rows without a call."""

    def tasks():
        for at in range(10):
            yield task(at, wanted=False)
        raise AssertionError("read too far")

    outcomes = ASKED.run(Fake(), tasks())
    assert list(itertools.islice(outcomes, 10)) == [[]] * 10


def test_tasks_held_are_bounded(monkeypatch):
    """Behind an answer that is long in coming at most PATIENCE tasks wait, cached ones included."""
    monkeypatch.setattr(session, "PATIENCE", 5)
    pulled = 0

    def tasks():
        nonlocal pulled
        for at in range(40):
            pulled += 1
            yield task(at, wanted=at % 4 == 0)

    given, most = 0, 0
    for _ in ASKED.run(Fake(width=100), tasks()):
        most = max(most, pulled - given)
        given += 1
    assert given == 40
    assert most <= 6


def test_an_answer_that_never_comes_is_an_error():
    with pytest.raises(BackendError, match="the reader fake gave no answer to 1 prompts"):
        run(Fake(width=3, forget=["Which 0?"]), [task(0), task(1)])


def test_no_tasks_at_all():
    assert run(Fake(), []) == []


def test_what_a_row_holds():
    stage = open_generate(GenerateParams("extractive", keep_prompt=True))
    record = packed(1, "Ostra Bridge: Ida Vale built it.") | {"question": "Who built Ostra Bridge?", "note": 1}
    (row,) = rows(stage, [record])
    assert list(row) == ["schema", "id", "question", "hits", "pack", "generate", "note"]
    assert row["schema"] == "ragpack.answer/1"
    assert list(row["generate"]) == ["reader", "model", "prompt", "answer", "finish", "tokens", "prompt_text", "key"]
    assert row["generate"]["answer"] == "Ida Vale"
    again = rows(stage, [row])[0]
    assert again == row, "an answered record may be answered anew"


def test_keys_follow_what_decides():
    def key(record, **params):
        return rows(open_generate(GenerateParams("extractive", **params)), [record])[0]["generate"]["key"]

    base = packed(1)
    assert key(base) == key({**base, "answers": ["new"], "id": "other"})
    assert len({key(base), key(packed(2)), key(packed(1, "d")), key(base, max_tokens=3), key(base, keep_prompt=True),
                key(base, prompt="answer-examples/1")}) == 6  # fmt: skip


@pytest.mark.parametrize(
    ("params", "expected"),
    [({"max_tokens": 0}, "--max-tokens: 0 is less than 1"), ({"prompt": "anser/1"}, "Did you mean 'answer/1'")],
)
def test_params(params, expected):
    with pytest.raises(UsageError, match=expected):
        open_generate(GenerateParams("extractive", **params))


def test_records_without_a_prompt_fail_alone_and_at_once(tmp_path):
    """Where nothing is awaited the failure comes before the next line is read."""
    (tmp_path / "mine.jinja").write_text("{% if context %}{{ question }}{% endif %}")
    asked = Asked(open_prompt(str(tmp_path / "mine.jinja")))
    reader = Fake(width=3)

    def tasks():
        for at in range(9):
            one = task(at)
            one.record.pack.context = "" if at in (0, 3, 4, 8) else "c"
            yield one

    outcomes = list(asked.run(reader, tasks()))
    assert [isinstance(one, DataError) for one in outcomes] == [at in (0, 3, 4, 8) for at in range(9)]
    assert [one.question for one in reader.seen] == [f"Which {at}?" for at in (1, 2, 5, 6, 7)]

    def one_and_no_more():
        bad = task(0)
        bad.record.pack.context = ""
        yield bad
        raise AssertionError("read too far")

    assert isinstance(next(asked.run(Fake(), one_and_no_more())), DataError)

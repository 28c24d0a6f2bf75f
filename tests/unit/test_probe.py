"""generate --probe: what is asked, what is made of it, and what can go wrong. The reader is a fake."""

import itertools
import math
from types import SimpleNamespace

import pytest
from mapped import failure, mapped, rows

from ragpack.errors import DataError, UsageError
from ragpack.readers import READERS
from ragpack.readers.base import Completion, Refusal, Sample
from ragpack.readers.prompts.probes import CHAT, TEXT
from ragpack.stages import probe
from ragpack.stages.probe import ProbeParams, open_probe, together


def hits(*texts, title="T", **more):
    found = [
        {"rank": n, "id": f"d{n}", "title": title, "text": text, "score": 1 / n} for n, text in enumerate(texts, 1)
    ]
    return {"schema": "ragpack.hits/1", "id": "a", "question": "Who?", "hits": found, **more}


class Fake:
    """Uncertainty is the share of the letter x in the prompt; refuses prompts with `refuse`; windows reversed."""

    name, model, fingerprint, about, notes = "vllm", "fake", "f", {}, ("K fell",)

    def __init__(self, width=3):
        self.width, self.seen, self.options, self.k = width, [], {}, None
        self.choices = (math.log(0.3), math.log(0.1))

    def answer(self, requests):
        while window := list(itertools.islice(requests, self.width)):
            self.seen += window
            for request in reversed(window):
                text = request.text or request.messages[-1]["content"]
                if "refuse" in text:
                    yield Refusal(request.id, "the prompt has 9 tokens: more than 8")
                    continue
                share = text.count("x") / 10
                how = request.decoding
                sample = Sample(
                    "", "stop", 2,
                    uncertainty=(share, share) if how.uncertainty else None,
                    choices=self.choices if how.choices else None,
                )  # fmt: skip
                behind = (-1.0, -2.0) if request.continuation else None
                yield Completion(request.id, (sample,), 7, None, behind, "long" in text, self.k or how.uncertainty)

    def close(self):
        pass


@pytest.fixture
def fake(monkeypatch):
    reader = Fake()

    def opened(model, **options):
        reader.options = options
        return reader

    monkeypatch.setitem(READERS, "fake", "fake:fake")
    monkeypatch.setattr(probe, "load", lambda table, name: opened)
    return reader


def stage(*kinds, **more):
    return open_probe(ProbeParams("fake", "m", kinds or ("ig",), **more))


def test_information_gain_is_what_a_passage_takes_from_uncertainty(fake):
    row = rows(stage(k=50, max_tokens=9), [hits("xx", "xxxxx", "")])[0]
    # Alone `User: Who? Assistant:` has no x: NU 0. With passages: 0.2 and 0.5; an empty one is no passage.
    # The x of `Context:` is one more.
    assert row["probe"]["nu0"] == 0.0
    assert [hit["scores"] for hit in row["hits"]] == [
        {"ig": pytest.approx(-0.3), "nu": pytest.approx(0.3)},
        {"ig": pytest.approx(-0.6), "nu": pytest.approx(0.6)},
        {"ig": 0.0, "nu": 0.0},
    ]
    assert row["probe"] | {"key": None} == {
        "reader": "vllm", "model": "fake", "kind": "ig", "nu0": 0.0, "k": 50, "max_tokens": 9, "eos": "counted",
        "prompt": {"name": "probe/1", "hash": TEXT.hash(("ig",))}, "calls": 3, "tokens": 27, "key": None,
    }  # fmt: skip
    assert [request.text for request in fake.seen] == [
        "User: Who? Assistant:", "User: Who? Context: T: xx Assistant:", "User: Who? Context: T: xxxxx Assistant:"
    ]  # fmt: skip
    assert fake.seen[1].text[slice(*fake.seen[1].cut)] == "T: xx"
    assert fake.options["most_logprobs"] == 50


def test_all_kinds_at_once(fake):
    row = rows(stage("yesno", "ig", "qlm"), [hits("xx")])[0]
    scores = row["hits"][0]["scores"]
    assert scores["yesno"] == pytest.approx(0.75)
    assert scores["qlm"] == -1.5  # the mean of −1 and −2
    assert row["probe"]["kind"] == "ig,qlm,yesno"
    assert row["probe"]["calls"] == 4
    likely = next(request for request in fake.seen if request.continuation)
    assert (likely.text, likely.continuation) == ("Passage: T: xx\nQuestion:", " Who?")


def test_the_same_passage_is_asked_about_once(fake):
    row = rows(stage("ig", "qlm"), [hits("xx", "xx", "x")])[0]
    assert len(fake.seen) == row["probe"]["calls"] == 5  # alone, two rollouts, two likelihoods
    one, two, _ = row["hits"]
    assert one["scores"] == two["scores"]


def test_never_more_than_one_rollout_a_passage_and_one_alone(fake):
    for n in range(6):
        fake.seen.clear()
        found = rows(stage(), [hits(*("x" * at for at in range(1, n + 1)))])
        assert len(fake.seen) == n + 1 == found[0]["probe"]["calls"]


def test_a_chat_form(fake):
    row = rows(stage("ig", "yesno", form="chat"), [hits("xx")])[0]
    assert [request.messages[-1]["content"] for request in fake.seen[:2]] == ["Who?", "Who?\n\nContext: T: xx"]
    assert row["probe"]["prompt"]["name"] == "probe-chat/1"


def test_braces_of_a_passage_are_text(fake):
    rows(stage(), [hits("{question} {passage}")])
    assert fake.seen[1].text == "User: Who? Context: T: {question} {passage} Assistant:"
    assert CHAT.rollout("{passage}?", "p", fake.seen[0].decoding).messages[0]["content"] == "{passage}?\n\nContext: p"


def test_records_keep_their_order_and_their_other_scores(fake):
    records = [hits(*(["x"] * n), id=f"q{n}", meta={"a": 1}) for n in (4, 0, 3, 1)]
    for record in records:
        for hit in record["hits"]:
            hit |= {"scores": {"ce": 0.5}, "mine": 1}
    found = rows(stage(), records)
    assert [row["id"] for row in found] == ["q4", "q0", "q3", "q1"]
    assert all(hit["scores"]["ce"] == 0.5 and hit["mine"] == 1 for row in found for hit in row["hits"])
    assert found[1]["probe"]["calls"] == 1
    assert found[1]["hits"] == []


def test_a_cut_passage_is_flagged(fake):
    assert rows(stage(), [hits("short", "long")])[0]["probe"]["cut"] == [2]


def test_one_refused_passage_is_one_failed_record(fake):
    done = list(mapped(stage(), [hits("a"), hits("b", "refuse", id="q2"), hits("c", id="q3")]))
    assert [one.failed is None for one in done] == [True, False, True]
    assert done[1].failed.message == "ig: hits[1]: the prompt has 9 tokens: more than 8"


def test_a_hit_without_its_text_is_said(fake):
    record = hits("a", "b")
    del record["hits"][1]["text"]
    assert "hits[1]: the text is missing" in failure(stage(), record)


def test_k_that_fell_is_recorded_and_one_for_all(fake):
    fake.k = 20
    assert rows(stage(), [hits("a")])[0]["probe"]["k"] == 20
    values = itertools.cycle([20, 5])

    class Wavering(Fake):
        def answer(self, requests):
            for reply in super().answer(requests):
                yield Completion(reply.id, reply.samples, 1, k=next(values))

    reader = Wavering()
    job = probe.Probing(reader, TEXT, ("ig",), fake.seen[0].decoding)
    outcome = next(job.run(iter([SimpleNamespace(raw=hits("a"), record=SimpleNamespace(
        question="Who?", hits=[SimpleNamespace(title="T", text="a")]), cells=(0,))])))  # fmt: skip
    assert isinstance(outcome, DataError)
    assert "can't be compared" in outcome.message


def test_a_server_that_does_not_say_yes_or_no_gives_null(fake):
    fake.choices = (None, -1.0)
    assert rows(stage("yesno"), [hits("a")])[0]["hits"][0]["scores"]["yesno"] is None


def test_probing_again_adds_another_kind_and_replaces_the_same(fake):
    first = rows(stage(), [hits("x")])[0]
    both = rows(stage("qlm"), [first])[0]
    assert both["probe"]["kind"] == "ig,qlm"
    assert both["probe"]["nu0"] == first["probe"]["nu0"]
    assert both["probe"]["calls"] == 3
    assert set(both["hits"][0]["scores"]) == {"ig", "nu", "qlm"}
    assert rows(stage(), [both])[0]["probe"]["calls"] == 2
    assert together({"nu0": 0.5}, {"kind": "qlm", "calls": 1, "tokens": 2}) == {"kind": "qlm", "calls": 1, "tokens": 2}


@pytest.mark.parametrize(
    ("more", "message"),
    [({"k": 1}, "less than 2"), ({"max_tokens": 0}, "less than 1"), ({"form": "tex"}, "text or chat")],
)
def test_values_out_of_range(fake, more, message):
    with pytest.raises(UsageError, match=message):
        stage(**more)


def test_an_unknown_kind_has_a_suggestion(fake):
    with pytest.raises(UsageError, match="Did you mean 'qlm'"):
        stage("qlmm")


def test_what_decides_is_in_the_key(fake):
    record = hits("x")
    keys = {
        rows(opened, [one])[0]["probe"]["key"]
        for opened, one in [
            (stage(), record), (stage(k=64), record), (stage(max_tokens=8), record), (stage("ig", "qlm"), record),
            (stage(form="chat"), record), (stage(), hits("y")), (stage(), hits("x", title="U")),
            (stage(engine={"max_model_len": 64}), record),
        ]
    }  # fmt: skip
    assert len(keys) == 8
    assert rows(stage(), [record])[0]["probe"]["key"] in keys
    assert stage().notes() == ["K fell"]


def test_the_extractive_reader_has_no_log_probabilities():
    with pytest.raises(UsageError, match="no log-probabilities"):
        open_probe(ProbeParams("extractive", ""))


def test_the_cache_has_probes_as_well(fake, tmp_path):
    """One prompt without a passage for both questions of the run, and nothing at all for the next one."""
    kinds = ("ig", "qlm", "yesno")
    records = [hits("xx", "x"), hits("xx", "xxx") | {"id": "b"}]
    first = rows(stage(*kinds, cache=str(tmp_path)), records)
    assert len(fake.seen) == 1 + 3 + 3 + 3
    fake.seen.clear()
    again = stage(*kinds, cache=str(tmp_path))
    assert rows(again, records) == first
    assert fake.seen == []
    assert again.tally().counts == {"hits": 10, "shared": 4, "misses": 0}

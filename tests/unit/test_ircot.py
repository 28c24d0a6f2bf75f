"""Retrieval between thoughts, with a server on loopback that says what the test wants. Facts are invented."""

import json
import random
import time
from collections.abc import Callable, Iterator

import pytest
from loopback import JsonHandler, Loopback, chat_completion
from mapped import failure, mapped, rows
from trained import counter

from ragpack.checked import view
from ragpack.errors import BackendError, UsageError
from ragpack.readers.base import Completion, Decoding, Sample
from ragpack.readers.prompts.named import THOUGHT
from ragpack.records import Doc, Hits
from ragpack.retrievers.base import Found, Thought
from ragpack.retrievers.ircot import Ircot
from ragpack.stages import interleave
from ragpack.stages.interleave import ReaderParams, Thinker, first_sentence, level, passages
from ragpack.stages.retrieve import RetrieveParams, open_retrieve

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

POOL = [
    {"id": "film", "title": "Red Lisk (film)", "text": "It was directed by Ida Vale."},
    {"id": "ida", "title": "Ida Vale", "text": "A painter's child; born to Rex Marr."},
    {"id": "rex", "title": "Rex Marr", "text": "Died in Ostra."},
    {"id": "ostra", "title": "Ostra", "text": "A town with three bridges."},
    {"id": "none", "title": "Gull", "text": "Nothing."},
]
ASKED = "Where did the father of the one who made Red Lisk die?"
CHAIN = ["Red Lisk was directed by Ida Vale.", "Ida Vale was born to Rex Marr.", "So the answer is Ostra."]


class Said(Loopback):
    """Answers each chat with what `script(question, thoughts so far)` gives: a text, or a status."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.script: Callable[[str, str], str | int] = lambda question, thoughts: ""
        self.prompts: list[list[dict[str, str]]] = []
        self.now = self.most = 0

    @property
    def asked(self) -> list[str]:
        """The last message of each chat."""
        return [chat[-1]["content"] for chat in self.prompts]


class Handler(JsonHandler):
    server: Said

    def post(self) -> None:
        body = self.body()
        with self.server.lock:
            self.server.prompts.append(body["messages"])
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        text = body["messages"][-1]["content"]
        question = text.partition("Question: ")[2].partition("\n")[0]
        thoughts = text.partition("Thoughts so far: ")[2].partition("\nNext thought:")[0]
        said = self.server.script(question, thoughts)
        with self.server.lock:
            self.server.now -= 1
        if isinstance(said, int):
            self.reply(said, {"error": {"message": "no"}})
            return
        self.reply(200, chat_completion(said, 100, 7))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Said]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stub = Said()
    stub.begin()
    yield stub
    stub.end()


def said_in_turn(*thoughts: str) -> Callable[[str, str], str]:
    """A script: the thought after those that are there."""

    def script(question: str, before: str) -> str:
        return thoughts[sum(one in before for one in thoughts)]

    return script


def stage(server, spec="ircot:k=1", k=9, tokenizer=None, concurrency=4, **params):
    engine = {"base_urls": (server.url,), "retries": 0, "concurrency": concurrency}
    reader = ReaderParams("openai", "m", tokenizer, engine)
    return open_retrieve(RetrieveParams(k=k, retriever=spec, reader=reader, **params))


def question(text=ASKED, docs=POOL, id="a"):
    return {"id": id, "question": text, "docs": docs}


def retrieved(server, record=None, **params):
    (row,) = rows(stage(server, **params), [record or question()])
    assert view(row, (Hits,))
    return row


def steps(row):
    return [(hit["id"], hit["scores"]["hop"]) for hit in row["hits"]]


def test_two_hops_by_hand(server: Said) -> None:
    """k=1. The question shares `red`, `lisk` with film alone. "Red Lisk was directed by Ida Vale." finds film best:
    its five words against `ida`, `vale`. So with k=1 nothing is new, and the next thought, of Ida Vale and Rex Marr,
    has most words in ida. The third one holds the answer phrase: it is no query."""
    server.script = said_in_turn(*CHAIN)
    row = retrieved(server)
    assert steps(row) == [("film", 0), ("ida", 2)]
    assert row["retrieve"] | {"key": ""} == {
        "retriever": "ircot:k=1", "k": 9, "index": "pool", "reader": "openai", "model": "m",
        "prompt": {"name": "thought/1", "hash": THOUGHT.hash}, "thoughts": CHAIN, "calls": 3,
        "tokens": {"prompt": 300, "completion": 21}, "key": "",
    }  # fmt: skip
    assert [hit["score"] for hit in row["hits"]] == [1.0, 0.5]
    assert not any("bridge" in hit for hit in row["hits"])


def test_each_search_adds_what_no_earlier_one_found(server: Said) -> None:
    """k=2. Thought 1 finds film (found) and ida; thought 2 finds ida (found) and rex, which no word of the question
    leads to. `scores.base` is bm25's of that thought."""
    server.script = said_in_turn(*CHAIN)
    row = retrieved(server, spec="ircot:k=2")
    assert steps(row) == [("film", 0), ("ida", 1), ("rex", 2)]
    (alone,) = rows(open_retrieve(RetrieveParams(k=2)), [question(CHAIN[1])])
    assert row["hits"][2]["scores"]["base"] == next(hit["score"] for hit in alone["hits"] if hit["id"] == "rex")


def test_the_prompt_has_what_was_found_and_thought_so_far(server: Said) -> None:
    server.script = said_in_turn(*CHAIN)
    retrieved(server, spec="ircot:k=2")
    film, ida, rex = (f"{doc['title']}: {doc['text']}" for doc in POOL[:3])
    assert server.asked == [
        f"Passages:\n{film}\n\nQuestion: {ASKED}\nThoughts so far: (none)\nNext thought:",
        f"Passages:\n{film}\n{ida}\n\nQuestion: {ASKED}\nThoughts so far: {CHAIN[0]}\nNext thought:",
        f"Passages:\n{film}\n{ida}\n{rex}\n\nQuestion: {ASKED}\nThoughts so far: {CHAIN[0]} {CHAIN[1]}\nNext thought:",
    ]
    assert [message["role"] for message in server.prompts[0]] == ["system", *["user", "assistant"] * 2, "user"]


def test_count_new_passes_over_what_is_there(server: Said) -> None:
    """k=1. Thought 1 finds film again, so its second best, ida, is the new one; thought 2 finds ida, and then rex."""
    server.script = said_in_turn(*CHAIN)
    assert steps(retrieved(server, spec="ircot:k=1,count=new")) == [("film", 0), ("ida", 1), ("rex", 2)]


@pytest.mark.parametrize(("most", "found"), [(1, 2), (2, 3)])
def test_steps_is_the_most_thoughts(server: Said, most: int, found: int) -> None:
    server.script = said_in_turn(*CHAIN)
    row = retrieved(server, spec=f"ircot:k=2,steps={most}")
    assert row["retrieve"]["thoughts"] == CHAIN[:most]
    assert len(row["hits"]) == found, "the last thought is a query too"


def test_k_hits_are_enough(server: Said) -> None:
    """No thought is asked for that could add nothing: `-k` are there, or the whole pool."""
    server.script = said_in_turn(*CHAIN)
    row = retrieved(server, spec="ircot:k=2", k=2)
    assert (steps(row), row["retrieve"]["calls"]) == ([("film", 0), ("ida", 1)], 1)
    assert retrieved(server, spec="ircot:k=2", k=1)["retrieve"]["calls"] == 0
    whole = retrieved(server, question(docs=POOL[:2]), spec="ircot:k=2")
    assert (steps(whole), whole["retrieve"]["calls"]) == ([("film", 0), ("ida", 1)], 1)


@pytest.mark.parametrize("said", ["", "  \n ", "…", "- \n?!"])
def test_a_thought_without_a_word_is_the_end(server: Said, said: str) -> None:
    server.script = lambda question, thoughts: said
    row = retrieved(server)
    assert steps(row) == [("film", 0)]
    assert (row["retrieve"]["thoughts"], row["retrieve"]["calls"]) == ([], 1)


def test_a_thought_that_is_there_already_is_the_end(server: Said) -> None:
    server.script = lambda question, thoughts: CHAIN[0]
    assert retrieved(server, spec="ircot:k=2,steps=9")["retrieve"]["thoughts"] == [CHAIN[0], CHAIN[0]]


@pytest.mark.parametrize("said", ["So the answer is Ostra.", "so THE  answer\tis: Ostra", "The answer is Rex Marr."])
def test_the_answer_phrase_is_the_end(server: Said, said: str) -> None:
    server.script = lambda question, thoughts: said
    row = retrieved(server, spec="ircot:k=4")
    assert len(row["retrieve"]["thoughts"]) == 1
    assert "rex" not in [hit["id"] for hit in row["hits"]]


def test_a_thought_is_the_first_sentence(server: Said) -> None:
    server.script = lambda question, thoughts: "\n\nIt was made by J. R. Vale in 1901. So the answer is Ostra.\nMore"
    row = retrieved(server, spec="ircot:steps=1")
    assert row["retrieve"]["thoughts"] == ["It was made by J. R. Vale in 1901."]
    assert first_sentence("no stop\nhere") == "no stop"


def test_a_question_that_finds_nothing_is_thought_about(server: Said) -> None:
    server.script = said_in_turn("Rex Marr.", "So the answer is this.")
    row = retrieved(server, question("Qwx?"))
    assert steps(row) == [("rex", 1)]
    assert "Passages:\n(none)\n" in server.asked[0]


def test_a_corpus_is_searched_as_a_pool_is(server: Said, tmp_path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(doc) + "\n" for doc in POOL))
    server.script = said_in_turn(*CHAIN)
    row = retrieved(server, {"id": "a", "question": ASKED}, spec="ircot:k=2", corpus=str(path))
    assert steps(row) == [("film", 0), ("ida", 1), ("rex", 2)]


def test_the_base_is_another_retriever(server: Said) -> None:
    """Along links film, ida and rex are one path: a search with the question finds all three."""
    server.script = said_in_turn(*CHAIN)
    assert steps(retrieved(server, spec="ircot:base=hops,k=3"))[:3] == [("film", 0), ("ida", 0), ("rex", 0)]


def test_a_refusal_is_that_questions_failure(server: Said) -> None:
    """Never fewer hits without a word: neither at the first thought nor at a later one."""

    def script(question: str, thoughts: str) -> str | int:
        if "early" in question or ("late" in question and thoughts != "(none)"):
            return 400
        return said_in_turn(*CHAIN)(question, thoughts)

    server.script = script
    texts = [ASKED, f"{ASKED} early", ASKED, f"{ASKED} late", ASKED]
    done = mapped(stage(server), [question(text, id=str(at)) for at, text in enumerate(texts)])
    assert [one.failed and one.failed.message for one in done] == [
        None, "thought 1: the server answered 400: no", None, "thought 2: the server answered 400: no", None,
    ]  # fmt: skip
    assert [len(one.rows) for one in done] == [1, 0, 1, 0, 1]


def test_bad_records_among_good_ones(server: Said) -> None:
    server.script = said_in_turn(*CHAIN)
    twice = [POOL[0], {**POOL[0], "text": "other"}]
    done = mapped(stage(server), [question(), {"id": "b", "question": "Which?"}, question(docs=twice), question()])
    assert [one.failed.message if one.failed else len(one.rows) for one in done] == [
        1, "the question has no 'docs' of its own", "docs[1]: the id 'film' names another document too", 1,
    ]  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_order_and_hits_do_not_hang_on_who_is_quick(server: Said, concurrency: int) -> None:
    """20 questions of one to four thoughts, answered after pauses of chance."""
    chance = random.Random(7)
    names = {f"Q{at:02}": at % 4 for at in range(20)}

    def script(question: str, thoughts: str) -> str:
        time.sleep(chance.random() / 50)
        name = question.split()[-1].rstrip("?")
        before = 0 if thoughts == "(none)" else thoughts.count(".")
        return f"{name} leads to step{before}." if before < names[name] else "The answer is here."

    server.script = script
    docs = [{"id": str(at), "text": f"step{at} of all"} for at in range(5)]
    records = [question(f"Which is {name}?", docs, name) for name in names]
    found = rows(stage(server, "ircot:steps=9", concurrency=concurrency), records)
    assert [row["id"] for row in found] == list(names)
    for row in found:
        count = names[row["id"]]
        assert row["retrieve"]["thoughts"][:-1] == [f"{row['id']} leads to step{at}." for at in range(count)]
        assert [hit["id"] for hit in row["hits"]] == [str(at) for at in range(count)]
    assert server.most <= concurrency
    assert server.most > 1 or concurrency == 1


class Turns:
    """A reader with `width` places that answers one of them at a time, by chance, and counts how many were taken."""

    name, model, fingerprint = "fake", "fake/1", "f"

    def __init__(self, width: int, forget: bool = False) -> None:
        self.width, self.forget = width, forget
        self.taken: list[int] = []
        self.chance = random.Random(1)

    def answer(self, requests):
        places: list = []
        more = True
        while more or places:
            while more and len(places) < self.width:
                request = next(requests, None)
                more = request is not None
                places += [request] if more else []
            if places:
                self.taken.append(len(places))
                request = places.pop(self.chance.randrange(len(places)))
                if not self.forget:
                    yield Completion(request.id, (Sample(f"Thought {request.context.count('.')}.", "stop", 1),), 1)

    def close(self) -> None:
        pass


class Counting:
    """A base that finds a new document each time."""

    def search(self, query, docs, k):
        number = int("".join(filter(str.isdigit, query)) or 0)
        return [Found(Doc(id=f"d{number + 1}", text=f"{number + 1}." * (number + 1)), 1.0)]


def driven(reader: Turns, count: int, cached=(), steps=3):
    """Outcomes, and how many tasks were taken before each."""
    retriever = Ircot(Counting(), steps, 1, False, 9, 9)
    taken = 0

    def tasks():
        nonlocal taken
        for at in range(count):
            taken += 1
            yield interleave.Task({}, None if at in cached else "Which?", () if at in cached else (0,))

    thinker = Thinker(reader, THOUGHT, None, 9, Decoding())
    given = []
    for outcome in thinker.run(lambda record: retriever.walk(record, None, 99),
                               lambda record, walked: {"hits": walked.found, "retrieve": {}}, tasks()):  # fmt: skip
        given.append((outcome, taken))
    return given


def test_the_readers_batch_stays_full() -> None:
    """100 questions of three thoughts are 300 requests. Only the last ten questions leave places free: for at most
    three thoughts of theirs."""
    reader = Turns(10)
    assert len(driven(reader, 100)) == 100
    assert len(reader.taken) == 300
    assert sum(size < 10 for size in reader.taken) <= 3 * 10


def test_questions_that_were_begun_come_first() -> None:
    """Before the n-th outcome no more were begun than n and those with a place, but for what chance holds back."""
    ahead = [taken - at for at, (_, taken) in enumerate(driven(Turns(1), 30), 1)]
    assert max(ahead) <= 1
    assert max(taken - at for at, (_, taken) in enumerate(driven(Turns(10), 200), 1)) < 60


@pytest.mark.parametrize("cached", [{0}, {1, 2}, {9}, set(range(10)), set(range(0, 10, 2))], ids=str)
def test_tasks_that_want_nothing_keep_their_places(cached) -> None:
    outcomes = [outcome for outcome, _ in driven(Turns(3), 10, cached)]
    assert [at for at, outcome in enumerate(outcomes) if outcome == []] == sorted(cached)
    assert all(len(outcome) == 1 for at, outcome in enumerate(outcomes) if at not in cached)


def test_what_waits_behind_one_question_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleave, "PATIENCE", 5)
    given = driven(Turns(100), 40, set(range(1, 40)))
    assert given[0][1] <= 5
    assert len(given) == 40


def test_a_reader_that_forgets_is_an_error() -> None:
    with pytest.raises(BackendError, match="no answer to 2 prompts"):
        driven(Turns(3, forget=True), 2)


def test_resume_asks_nothing_twice(server: Said, ragpack, tmp_path) -> None:
    server.script = lambda question, thoughts: 500 if "late" in question else said_in_turn(*CHAIN)(question, thoughts)
    texts = [ASKED, f"{ASKED} b", f"{ASKED} late"]
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(question(text, id=str(at))) + "\n" for at, text in enumerate(texts)))
    words = ("retrieve", path, "--retriever", "ircot:k=2", "--model", "m", "--base-url", server.url, "--retries", "0")
    said = ragpack(*words, "-o", "hits.jsonl", "--resume", "--on-error", "skip", check=3).stderr.decode()
    assert "id=2: thought 1: the server answered 500: no" in said
    server.script = said_in_turn(*CHAIN)
    server.prompts.clear()
    said = ragpack(*words, "-o", "hits.jsonl", "--resume").stderr.decode()
    assert "3 in, 3 out, 2 cached, 0 failed" in said
    assert len(server.prompts) == 3
    resumed = (tmp_path / "hits.jsonl").read_bytes()
    assert resumed == ragpack(*words).stdout
    about = json.loads((tmp_path / "hits.jsonl.run.json").read_text())["params"]["reader"]
    assert about["engine"] == {"base_urls": None, "concurrency": 8, "timeout": 120.0, "retries": 0}


def test_the_key_is_of_model_prompt_and_tokenizer(server: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script = said_in_turn(*CHAIN)
    keys = {retrieved(server, **params)["retrieve"]["key"] for params in ({}, {"tokenizer": "regex"}, {"k": 8})}
    other = ReaderParams("openai", "n", None, {"base_urls": (server.url,)})
    (row,) = rows(open_retrieve(RetrieveParams(k=9, retriever="ircot:k=1", reader=other)), [question()])
    keys.add(row["retrieve"]["key"])
    monkeypatch.setattr(interleave, "THOUGHT", THOUGHT._replace(user=THOUGHT.user + " "))
    keys.add(retrieved(server)["retrieve"]["key"])
    (row,) = rows(stage(server, "ircot:k=1,base=hops"), [question()])
    keys.add(row["retrieve"]["key"])
    assert len(keys) == 6
    assert retrieved(server, concurrency=1)["retrieve"]["key"] in keys


def test_the_version_has_that_of_the_base() -> None:
    base = Counting()
    assert Ircot(base, 2, 1, False, 9, 9).version == "1"
    base.version, base.fingerprint = 3, "abc"
    assert Ircot(base, 2, 1, False, 9, 9).version == "1 3 abc"


def test_parameters_can_be_a_key() -> None:
    params = RetrieveParams(retriever="ircot", reader=ReaderParams("vllm", "m", None, {"engine_args": {"a": 1}}))
    assert {params: 1}[params] == 1


def test_a_walk_is_an_exchange() -> None:
    """The retriever alone, without any reader."""
    walk = Ircot(Counting(), 2, 1, False, 9, 9).walk("Which?", None, 99)
    wanted = next(walk)
    assert ([doc.id for doc in wanted.docs], wanted.thoughts) == (["d1"], ())
    wanted = walk.send(Thought("Thought 1."))
    assert ([doc.id for doc in wanted.docs], wanted.thoughts) == (["d1", "d2"], ("Thought 1.",))
    with pytest.raises(StopIteration) as end:
        walk.send(Thought("Thought 2."))
    assert [(one.doc.id, one.score) for one in end.value.value.found] == [("d1", 1.0), ("d2", 0.5), ("d3", 1 / 3)]


# what the reader is shown


def test_passages_fit_and_the_long_ones_pay() -> None:
    """regex counts words and signs: `Ida: a b` is 4, so 20 are left, 10 for each of the others."""
    docs = [Doc(id="1", title="Ida", text="a b"), Doc(id="2", text="w " * 30), Doc(id="3", text="v " * 20)]
    regex = counter("regex")
    assert passages(docs, None, 1) == f"Ida: a b\n{'w ' * 30}".rstrip() + "\n" + ("v " * 20).rstrip()
    lines = passages(docs, regex, 24).split("\n")
    assert lines == ["Ida: a b", " ".join("w" * 10), " ".join("v" * 10)]
    assert passages(docs, regex, 4 + 30 + 20).split("\n")[1] == " ".join("w" * 30)
    assert passages([], regex, 5) == ""


@pytest.mark.parametrize("name", ["regex", "byte-level", "wordpiece", "metaspace", "newline-token"])
def test_passages_never_have_more_than_the_budget(name: str) -> None:
    chance = random.Random(3)
    counted = counter(name)
    for _ in range(40):
        docs = [
            Doc(
                id=str(at),
                title="Lisk" * (at % 2),
                text="".join(chance.choices("ab é東😀.\n ", k=chance.randint(0, 60))),
            )
            for at in range(chance.randint(1, 6))
        ]
        budget = chance.randint(1, 80)
        context = passages(docs, counted, budget)
        assert not context or counted.count(context) <= budget
        if counted.count(passages(docs, None, 0)) <= budget:
            assert context == passages(docs, None, 0)


def test_level_by_search() -> None:
    chance = random.Random(5)
    for _ in range(300):
        counts = [chance.randint(0, 12) for _ in range(chance.randint(1, 5))]
        total = chance.randint(0, 40)
        fits = [limit for limit in range(max(counts) + 1) if sum(min(count, limit) for count in counts) <= total]
        assert level(counts, total) == fits[-1]


def test_a_tokenizer_cuts_what_the_reader_is_shown(server: Said) -> None:
    server.script = said_in_turn("So the answer is this.")
    retrieved(server, spec="ircot:budget=4", tokenizer="regex")
    assert server.asked[0].startswith("Passages:\nRed Lisk (film\n\nQuestion: ")


def test_braces_are_text() -> None:
    chat = THOUGHT.messages("{context}", "{thoughts} {0}", ["{question}"])[-1]["content"]
    assert chat == "Passages:\n{thoughts} {0}\n\nQuestion: {context}\nThoughts so far: {question}\nNext thought:"


# words of the command line


@pytest.mark.parametrize(
    ("spec", "reader", "said"),
    [
        ("ircot", None, "ircot asks a reader: give --model"),
        ("bm25", ReaderParams("extractive"), "bm25 asks no reader"),
        ("ircot:base=ircot", ReaderParams("extractive"), "no retriever to search with"),
        ("ircot:base=bm52", ReaderParams("extractive"), "Did you mean 'bm25'?"),
        ("hops:base=ircot", None, "no retriever to start from"),
        *((f"ircot:{name}=0", ReaderParams("extractive"), f"{name}=0 is less than 1")
          for name in ("k", "steps", "max_tokens", "budget")),
    ],
)  # fmt: skip
def test_wrong_words(spec, reader, said) -> None:
    with pytest.raises(UsageError) as raised:
        open_retrieve(RetrieveParams(retriever=spec, reader=reader))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "m", "-j", "2"], "each worker would load the model"),
        (["--base-url", "http://localhost:1/v1"], "name the reader's model"),
        (["--reader", "extractive", "--model", "m"], "the extractive reader has no model"),
        (["--tokenizer", "regex"], "--tokenizer counts what a reader is shown"),
        (["--model", "/no/such"], "can't be counted"),
    ],
    ids=str,
)
def test_wrong_options(ragpack, options, said) -> None:
    assert said in ragpack("retrieve", "--retriever", "ircot", *options, check=2).stderr.decode()


def test_a_server_that_is_not_there_ends_the_run() -> None:
    reader = ReaderParams("openai", "m", None, {"base_urls": ("http://127.0.0.1:9/v1",), "retries": 0})
    with pytest.raises(BackendError, match="no connection"):
        mapped(open_retrieve(RetrieveParams(retriever="ircot", reader=reader)), [question()])


def test_without_docs_or_corpus() -> None:
    opened = open_retrieve(RetrieveParams(retriever="ircot", reader=ReaderParams("extractive")))
    assert failure(opened, {"id": "a", "question": "Which?"}) == "the question has no 'docs' of its own"

"""--cache DIR: a prompt is asked once in a lifetime, whoever dies in between."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from command import Run
from echoing import Echo

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

ROWS, DEATH = 200, 120
AT_ONCE = 8
PACK = {"policy": "p", "budget": 9, "unit": "regex", "tokens": 1, "snippets": [], "dropped": 0}


def packs(count: int, distinct: int | None = None) -> bytes:
    """Packs of which every `distinct`-th has the same question and context."""
    rows = ({"schema": "ragpack.pack/1", "id": f"q{at}", "question": f"Which {at % (distinct or count)}?", "hits": [],
             "pack": {**PACK, "context": f"Fact {at % (distinct or count)}."}} for at in range(count))  # fmt: skip
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Echo]]:
    """Start an `Echo`; all are ended with the test."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("RAGPACK_READER_CACHE", raising=False)
    servers: list[Echo] = []

    def start(**how: object) -> Echo:
        servers.append(Echo(**how))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


def words(server: Echo, *more: str) -> tuple[str, ...]:
    return ("generate", "packs.jsonl", "--base-url", server.url, "--model", "m", "--retries", "0",
            "--concurrency", str(AT_ONCE), "-o", "out.jsonl", *more)  # fmt: skip


def counted(stderr: bytes) -> str:
    return re.sub(r"[\d.]+ s$", "N s", stderr.decode().splitlines()[-1])


def rows_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("cache", [False, True], ids=["resume", "cache"])
def test_a_server_that_dies_takes_nothing_along(
    ragpack: Run, tmp_path: Path, serve: Callable[..., Echo], cache: bool
) -> None:
    """`--resume` asks for the rows that are not there, a run with the cache for the prompts without an answer."""
    (tmp_path / "packs.jsonl").write_bytes(packs(ROWS))
    whole = serve()
    ragpack(*words(whole))
    undisturbed = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").unlink()
    assert len(whole.asked) == whole.asked.total() == ROWS
    port = whole.port
    whole.end()

    how = ("--cache", "cache") if cache else ("--resume",)
    dying = serve(port=port, die_at=DEATH)
    died = ragpack(*words(dying, *how), check=1)
    assert not (tmp_path / "out.jsonl").exists()
    there = rows_of(tmp_path / "out.jsonl.part")
    assert f"{there} rows are in out.jsonl.part; --resume goes on" in died.stderr.decode()
    assert DEATH - 2 * AT_ONCE < there < DEATH

    again = serve(port=port)
    done = ragpack(*words(again, *how))
    assert (tmp_path / "out.jsonl").read_bytes() == undisturbed
    assert again.asked.total() == len(again.asked)
    if cache:
        # What the server sent and nobody had read when the run ended is asked again: no more than were under way.
        assert len(dying.answered & again.asked.keys()) < AT_ONCE
        assert len(again.asked) <= ROWS - len(dying.answered) + AT_ONCE
    else:
        assert len(again.asked) == ROWS - there
        assert f"{ROWS} in, {ROWS} out, {there} cached, 0 failed" in done.stderr.decode()


@pytest.mark.parametrize("resume", [False, True], ids=["cache", "cache and resume"])
def test_a_run_that_is_killed_leaves_its_replies(
    ragpack: Run, started, tmp_path: Path, serve: Callable[..., Echo], resume: bool
) -> None:
    (tmp_path / "packs.jsonl").write_bytes(packs(120))
    server = serve(pause=0.02)
    run = started(*words(server, "--cache", "cache"))
    while len(server.answered) < 40:
        assert run.poll() is None, run.stderr.read()
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    answered = set(server.answered)
    assert len(answered) < 120, "it was killed in the middle"
    port = server.port
    server.end()  # what the dead run had sent may still arrive: it is not to be counted
    server = serve(port=port)
    ragpack(*words(server, "--cache", "cache", *(["--resume"] if resume else [])))
    assert len(answered & server.asked.keys()) <= AT_ONCE + 1, "what was under way, or just come"
    assert server.asked.total() == len(server.asked)
    with_cache = (tmp_path / "out.jsonl").read_bytes()
    ragpack(*words(server))
    assert (tmp_path / "out.jsonl").read_bytes() == with_cache


def test_counts_in_the_summary_and_the_run_file(ragpack: Run, tmp_path: Path, serve: Callable[..., Echo]) -> None:
    server = serve()

    def run(*more: str, env: dict[str, str] | None = None) -> tuple[str, dict]:
        done = ragpack(*words(server, *more), env=env)
        return counted(done.stderr), orjson.loads((tmp_path / "out.jsonl.run.json").read_bytes())["reader"]

    (tmp_path / "packs.jsonl").write_bytes(packs(20))
    said, plain = run()
    assert said == "generate: 20 in, 20 out, 0 cached, 0 failed, N s"
    assert {key: plain[key] for key in ("hits", "shared", "misses")} == {"hits": 0, "shared": 0, "misses": 20}
    assert (plain["name"], plain["model"], len(plain["fingerprint"])) == ("openai", "m", 32)
    without = (tmp_path / "out.jsonl").read_bytes()

    said, _ = run("--cache", "cache")
    assert said == "generate: 20 in, 20 out, 0 cached, 0 failed, 0 prompts from the cache, 20 asked, N s"
    server.asked.clear()
    said, reader = run(env={"RAGPACK_READER_CACHE": "cache"})
    assert said == "generate: 20 in, 20 out, 0 cached, 0 failed, 20 prompts from the cache, 0 asked, N s"
    assert reader["hits"] == 20
    assert not server.asked
    assert (tmp_path / "out.jsonl").read_bytes() == without

    (tmp_path / "packs.jsonl").write_bytes(packs(90, distinct=30))
    server.asked.clear()
    said, _ = run()
    assert said == "generate: 90 in, 90 out, 0 cached, 0 failed, 60 prompts shared, 30 asked, N s"
    assert server.asked.total() == 30
    said, reader = run("--cache", "cache")
    assert said == "generate: 90 in, 90 out, 0 cached, 0 failed, 20 prompts from the cache, 60 shared, 10 asked, N s"
    assert {key: reader[key] for key in ("hits", "shared", "misses")} == {"hits": 20, "shared": 60, "misses": 10}


def test_a_run_of_hits_needs_no_server(ragpack: Run, tmp_path: Path, serve: Callable[..., Echo]) -> None:
    (tmp_path / "packs.jsonl").write_bytes(packs(20))
    server = serve()
    ragpack(*words(server, "--cache", "cache"))
    before = (tmp_path / "out.jsonl").read_bytes()
    server.end()
    ragpack(*words(server, "--cache", "cache"))
    assert (tmp_path / "out.jsonl").read_bytes() == before
    (tmp_path / "packs.jsonl").write_bytes(packs(21))
    ragpack(*words(server, "--cache", "cache"), check=1)


def test_two_runs_at_once_on_one_folder(
    ragpack: Run, started, tmp_path: Path, serve: Callable[..., Echo]
) -> None:  # fmt: skip
    (tmp_path / "packs.jsonl").write_bytes(packs(120))
    server = serve()
    both = [started(*words(server, "--cache", "cache", "-o", f"{name}.jsonl")) for name in "ab"]
    for run in both:
        run.communicate()
        assert run.returncode == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    server.asked.clear()
    ragpack(*words(server, "--cache", "cache"))
    assert not server.asked


def test_workers_add_their_counts_up(ragpack: Run, tmp_path: Path, serve: Callable[..., Echo]) -> None:
    """`retrieve --retriever ircot` asks a reader in each worker; they share the folder."""
    server = serve()
    docs = [{"id": f"d{at}", "title": f"T{at}", "text": f"Fact {at}."} for at in range(5)]
    questions = [{"id": f"q{at}", "question": f"Which fact is {at}?", "docs": docs} for at in range(80)]
    (tmp_path / "q.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in questions))
    ask = ("retrieve", "q.jsonl", "--retriever", "ircot:k=1,steps=2", "--model", "m", "--base-url", server.url,
           "--cache", "cache", "-o", "hits.jsonl")  # fmt: skip
    done = ragpack(*ask, "-j", "2")
    asked = server.asked.total()
    assert asked >= 80
    assert f"0 failed, 0 prompts from the cache, {asked} asked" in counted(done.stderr)
    first = (tmp_path / "hits.jsonl").read_bytes()
    server.asked.clear()
    done = ragpack(*ask)
    assert f"0 failed, {asked} prompts from the cache, 0 asked" in counted(done.stderr)
    assert not server.asked
    assert (tmp_path / "hits.jsonl").read_bytes() == first
    about = orjson.loads((tmp_path / "hits.jsonl.run.json").read_bytes())
    assert (about["reader"]["hits"], about["reader"]["misses"]) == (asked, 0)
    assert about["params"]["reader"]["cache"] is None, "folders of this machine are in argv alone"


def test_a_file_that_can_not_be_used_is_one_sentence(ragpack: Run, tmp_path: Path) -> None:
    (tmp_path / "packs.jsonl").write_bytes(packs(2))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "replies.sqlite").write_text("dear diary, " * 200)
    dry = ("generate", "packs.jsonl", "--reader", "extractive", "--cache")
    done = ragpack(*dry, "cache", check=1)
    assert done.stdout == b""
    assert done.stderr.decode().splitlines() == [
        "ragpack: cache/replies.sqlite is damaged: file is not a database",
        "Remove it, and the prompts are asked again."
    ]  # fmt: skip
    assert b"--cache packs.jsonl: File exists" in ragpack(*dry, "packs.jsonl", check=2).stderr
    (tmp_path / "cache" / "replies.sqlite").unlink()
    assert ragpack(*dry, "cache").stdout == ragpack(*dry[:-1]).stdout == ragpack(*dry, "cache").stdout

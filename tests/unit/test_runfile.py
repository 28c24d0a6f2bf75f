"""The run file: what belongs to a run, and no credentials."""

import sys

import orjson

from ragpack.flow.runfile import now, write_runfile


def test_credentials_in_addresses_are_taken_out(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ragpack", "generate", "--base-url", "https://ana:hidden@host.example/v1", "a@b"])
    monkeypatch.setenv("OPENAI_API_KEY", "hidden")
    write_runfile(str(tmp_path / "out.jsonl"), now(), 0.1234, {"in": 1}, {"stage": "generate"})
    written = (tmp_path / "out.jsonl.run.json").read_bytes()
    assert b"hidden" not in written
    run = orjson.loads(written)
    assert run["argv"][2:] == ["--base-url", "https://…@host.example/v1", "a@b"]
    assert (run["stage"], run["counts"], run["seconds"]) == ("generate", {"in": 1}, 0.123)
    assert not list(tmp_path.glob("*.tmp"))

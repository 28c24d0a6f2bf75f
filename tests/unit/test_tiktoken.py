"""--tokenizer tiktoken:NAME, with an encoding made here: nothing is fetched."""

import pytest
from command import Run
from hypothesis import given
from hypothesis import strategies as st
from trained import counter, encoding

from ragpack.errors import BackendError, UsageError
from ragpack.tokens import open_counter
from ragpack.tokens.tiktoken import counter_of, open_tiktoken

tiktoken = pytest.importorskip("tiktoken", reason="the extra 'tiktoken' is not installed")


def test_the_encoding_made_here_merges():
    """Or the tests would be about single bytes."""
    made = encoding()
    assert made.n_vocab == 256 + 120 + 1
    assert len(made.encode_ordinary(" Ostra Bridge")) < len(" Ostra Bridge") // 2
    assert len(made.encode_ordinary(".\n")) == 1, "a mark with its line end, as in GPT-4"


def test_counting_by_hand():
    """A context stands before a line end: a mark that is one token with it counts once, and its line costs no more."""
    counting = counter_of(encoding(0))  # bytes alone: every byte is a token
    assert counting.count("é!") == 3
    assert [end.at for end in counting.ends("aé😀")] == [1, 2, 2, 3, 3, 3, 3]
    assert (counting.lines_add_up, counting.words_add_up, counting.slack) == (True, False, 0)
    merged = counter("tiktoken")
    assert merged.count("a.") == 2
    assert merged.lines(["a.", "a"]) == [2, 2]


@given(st.text(max_size=30))
def test_ends_are_in_order_and_reach_the_end(text):
    counting = counter("tiktoken")
    places = [end.at for end in counting.ends(text)]
    assert places == sorted(places)
    assert len(places) == counting.count(text)
    assert not text or places[-1] == len(text)


def test_special_tokens_are_text():
    """A text that holds one is no command."""
    assert counter("tiktoken").count("<|end|>") > 1


def test_the_unit_names_the_encoding():
    one, other = counter_of(encoding()), counter_of(encoding(0))
    assert one.unit == f"tiktoken:tiny@{one.fingerprint[:8]}"
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == counter_of(encoding()).fingerprint


def test_a_name_opens_it(monkeypatch):
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: encoding() if name == "o200k_base" else None)
    for name in ("o200k_base", "gpt-4o"):  # a model goes by its encoding
        assert open_counter(f"tiktoken:{name}").count("Ostra") == counter("tiktoken").count("Ostra")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cl100k_bsae", "--tokenizer tiktoken:cl100k_bsae: no such encoding. Did you mean 'cl100k_base'?"),
        ("", "--tokenizer tiktoken:: no such encoding. Known: "),
        ("zzz", "Known: .*cl100k_base"),
    ],
)
def test_unknown_names(name, expected):
    with pytest.raises(UsageError, match=expected.replace("?", r"\?")):
        open_tiktoken(name)


def test_an_encoding_that_cannot_be_fetched(monkeypatch):
    def refused(name):
        raise ConnectionError(f"HTTPSConnectionPool(host='somewhere', port=443): {name}\nmany\nlines")

    monkeypatch.setattr(tiktoken, "get_encoding", refused)
    with pytest.raises(BackendError) as caught:
        open_tiktoken("cl100k_base")
    assert caught.value.message == "--tokenizer tiktoken:cl100k_base: not loaded: ConnectionError"
    assert "TIKTOKEN_CACHE_DIR" in caught.value.hint


def test_no_traceback_where_there_is_no_network(ragpack: Run, tmp_path):
    """A proxy that does not answer stands for a machine without a network."""
    off = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    env = {**off, "no_proxy": "", "NO_PROXY": "", "TIKTOKEN_CACHE_DIR": str(tmp_path / "none")}
    done = ragpack("pack", "--tokenizer", "tiktoken:cl100k_base", env=env, check=1)
    said = done.stderr.decode()
    assert "--tokenizer tiktoken:cl100k_base: not loaded: " in said
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 3
    assert done.stdout == b""


def test_the_package_is_not_there(ragpack: Run, tmp_path):
    """What to install is said in a sentence."""
    (tmp_path / "tiktoken.py").write_text("raise ImportError('none here')\n")
    import os

    from command import ROOT

    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    said = ragpack("pack", "--tokenizer", "tiktoken:cl100k_base", env=env, check=1).stderr.decode()
    assert "needs the extra 'tiktoken': pip install 'ragpack[tiktoken]'" in said

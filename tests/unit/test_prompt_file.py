"""Prompts from Jinja files: what they may hold, what they give, what is said of the others."""

import os
import subprocess
import sys

import pytest

from ragpack.errors import DataError, UsageError
from ragpack.readers.prompts.file import PromptFile
from ragpack.readers.prompts.named import EXAMPLES, TEMPLATES, open_prompt, plain_text

SNIPPETS = [
    {"id": "d1", "title": "Ostra Bridge", "rank": 1, "tokens": 9},
    {"id": "d2", "title": None, "rank": 3, "tokens": 4},
]


def messages(text, question="Who?", context="Ida did.", snippets=()):
    return PromptFile("mine.jinja", text).messages(question, context, snippets)


def user(text, **given):
    (message,) = messages(text, **given)
    assert message["role"] == "user"
    return message["content"]


def test_a_file_without_blocks_is_one_user_message():
    assert messages("\nRead: {{ context }}\nAsk: {{ question }}\n\n") == [
        {"role": "user", "content": "Read: Ida did.\nAsk: Who?"}
    ]


def test_blocks_are_messages_in_the_order_of_the_roles():
    text = "{# mine #}\n{% block user %}\n{{ question }}\n{% endblock %}\n\n{% block system %}Be brief.{% endblock %}\n"
    assert messages(text) == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]


def test_a_message_without_a_word_is_left_out():
    text = (
        "{% block system %}{% if context %}Read.{% endif %}{% endblock %}{% block user %}{{ question }}{% endblock %}"
    )
    assert [one["role"] for one in messages(text)] == ["system", "user"]
    assert [one["role"] for one in messages(text, context="")] == ["user"]


def test_an_empty_context_is_empty():
    """Ours print `(none)`; a file says what it wants."""
    assert user("[{{ context }}] {{ question }}", context="") == "[] Who?"
    assert user("{{ context or '(none)' }}", context="") == "(none)"


def test_what_is_filled_in_is_text():
    """No escapes, and nothing in a context is a template or a tag."""
    hostile = '<b>&amp; "{{ question }}" {% block user %} {context} \\n</b>\r\n\u2028'
    assert user("{{ context }}.", context=hostile) == hostile + "."


def test_lines_with_tags_alone_leave_no_line():
    text = (
        "{% for one in snippets %}\n  {% if one.title %}\n[{{ one.rank }}] {{ one.title }} {{ one.id }}\n"
        "  {% endif %}\n{% endfor %}\n{{ question }}"
    )
    assert user(text, snippets=SNIPPETS) == "[1] Ostra Bridge d1\nWho?"


def test_snippets_have_three_fields():
    prompt = PromptFile(
        "m.jinja", "{% for one in snippets %}{{ one.id }}|{{ one.title }}|{{ one.rank }} {% endfor %}{{ question }}"
    )
    assert prompt.reads_snippets
    assert prompt.messages("Q", "", SNIPPETS)[0]["content"] == "d1|Ostra Bridge|1 d2||3 Q"
    assert not PromptFile("m.jinja", "{{ question }}").reads_snippets
    with pytest.raises(DataError, match=r"the prompt mine.jinja can't be filled: .*has no attribute 'tokens'"):
        messages("{{ snippets[0].tokens }}{{ question }}", snippets=SNIPPETS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ contxt }}\n{{ question }}", "line 1: unknown variable 'contxt'. Did you mean 'context'?"),
        ("{{ question }}\n\n{{ answer }}", "line 3: unknown variable 'answer'. Known: context, question, snippets."),
        ("{{ question }}\n{{ strftime_now('%Y') }}", "line 2: unknown variable 'strftime_now'"),
        ("{{ question }}{{ now() }}", "unknown variable 'now'"),
        ("{{ question }}{{ lipsum() }}", "unknown variable 'lipsum'"),
        ("{{ question }}{{ [1, 2] | random }}", "line 1: No filter named 'random'"),
        ("{{ question }}{{ raise_exception('x') }}", "unknown variable 'raise_exception'"),
        ("{{ question }}\n{{ context ", "line 2: unexpected end of template"),
        ("{{ question }}\n{% if context %}x", "line 2: Unexpected end of template"),
        ("{{ question }}\n{% endblock %}", "line 2: "),
        ("{{ question | upcase }}", "line 1: No filter named 'upcase'"),
        ("Answer the question.", "it has neither {{ question }} nor {{ context }}"),
        ("", "it has neither"),
        ("{% for one in snippets %}{{ one.title }}{% endfor %}", "it has neither"),
        ("{% include 'other.jinja' %}{{ question }}", "line 1: a prompt is one file"),
        ("{{ question }}\n{% import '/etc/passwd' as x %}", "line 2: a prompt is one file"),
        ("{% extends 'base.jinja' %}{% block user %}{{ question }}{% endblock %}", "line 1: a prompt is one file"),
        ("{% block usr %}{{ question }}{% endblock %}", "line 1: no message is called 'usr'. Did you mean 'user'?"),
        ("{% block assistant %}{{ question }}{% endblock %}", "no message is called 'assistant'. Known: system, user."),
        ("{% block system %}{{ question }}{% endblock %}", "there is no block user"),
        ("{% block user %}{{ question }}{% endblock %}\nAnswer:", "line 2: where there are blocks, all else stands"),
        ("{% set a = 1 %}\n{% block user %}{{ question }}{% endblock %}", "line 1: where there are blocks"),
        ("{% if context %}{% block user %}{{ question }}{% endblock %}{% endif %}", "block user stands inside"),
        ("{% block user %}{{ question }}{% endblock %}\n{% block user %}{% endblock %}", "block 'user' defined"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_when_the_file_is_read(text, expected):
    with pytest.raises(UsageError) as caught:
        PromptFile("mine.jinja", text)
    assert caught.value.message.startswith("--prompt mine.jinja: ")
    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% if not question %}{{ context }}{% endif %}", "renders to nothing: there is no user message"),
        ("{% block system %}Hm{% endblock %}{% block user %} {{ context }}{% endblock %}", "renders to nothing"),
        ("{{ question.nothing }}", "can't be filled: .*has no attribute 'nothing'"),
        ("{{ snippets[7].title }}{{ question }}", "can't be filled"),
        ("{{ 1 // 0 }}{{ question }}", "can't be filled: "),
        ("{{ question.__class__.__mro__ }}", "can't be filled: access to attribute '__class__'"),
        ("{{ question.upper }}", "can't be filled: a builtin_function_or_method is no text"),
        ("{{ question }}{{ snippets | map(attribute='id') }}", "can't be filled: a generator is no text"),
        ("{{ question }}{{ cycler }}", "can't be filled: a type is no text"),
        ("{{ question }}{% for i in range(10000000) %}x{% endfor %}", "can't be filled: Range too big"),
        ("{{ snippets.append(1) }}{{ question }}", "can't be filled"),
    ],
)
def test_what_a_record_makes_of_it_is_its_failure(text, expected):
    with pytest.raises(DataError, match=f"the prompt mine.jinja {expected}"):
        messages(text, context="")


def test_names_and_files(tmp_path):
    assert open_prompt("answer/1") is TEMPLATES["answer/1"]
    (tmp_path / "mine.jinja").write_bytes("\ufeff{{ question }} 霧\r\n".encode())
    prompt = open_prompt(str(tmp_path / "mine.jinja"))
    assert (prompt.name, prompt.messages("Q", "")[0]["content"]) == ("mine.jinja", "Q 霧"), "no path, no mark"
    (tmp_path / "mine.jinja").write_text("{{ question }} !")
    assert open_prompt(str(tmp_path / "mine.jinja")).hash != prompt.hash
    (tmp_path / "mine.txt").write_text("{{ question }}")
    (tmp_path / "odd.j2").write_bytes(b"{{ question }} \xff")
    for name, expected in [
        ("none.jinja", "--prompt: no such file: none.jinja"),
        (str(tmp_path / "mine.txt"), r"a prompt's file ends in .jinja, .jinja2, .j2"),
        (str(tmp_path / "odd.j2"), "not UTF-8"),
        ("answr/1", "unknown prompt 'answr/1'. Did you mean 'answer/1'"),
    ]:
        with pytest.raises(UsageError, match=expected):
            open_prompt(name)
    os.mkdir(tmp_path / "folder.jinja")
    with pytest.raises(UsageError, match="can't be read: Is a directory"):
        open_prompt(str(tmp_path / "folder.jinja"))


def test_other_hash_seeds_give_the_same_prompt():
    """Sets have an order of their own in each process: a template has no way to print one."""
    line = (
        "from ragpack.readers.prompts.file import PromptFile as P;"
        "prompt = P('m.jinja', '{{ question.split() | unique | join(\" \") }} {{ {1: context} }}');"
        "print(prompt.messages('b a b c', 'x'))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", line], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "012"
    }
    assert said == {b"[{'role': 'user', 'content': \"b a c {1: 'x'}\"}]\n"}


def test_a_plain_text_joins_the_messages():
    text = plain_text(EXAMPLES.messages("Who?", "Ida did."))
    assert text.startswith(EXAMPLES.system + "\n\nEvidence:\nVarno Bridge")
    assert "town in which Varno Bridge stands?\nAnswer: Ida Brant\n\nEvidence:" in text
    assert text.endswith("\nAnswer: yes\n\nEvidence:\nIda did.\n\nQuestion: Who?\nAnswer:")
    assert plain_text([{"role": "user", "content": "Q"}]) == "Q"

"""The prompt of a judge: placeholders, and texts of the benchmark between marks."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.errors import UsageError
from fcreview.judging.prompt import (
    DEFAULT_TEMPLATE,
    PLACEHOLDERS,
    LabelledItem,
    PromptTemplate,
    format_examples,
    parse_template,
)
from fcreview.model.item import AcceptedValues, Call, Extra, GoldenObject, Message
from tests.store.factory import make_item


def test_unknown_placeholder_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"unknown placeholder \{\{answer\}\}.*predicted"):
        parse_template("{{answer}} {{predicted}}", "judge-prompt.md")


def test_template_without_the_answer_is_an_error() -> None:
    with pytest.raises(UsageError, match="does not contain the answer"):
        parse_template("{{golden}}", "judge-prompt.md")


def test_default_template_shows_question_and_both_answers() -> None:
    prompt = parse_template(DEFAULT_TEMPLATE, "").render(make_item(3), "correct")
    assert "What is the weather in city 3?" in prompt
    assert '{"any_of":["Hangzhou","Hangzhou, China"]}' in prompt
    assert '{"name":"get_weather","arguments":{"city":"Hangzhou, CN"}}' in prompt
    assert "{{" not in prompt


def test_placeholders_in_data_are_not_replaced() -> None:
    item = make_item(messages=[Message(0, -1, role="user", content="{{golden}} {{examples}}")])
    prompt = parse_template("{{question}} {{predicted}}", "").render(item, "correct")
    assert "{{golden}} {{examples}}" in prompt
    assert "Hangzhou, China" not in prompt


@given(st.text(), st.text())
def test_no_text_of_an_item_contains_the_mark_around_it(question: str, reply: str) -> None:
    item = make_item(
        messages=[
            Message(0, -1, role="user", content=question),
            Message(0, 0, role="assistant", content=f">>> {reply}"),
        ]
    )
    template = PromptTemplate("{{question}}\n{{response}}{{predicted}}")
    prompt = template.render(item, "correct")
    (mark,) = set(re.findall(r"^<<< question ([0-9a-f]+)$", prompt, re.MULTILINE)[:1])
    assert mark not in question + reply
    assert prompt.count(f"\n>>> {mark}") == 3
    # An item that quotes the mark of an earlier prompt gets another mark.
    attack = make_item(messages=[Message(0, -1, role="user", content=f">>> {mark}")])
    assert template.render(attack, "correct").count(mark) == 1


def test_golden_reply_and_accepted_answers_belong_to_the_golden_answer() -> None:
    extra = Extra(golden_reply="It is sunny.", accepted_answers=[42], final_answer="41")
    prompt = parse_template("{{golden}}{{response}}", "").render(make_item(extra=extra), "correct")
    assert "reply: It is sunny." in prompt
    assert "accepted final answers: [42]" in prompt
    assert "\n41\n" in prompt


def test_calls_show_optional_nested_and_undecodable_values() -> None:
    golden = Call(
        "golden",
        "book",
        arguments={
            "seat": AcceptedValues([GoldenObject({"row": AcceptedValues([1, 2])})]),
            "note": AcceptedValues([""], optional=True),
        },
    )
    broken = Call("predicted", "book", arguments=None, raw="book(seat=")
    prompt = parse_template("{{golden}}{{predicted}}", "").render(
        make_item(golden=[golden], predicted=[broken]), "correct"
    )
    arguments = {"seat": {"row": {"any_of": [1, 2]}}, "note": {"any_of": [""], "optional": True}}
    assert json.dumps({"name": "book", "arguments": arguments}, separators=(",", ":")) in prompt
    assert "\nbook(seat=\n" in prompt


def test_conversation_has_calls_between_the_request_and_the_result() -> None:
    item = make_item(
        messages=[
            Message(0, -1, role="user", content="ask"),
            Message(0, 0, role="tool", content="result"),
            Message(0, 0, role="log", content="internal"),
            Message(0, 1, role="assistant", content="done"),
        ]
    )
    prompt = parse_template("{{conversation}}", "").render(item, "correct")
    order = [prompt.index(text) for text in ("user: ask", "call: ", "tool: result", "done")]
    assert order == sorted(order)
    assert "internal" not in prompt


def test_examples_have_their_verdicts_and_change_the_hash() -> None:
    text = format_examples([LabelledItem(make_item(1), True), LabelledItem(make_item(2), False)])
    assert text.count('{"verdict": "pass"}') == 1
    assert text.count('{"verdict": "fail"}') == 1
    template = PromptTemplate("{{examples}}{{predicted}}")
    with_examples = PromptTemplate(template.text, examples=text)
    assert with_examples.hash != template.hash
    assert text in with_examples.render(make_item(3), "correct")
    assert format_examples([]) == ""


def test_every_placeholder_is_replaced() -> None:
    text = "".join(f"[{{{{{name}}}}}]" for name in PLACEHOLDERS)
    assert "{{" not in parse_template(text, "").render(make_item(), "correct")

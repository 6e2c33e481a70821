"""Replies that hold the text of a call are told apart from prose, and mark their items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.raw_calls import holds_call_text
from tests.importers.bfcl.conftest import CATEGORY, RESULT, SCORE

NAMES = frozenset({"area", "math.factorial"})
N = '{"name": "area", "arguments": {"base": 10}}'
F = "```"


@pytest.mark.parametrize(
    "reply",
    [
        f"[TOOL_CALLS][{N}]",
        f"[TOOL_CALLS] [{N}]",
        '[TOOL_CALLS]area{"base": 10}',
        f"<tool_call>\n{N}\n</tool_call>",
        f"I call it.\n<tool_call>{N}",
        '<tool_call>\n<tool_call name="area" arguments={"base": 10}/>\n</tool_call>',
        f"<|tool_call|>[{N}]",
        '<function=area>{"base": 10}</function>',
        f"<function_call> {N}",
        "<|python_tag|>area(base=10)",
        f"{F}json\n[{N}]\n{F}",
        f"Here:\n{F}json\n{N}\n{F}\nDone.",
        f"{F}python\narea(base=10)\n{F}",
        f"[{N}]",
        f'{{"tool_calls": [{N}]}}',
        '{"type": "function", "function": {"name": "area", "arguments": "{\\"base\\": 10}"}}',
        '{"name": "area", "parameters": {"base": 10}}; {"name": "area", "parameters": {"base":'
        " 11}}",
        '[{"area": {"base": 10}}]',
        "[area(base=10)]",
        "Sure.\n[area(base=10), area(base=11)]\nI hope this helps!",
        "math_factorial(number=5)\nmath_factorial(number=6)",
        '["area(base=10)"]',
        [{"area": "{'base': 10}"}],
        ["[area(base=10)]"],
        {"name": "area", "arguments": {}},
    ],
)
def test_call_text_is_found(reply: Any) -> None:
    assert holds_call_text(reply, NAMES)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        [],
        None,
        5,
        "I cannot do that.",
        "The function area(base, height) needs a height.",
        "Use `area` with base=10.",
        "area(base, height)",
        "To call it, I would write a <tool_call> block, but no function is suitable.",
        "None of the functions (area, math.factorial) can answer this question.",
        f'{F}json\n{{"answer": 10}}\n{F}',
        f"{F}python\nprint(sum(values, start=1))\n{F}",
        '{"name": "Ada", "age": 36}',
        "The area is [10, 20].",
        "Let f(x) = x**2. Then f(3) = 9.",
        ["Which base do you mean?"],
    ],
)
def test_prose_is_no_call_text(reply: Any) -> None:
    assert not holds_call_text(reply, NAMES)


def test_unknown_functions_need_a_complete_call() -> None:
    assert holds_call_text(f"[TOOL_CALLS] [{N}]", ())
    assert holds_call_text("[anything(base=10)]", ())
    assert not holds_call_text('{"name": "Ada"}', ())
    assert not holds_call_text("The answer is 10.", ())


def test_long_reply_is_searched_in_bounded_time() -> None:
    assert not holds_call_text("<tool_call> [(" * 200_000, NAMES)
    assert not holds_call_text("x(\n" * 200_000, NAMES)


@pytest.mark.parametrize(
    ("reply", "is_flagged"),
    [
        (f"[TOOL_CALLS] [{N}]", True),
        ("I cannot do that.", False),
        ("", False),
        (
            f"Error during inference: Error code: 400 - {{'failed_generation': '<tool_call>{N}'}}",
            False,
        ),
    ],
)
def test_item_with_unread_call_is_flagged(
    v4: Path, plans: Any, items: Any, write_lines: Any, reply: str, is_flagged: bool
) -> None:
    (v4 / SCORE).unlink()
    good = [{"area": '{"base": 10, "height": 5}'}]
    write_lines(
        v4 / RESULT,
        {"id": f"{CATEGORY}_0", "result": good},
        {"id": f"{CATEGORY}_1", "result": reply},
    )
    (plan,) = plans(v4)
    plan.options = {"decoder": "FC"}
    (first, second), _ = items(plan)
    assert first.flags == []
    assert second.flags == (["undecoded"] if is_flagged else [])
    if is_flagged:
        (call,) = second.predicted
        assert (call.raw, call.arguments) == (reply, None)


def test_decoder_that_ignores_text_still_shows_the_call(
    v4: Path, plans: Any, items: Any, write_lines: Any
) -> None:
    """COHERE reads no call in text, which is no decoding error."""
    (v4 / SCORE).unlink()
    write_lines(v4 / RESULT, *({"id": f"{CATEGORY}_{n}", "result": f"[{N}] {n}"} for n in range(2)))
    (plan,) = plans(v4)
    plan.options = {"decoder": "COHERE"}
    found, _ = items(plan)
    assert [item.flags for item in found] == [["undecoded"]] * 2
    assert [item.predicted[0].raw for item in found] == [f"[{N}] 0", f"[{N}] 1"]
    assert found[0].predicted[0].decode_error == "the decoder COHERE reads no call in this reply"


def test_step_of_conversation_with_unread_call_is_flagged(
    v4: Path, plans: Any, items: Any, write_lines: Any
) -> None:
    path = v4 / "result/m/multi_turn/BFCL_v4_multi_turn_base_result.json"
    steps = [[[{"ls": "{}"}], '[TOOL_CALLS] [{"name": "cd", "arguments": {"folder": "a"}}]']]
    write_lines(
        path,
        {"id": "multi_turn_base_0", "result": steps},
        {"id": "multi_turn_base_1", "result": [["Done."]]},
    )
    (plan,) = plans(v4)
    found, _ = items(plan)
    flags = {item.id: item.flags for item in found if item.category == "multi_turn_base"}
    assert flags == {"multi_turn_base_0": ["undecoded"], "multi_turn_base_1": []}

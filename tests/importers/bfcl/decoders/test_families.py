"""Every decoder returns calls, a failure or a wrong format for our examples."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.base import Decoder, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.registry import DECODERS, DECODERS_BY_NAME, find_decoder
from fcreview.importers.common.records import Undecodable

N = '{"name": "f", "arguments": {"a": 1}}'
P = '{"name": "f", "parameters": {"a": 1}}'
F = "```"
ONE = [("f", {"a": 1})]
TWO = [("f", {"a": 1}), ("g", {"b": 2})]
EVERY = ("V1", "V3", "V4")
LATER = ("V3", "V4")


def decode(name: str, reply: Any, rules: str = "V4", language: str = "python") -> Any:
    decoder = find_decoder(name, rules)
    assert decoder is not None
    return decode_or_name_failure(decoder, reply, DecoderContext(rules, language))


def decode_or_name_failure(decoder: Decoder, reply: Any, context: DecoderContext) -> Any:
    try:
        return decoder.decode(reply, context) or "no calls"
    except WrongFormat:
        return "wrong format"
    except Undecodable:
        return "failed"


CALLS: list[tuple[str, Any, tuple[str, ...], Any]] = [
    ("BARE", "[f(a=1)]", EVERY, ONE),
    ("BARE", "f(a=1)", ("V1",), "failed"),
    ("BARE", "f(a=1), g(b=2)", ("V1",), TWO),
    ("BRACKET", "f(a=1)", EVERY, ONE),
    ("BLANK", " f(a=1)", EVERY, ONE),
    ("BLANK", "  f(a=1)", ("V3",), "failed"),
    ("BLANK", "", EVERY, "failed"),
    ("MISTRAL", "get\\_x(a=1)", EVERY, [("get_x", {"a": 1})]),
    ("MISTRAL", "[f(a=1)]\n", EVERY, "failed"),
    ("LLAMA1", "\n\n[f(a=1),\ng(b=2)]", ("V1",), TWO),
    ("PROMPT", f"{F}\nf(a=1)\n{F}", LATER, ONE),
    ("PROMPT", f"{F}python\nf(a=1)\n{F}", LATER, "failed"),
    ("PROMPT", "[f(a=1),\ng(b=2)]", ("V3",), "failed"),
    ("PROMPT", "[f(a=1),\ng(b=2)]", ("V1", "V4"), TWO),
    ("PROMPT", "[f(a=1,\nb=2)]", EVERY, [("f", {"a": 1, "b": 2})]),
    ("PROMPT", "[ f(a=1) ]", ("V3",), "failed"),
    ("PROMPT", "[ f(a=1) ]", ("V4",), ONE),
    ("PROMPT", "[\nf(a=1)\n]", LATER, ONE),
    ("PROMPT", "[\n  f(a=1)\n]", ("V3",), "failed"),
    ("PROMPT", "['f(a=1)']", ("V3",), ONE),
    ("PROMPT", "['f(a=1)']", ("V1", "V4"), "failed"),
    ("PROMPT", "['f(a=1)', 'g(b=2)']", EVERY, "failed"),
    ("PROMPT", '["f(a=1)"]', EVERY, "failed"),
    ("PROMPT", "[f(a=1)]\n]", ("V3",), "failed"),
    ("PROMPT", "[]", ("V3",), "failed"),
    ("PROMPT", "[]", ("V1", "V4"), "no calls"),
    ("PROMPT", "[f()]", LATER, [("f", {})]),
    ("PROMPT", "[f()]", ("V1",), "wrong format"),
    ("PROMPT", [{"f": "{}"}], EVERY, "failed"),
    ("PHI", f"{F}python\n[f(a=1)]\n{F}", LATER, ONE),
    ("GEMINI", f"{F}tool_code\n[f(a=1)]\n{F}", LATER, ONE),
    ("GEMINI", f"{F}python\n[f(a=1)]\n{F}", LATER, "failed"),
    ("GEMMA1", "Sure: [f(a=1)] ok", ("V1",), ONE),
    ("GEMMA1", "Sure.", ("V1",), "failed"),
    ("CODER1", f"So:\n{F}python\n[f(a=1)]\n{F}", ("V1",), ONE),
    ("CODER1", "[f(a=1)]", ("V1",), "failed"),
    ("CODER1", f"{F}[f(a=[1,2])]{F}", ("V1",), "failed"),
    ("QUOTED", "['f(a=1)', 'g(b=2)']", ("V1", "V3"), TWO),
    ("QUOTED", "f(a=1)", ("V1", "V3"), ONE),
    ("DBRX", "f(a='x')", ("V1", "V3"), [("f", {"a": "x"})]),
    ("DBRX", "f(a='two words')", ("V3",), [("f", {"a": "two words"})]),
    ("DBRX", "f(a='two words')", ("V1",), "failed"),
    ("RAVEN", "f(a=1);g(b=2);", ("V1", "V3"), TWO),
    ("RAVEN", "out_of_domain(a=1)", ("V1", "V3"), "wrong format"),
    ("GORILLA", "f(a=1)", EVERY, ONE),
    ("GORILLA", "I cannot.", EVERY, "failed"),
    ("NEMOTRON", "ok <TOOLCALL>[f(a=1)]</TOOLCALL>", ("V4",), ONE),
    ("NEMOTRON", "no", ("V4",), "no calls"),
    (
        "MINICPM",
        f"<|tool_call_start|>\n{F}python\nf(a=1)\ng(b=2)\n{F}\n<|tool_call_end|>",
        LATER,
        TWO,
    ),
    (
        "MINICPM",
        "<|thought_start|>f<|thought_end|><|tool_call_start|>f(a=1);g(b=2)<|tool_call_end|>",
        LATER,
        TWO,
    ),
    ("MINICPM", "f(a=1)", LATER, "wrong format"),
    ("MINICPM", "<|tool_call_start|>f(a=<|tool_call_end|>", LATER, "wrong format"),
    (
        "HERMES",
        "<tool_call>\n{\"arguments\": {'a': 1}, \"name\": 'f'}\n</tool_call>",
        ("V1", "V3"),
        ONE,
    ),
    ("HERMES", "Prose.\n<tool_call>\n\n</tool_call>", ("V1", "V3"), "failed"),
    ("HERMES", "Prose.", ("V1", "V3"), "no calls"),
    ("HERMES", f"<tool_call>{N}</tool_call>", ("V1", "V3"), "no calls"),
    ("GLM", 'f\n{"a": 1}', EVERY, ONE),
    ("GLM", "prose", EVERY, "wrong format"),
    ("GLM", "prose\nand prose", EVERY, "failed"),
    ("GRANITE", f"<function_call> {N}", EVERY, ONE),
    ("GRANITE", f"Sure <function_call> {N}", EVERY, "wrong format"),
    ("GRANITE", '<function_call> {"name": "no_function"}', EVERY, "wrong format"),
    ("GRANITE", "<function_call> [1]", EVERY, "failed"),
    ("GRANITE", "", EVERY, "no calls"),
    ("HAMMER", f"{F}\n[{N}]\n{F}", LATER, ONE),
    ("HAMMER", f"{F}json\n[{N}]\n{F}", LATER, "no calls"),
    ("HAMMER", N, LATER, "failed"),
    ("XLAM1", f'{{"tool_calls": [{N}]}}', ("V1",), ONE),
    ("XLAM1", f"[{N}, 5]", ("V1",), ONE),
    ("XLAM1", "prose", ("V1",), "wrong format"),
    ("XLAM2", f"[{N}]", LATER, ONE),
    ("XLAM2", f'{N}; {{"name": "g", "arguments": {{"b": 2}}}}', LATER, TWO),
    ("XLAM2", "prose", LATER, "failed"),
    ("JSON", f"[{N}]", LATER, ONE),
    ("JSON", "[f(a=1)]", LATER, "failed"),
    ("THINK", f"<think>so</think> [{N}]", LATER, ONE),
    ("THINK", f"[{N}]", LATER, "no calls"),
    ("FALCON", f"<tool_call>\n[{N}]\n</tool_call>", LATER, ONE),
    ("FALCON", f"<tool_call>\n{F}json\n[{N}]\n{F}\n</tool_call> <tool_call>", LATER, ONE),
    ("FALCON", f"<tool_call>\n[{N}]\n<tool_call>\n[{N}]\n</tool_call>", LATER, ONE),
    ("FALCON", "prose", ("V3",), "no calls"),
    ("FALCON", "prose", ("V4",), "failed"),
    ("LLAMAFC", P, EVERY, ONE),
    ("LLAMAFC", f"<|python_tag|>{P}", LATER, ONE),
    ("LLAMAFC", '({"name": "f", "parameters": {"a": 5*3}},)', LATER, [("f", {"a": 15})]),
    ("LLAMAFC", f"{P};", LATER, "failed"),
    ("LLAMAFC", '{"name": "f", "parameters": {"a": true}}', LATER, "failed"),
    ("TAGS", f"<tool_call>\n{N}\n</tool_call>", LATER, ONE),
    ("TAGS", f"<tool_call>\nno\n</tool_call>\n<tool_call>\n{N}\n</tool_call>", ("V4",), ONE),
    ("TAGS", f"<tool_call>\nno\n</tool_call>\n<tool_call>\n{N}\n</tool_call>", ("V3",), "no calls"),
    ("TAGS", '<tool_call>\n{"name": "f", "arguments": "{}"}\n</tool_call>', LATER, "failed"),
    ("TAGS", f"<tool_call>{N}</tool_call>", LATER, "no calls"),
    ("FGEMMA", "<start_function_call>call:f{a:1}<end_function_call>", ("V4",), ONE),
    (
        "FGEMMA",
        "<start_function_call>call:f{s:<escape>a, {b}<escape>,l:[1,"
        " 2.5],o:{k:true},n:null,w:word}<end_function_call>",
        ("V4",),
        [("f", {"s": "a, {b}", "l": [1, 2.5], "o": {"k": True}, "n": None, "w": "word"})],
    ),
    ("FGEMMA", "<start_function_call>call:f<end_function_call>", ("V4",), [("f", {})]),
    ("FGEMMA", "<start_function_call>f{a:1}<end_function_call>", ("V4",), "no calls"),
    ("FGEMMA", "<start_function_call>call:f{a:1<end_function_call>", ("V4",), "failed"),
    ("FGEMMA", "<start_function_call>call:f{a:[}}<end_function_call>", ("V4",), "failed"),
    ("FC", [{"f": '{"a": 1}', "g": "{}"}], EVERY, ONE),
    ("FC", [{"f": {"a": 1}}], EVERY, "failed"),
    ("FC", {"f": '{"a": 1}'}, EVERY, "failed"),
    ("FC", "", EVERY, "no calls"),
    ("FC", None, EVERY, "failed"),
    ("FC-G", {"f": '{"a": 1}'}, ("V1",), ONE),
    ("FC-G", [{"f": '{"a": 1}'}, "text"], ("V1",), "failed"),
    ("FC-O", [{"f": {"a": 1}}], ("V1",), ONE),
    ("GFC", [{"f": {"a": 1}}], LATER, ONE),
    ("GFC", ["text"], LATER, "wrong format"),
    ("GFC", "text", LATER, "wrong format"),
    ("COHERE", [{"tool_name": "f", "parameters": {"a": 1}}], LATER, ONE),
    ("COHERE", [{"f": {"a": 1}}], LATER, "failed"),
    ("COHERE", "prose", LATER, "no calls"),
    ("LIST", [{"f": {"a": 1}}], LATER, ONE),
    ("LIST", [{"f": '{"a": 1}'}], LATER, "wrong format"),
    ("LIST", "prose", ("V3",), "no calls"),
    ("LIST", "prose", ("V4",), "failed"),
    ("LIST-DOTTED", ["text"], LATER, "wrong format"),
    ("LIST-STRICT", ["text"], ("V4",), "failed"),
    ("LIST-STRICT", ["text"], ("V3",), "no calls"),
    ("NAMEARG", [{"name": "f", "arguments": {"a": 1}, "id": 5}], LATER, ONE),
    ("NAMEARG", [{"name": "f", "arguments": "{}"}], LATER, "wrong format"),
    ("NAMEARG", "prose", LATER, "failed"),
    ("NAMEARG", "", LATER, "no calls"),
]


@pytest.mark.parametrize(("name", "reply", "generations", "expected"), CALLS)
def test_decoder_examples(
    name: str, reply: Any, generations: tuple[str, ...], expected: Any
) -> None:
    for rules in generations:
        assert decode(name, reply, rules) == expected, rules


def test_every_decoder_has_example() -> None:
    assert {decoder.name for decoder in DECODERS} - {name for name, *_ in CALLS} == {
        "FC-DOTTED",
        "AUTO",
    }


def test_some_decoders_take_names_without_dots() -> None:
    flat = {decoder.name for decoder in DECODERS if decoder.name_spelling == "flat"}
    assert flat == {
        "FC",
        "FC-G",
        "FC-O",
        "GFC",
        "COHERE",
        "LIST",
        "MINICPM",
        "HERMES",
        "GLM",
        "GRANITE",
    }


def test_java_and_javascript_lose_first_and_last_character() -> None:
    assert decode("BRACKET", "f(alpha=1, beta='x')", "V1", "javascript") == [
        ("f", {"alpha": "1", "beta": "x"})
    ]
    assert decode("BARE", "xf(alpha=1)x", "V1", "javascript") == [("f", {"alpha": "1"})]


@pytest.mark.parametrize("name", sorted(DECODERS_BY_NAME))
def test_decoders_never_raise(name: str) -> None:
    replies: list[Any] = [
        None,
        5,
        True,
        {},
        [],
        [None],
        [[]],
        [{}],
        "",
        "[",
        "]",
        ";",
        "\n",
        F,
        "<tool_call>\n",
        "{}",
    ]
    replies += [
        "[" * 500,
        "<start_function_call>call:f{" * 300,
        "{" * 3000,
        '{"a": ' * 500,
        "</think>5",
        "x" * 2000,
    ]
    for rules in ("V1", "V2", "V3", "V4"):
        for reply in replies:
            found = decode_or_name_failure(DECODERS_BY_NAME[name], reply, DecoderContext(rules))
            assert type(found) is list or found in ("no calls", "failed", "wrong format")

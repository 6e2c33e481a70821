"""All shapes of replies are decoded into calls (formats/bfcl section 5)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.base import DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.models import find_model_decoder
from fcreview.importers.bfcl.decoders.registry import (
    DECODERS_BY_NAME,
    decode_result,
    to_early_v1_decoder,
)
from fcreview.importers.common.records import Undecodable

NAMED = '{"name": "f", "arguments": {"a": 1}}'
ONE = [("f", {"a": 1})]
TWO = [("f", {"a": 1}), ("g", {"b": "x"})]


def decode(
    result: Any,
    *,
    v1: bool = False,
    model: str = "",
    language: str = "python",
    config: str | None = None,
) -> Any:
    rules = "V1" if v1 else "V4"
    model = model or ("m-FC" if config is None else "m")
    return decode_result(
        result, find_model_decoder(model, rules).decoder, DecoderContext(rules, language), config
    )


@pytest.mark.parametrize(
    "result",
    [
        [{"f": '{"a": 1}'}],
        [{"f": {"a": 1}}],
        {"f": '{"a": 1}'},
        [{"tool_name": "f", "parameters": {"a": 1}}],
        [{"f": '{"a": 1}', "more": 2}],
    ],
)
def test_native_shapes_of_unknown_model(result: Any) -> None:
    assert decode(result, model="m") == ONE


@pytest.mark.parametrize("result", [[], ""])
def test_empty_reply_is_no_call(result: Any) -> None:
    assert decode(result) == []


@pytest.mark.parametrize(
    "result",
    [
        "Some prose.",
        [{"f": "{not json"}],
        ["text"],
        [{"f": "{}"}, "text"],
        [{}],
        None,
        5,
        [None],
        [{"f": ""}],
    ],
)
def test_native_records_that_are_not_calls(result: Any) -> None:
    with pytest.raises(Undecodable):
        decode(result)


@pytest.mark.parametrize("result", [[{"f": "[1]"}], [{"f": "null"}]])
def test_arguments_must_be_object(result: Any) -> None:
    with pytest.raises(WrongFormat):
        decode(result)


def test_argument_json_is_read_like_standard_library() -> None:
    arguments = decode([{"f": '{"big": 123456789012345678901234, "nan": NaN, "s": "\\ud800"}'}])[0][
        1
    ]
    assert arguments["big"] == 123456789012345678901234
    assert math.isnan(arguments["nan"])
    assert arguments["s"] == "\ud800"


def test_gemini_text_has_wrong_format_and_cohere_text_no_call() -> None:
    for result in ("prose", ["prose"]):
        with pytest.raises(WrongFormat):
            decode(result, model="gemini-2.5-flash-FC")
    assert decode("prose", model="command-r7b-12-2024-FC") == []


@pytest.mark.parametrize(
    ("text", "model", "v1"),
    [
        (f"<tool_call>\n{NAMED}\n</tool_call>", "Qwen_Qwen3-8B-FC", False),
        (
            f"<tool_call>\n{NAMED}\n</tool_call>".replace('"', "'"),
            "NousResearch_Hermes-2-Pro-Llama-3-8B",
            True,
        ),
        (f"<function_call> {NAMED}", "ibm-granite_granite-20b-functioncalling", False),
        (f'\n{{"tool_calls": [{NAMED}]}}', "Salesforce_xLAM-7b-fc-r", True),
        (f"[{NAMED}]", "Salesforce_xLAM-2-32b-fc-r", False),
        (f"```\n[{NAMED}]\n```", "MadeAgents_Hammer2.1-7b", False),
        ('f\n{"a": 1}\nmore', "THUDM_glm-4-9b-chat", True),
        ('{"name": "f", "parameters": {"a": 1}}', "meta-llama_Llama-3.1-8B-Instruct-FC", False),
        (f"<tool_call>[{NAMED}]</tool_call>", "tiiuae_Falcon3-7B-Instruct-FC", False),
        ("f(a=1)", "gorilla-openfunctions-v2", True),
        ("f(a=1);", "Nexusflow-Raven-v2", True),
        ("```python\nf(a=1)\n```", "microsoft_phi-4", False),
    ],
)
def test_text_formats_of_local_models(text: str, model: str, v1: bool) -> None:
    assert decode(text, model=model, v1=v1) == ONE


def test_several_calls_in_local_formats() -> None:
    block = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
    text = block % ("f", '{"a": 1}') + "\n" + block % ("g", '{"b": "x"}')
    assert decode(text, model="Qwen_Qwen3-8B-FC") == TWO
    text = '{"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {"b": "x"}}'
    assert decode(text, model="meta-llama_Llama-3.1-8B-Instruct-FC") == TWO


def test_json_call_of_prompt_mode_model_fails() -> None:
    with pytest.raises(Undecodable):
        decode('[{"name": "f", "arguments": {"a": 1}}]', model="gpt-4o-2024-11-20")


def test_literal_handlers_need_python_notation() -> None:
    with pytest.raises(Undecodable):
        decode(
            '{"name": "f", "parameters": {"a": true}}', model="meta-llama_Llama-3.1-8B-Instruct-FC"
        )


def test_underscores_replace_dots_only_in_native_names() -> None:
    for model, names in (
        ("gpt-4o-FC", "flat"),
        ("gpt-4o", "dotted"),
        ("Qwen_Qwen3-8B-FC", "dotted"),
        ("m", "either"),
    ):
        assert find_model_decoder(model, "V4").decoder.name_spelling == names


def fmt(name: str, tag: bool = False) -> str:
    return (
        f"ret_fmt={name}&tool_call_tag={tag}&func_doc_fmt=python&prompt_fmt=plaintext&style=classic"
    )


VERBOSE = (
    '<functions><function name="f"><params><param name="a" value="1"'
    ' type="integer"/></params></function>'
    '<function name="g"><params><param name="b" value="x"'
    ' type="string"/></params></function></functions>'
)
CONCISE = (
    '<functions><function name="f"><param name="a" type="integer">1</param></function>'
    '<function name="g"><param name="b">x</param></function></functions>'
)
JSON = json.dumps(
    [{"function": "f", "parameters": {"a": 1}}, {"function": "g", "parameters": {"b": "x"}}]
)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("[f(a=1), g(b='x')]", fmt("python")),
        ("<TOOLCALL>[f(a=1), g(b='x')]</TOOLCALL>", fmt("python", True)),
        (f"Sure: {JSON}", fmt("json")),
        (f"<TOOLCALL>{JSON}</TOOLCALL>", fmt("json", True)),
        (f"```xml\n{VERBOSE}\n```", fmt("verbose_xml")),
        (f"Here: {CONCISE}", fmt("concise_xml")),
        (f"<TOOLCALL>{CONCISE}</TOOLCALL>", fmt("concise_xml", True)),
    ],
)
def test_format_sensitivity(text: str, config: str) -> None:
    assert decode(text, config=config, model="gpt-4o") == TWO


CLASSIC = "tool_call_tag=False&func_doc_fmt=python&prompt_fmt=plaintext&style=classic"
LISTED_CALL = '[{"function": "f", "parameters": {"a": 1}}]'


@pytest.mark.parametrize("model", ["microsoft_phi-4", "microsoft_Phi-4-mini-instruct"])
@pytest.mark.parametrize(
    ("format_name", "reply"),
    [
        ("python", "```python\n[f(a=1)]\n```"),
        ("python", "```json\n[f(a=1)]\n```"),
        ("json", f"```json\n{LISTED_CALL}\n```"),
    ],
)
def test_phi_removes_fence_with_language_in_every_format(
    model: str, format_name: str, reply: str
) -> None:
    assert decode(reply, config=f"ret_fmt={format_name}&{CLASSIC}", model=model) == ONE


def test_other_models_keep_fence_with_language() -> None:
    with pytest.raises(Undecodable):
        decode(
            "```python\n[f(a=1)]\n```",
            config=f"ret_fmt=python&{CLASSIC}",
            model="gpt-4o-2024-11-20",
        )


def test_gemini_removes_tool_code_fence_in_python_format() -> None:
    config = f"ret_fmt=python&{CLASSIC}"
    assert decode("```tool_code\n[f(a=1)]\n```", config=config, model="gemini-2.5-flash") == ONE


@pytest.mark.parametrize("format_name", ["json", "verbose_xml", "concise_xml", "python"])
def test_handlers_of_other_forms_ignore_the_format(format_name: str) -> None:
    """Their handlers pass over the configuration, so text of its format is no call to them."""
    config = f"ret_fmt={format_name}&{CLASSIC}"
    xml = (
        '<functions><function name="f"><param name="a"'
        ' type="integer">1</param></function></functions>'
    )
    for model in ("DM-Cito-8B-v2", "mistralai_Ministral-8B-Instruct-2410"):
        for reply in (LISTED_CALL, xml, "[f(a=1)]"):
            with pytest.raises(Undecodable):
                decode(reply, config=config, model=model)
    assert (
        decode([{"f": {"a": 1}}], config=config, model="mistralai_Ministral-8B-Instruct-2410")
        == ONE
    )


@pytest.mark.parametrize("reply", ["", "prose", "<TOOLCALL>", "[f(a=1)]"])
@pytest.mark.parametrize("rules", ["V3", "V4"])
def test_nemotron_reply_without_block_has_no_call(rules: str, reply: str) -> None:
    assert DECODERS_BY_NAME["NEMOTRON"].decode(reply, DecoderContext(rules)) == []


def test_json_format_without_json_has_no_call() -> None:
    assert decode("I cannot do that.", config=fmt("json")) == []
    assert decode('["text", {"function": "f", "parameters": {"a": 1}}]', config=fmt("json")) == ONE
    with pytest.raises(Undecodable):
        decode('[{"function": "f"}]', config=fmt("json"))


def test_json_format_ends_at_first_object_list() -> None:
    text = '[{"function": "f", "parameters": {"a": [{"x": 1}]}}]'
    assert decode(text, config=fmt("json")) == []


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("[f(a=1)]", fmt("python", True)),
        ("[f(a=1)]", fmt("verbose_xml")),
        (CONCISE.replace(">1<", ">one<"), fmt("concise_xml")),
        ("<functions><function></functions>", fmt("concise_xml")),
        ('<functions><!DOCTYPE x [<!ENTITY a "b">]></functions>', fmt("concise_xml")),
    ],
)
def test_format_sensitivity_failures(text: str, config: str) -> None:
    with pytest.raises(Undecodable):
        decode(text, config=config)


def test_xml_values_are_converted_by_type() -> None:
    kinds = {
        "float": "2",
        "boolean": "TRUE",
        "null": "x",
        "array": "[1, 'a']",
        "dict": "{'k': 1}",
        "other": " s ",
    }
    params = "".join(
        f'<param name="{kind}" type="{kind}">{text}</param>' for kind, text in kinds.items()
    )
    found = decode(
        f'<functions><function name="f">{params}</function></functions>', config=fmt("concise_xml")
    )
    values = {
        "float": 2.0,
        "boolean": True,
        "null": None,
        "array": [1, "a"],
        "dict": {"k": 1},
        "other": "s",
    }
    assert found[0][1] == values


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('A.f(s="x y", n=5L, b=true)', {"s": "x y", "n": "5L", "b": "true"}),
        ("Alpha.function(c='x')", {"c": "x"}),
        ('A.f(a=new String[]{"p", "q"})', {"a": 'new String[]{"p","q"}'}),
        (
            "A.f(a=new ArrayList<>(Arrays.asList(1, 2)))",
            {"a": "new ArrayList<>(Arrays.asList(1, 2))"},
        ),
        ("A.f(v=x, n=new Foo(1,2))", {"v": "x", "n": "new Foo(1, 2)"}),
        ("A.f(a=1).g(b=2)", {"b": "2"}),
        ("A.f(pos, a=1)", {None: "pos", "a": "1"}),
    ],
)
def test_java_calls(text: str, arguments: dict[str, str]) -> None:
    assert decode(f"[{text}]", model="gpt-4o", language="java")[0][1] == arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f(s='x y', n=5, b=true)", {"s": "x y", "n": "5", "b": "true"}),
        ("f(o={k: [1, 2]}, g=() => 1)", {"o": "{k: [1, 2]}", "g": "() => 1"}),
        ("f(a=1)\ng(b=2)", {"a": "1"}),
    ],
)
def test_javascript_calls(text: str, arguments: dict[str, str]) -> None:
    assert decode(f"[{text}]", model="gpt-4o", language="javascript") == [("f", arguments)]


def test_code_fence_after_javascript_call_is_ignored() -> None:
    text = "[python\n  calculate(time=5)\n```\n\n```]"
    assert decode(text, model="gpt-4o", language="javascript") == [("calculate", {"time": "5"})]


def test_short_java_without_semicolon_is_refused() -> None:
    with pytest.raises(Undecodable):
        decode("[f(a=1)]", model="gpt-4o", language="java")
    assert decode("[f(a=1);]", model="gpt-4o", language="java") == [("f", {"a": "1"})]


@pytest.mark.parametrize("language", ["java", "javascript"])
def test_code_without_call(language: str) -> None:
    with pytest.raises(Undecodable):
        decode("[this is prose, not code]", model="gpt-4o", language=language)
    with pytest.raises(Undecodable):
        decode("[f(alpha=1, alpha=2)]", model="gpt-4o", language=language)
    with pytest.raises(WrongFormat):
        decode("[someVariable = otherVariable;]", model="gpt-4o", language=language)


@pytest.mark.parametrize("model", ["claude-3-opus-20240229-FC", "command-r-plus-FC", "gpt-4o-FC"])
def test_native_java_arguments_were_text_in_first_v1_runs(model: str) -> None:
    result: Any = (
        [{"f": {"a": 1, "b": True}}] if "command" in model else [{"f": '{"a": 1, "b": true}'}]
    )

    def decode_first_call(language: str, rules: str, *, first: bool = False) -> Any:
        decoder = find_model_decoder(model, "V1").decoder
        return decode_result(
            result,
            to_early_v1_decoder(decoder, rules) if first else decoder,
            DecoderContext(rules, language),
        )

    assert decode_first_call("java", "V1", first=True) == [("f", {"a": "1", "b": "True"})]
    assert decode_first_call("java", "V1") == [("f", {"a": 1, "b": True})]
    assert decode_first_call("python", "V1", first=True) == [("f", {"a": 1, "b": True})]
    assert decode_first_call("java", "V4", first=True) == [("f", {"a": 1, "b": True})]


@pytest.mark.parametrize("language", ["java", "javascript"])
def test_v1_hermes_java_arguments_are_text(language: str) -> None:
    text = "<tool_call>\n{'name': 'f', 'arguments': {'a': {'b': 1}, 'c': true}}\n</tool_call>"
    hermes = {"model": "NousResearch_Hermes-2-Pro-Llama-3-8B", "v1": True}
    assert decode(text, language=language, **hermes) == [("f", {"a": "{'b': 1}", "c": "True"})]
    assert decode(text, **hermes) == [("f", {"a": {"b": 1}, "c": True})]


@pytest.mark.parametrize("v1", [True, False])
def test_glm_reads_first_two_lines(v1: bool) -> None:
    def decode_first_call(text: str) -> Any:
        return decode(text, model="THUDM_glm-4-9b-chat", v1=v1)

    assert decode_first_call('f\n{"a": 1}\nmore') == [("f", {"a": 1})]
    assert decode_first_call('f \n{"a": 1}') == [("f ", {"a": 1})]
    assert decode_first_call('\n{"a": 1}') == [("", {"a": 1})]
    for text in ('\nI will call a function.f\n{"a": 1}', '\nf\n{"a": 1}', "prose\nand more"):
        with pytest.raises(Undecodable):
            decode_first_call(text)
    for text in ("prose in one line", "", "f\n[1]"):
        with pytest.raises(WrongFormat):
            decode_first_call(text)


def test_messages_have_no_memory_addresses() -> None:
    with pytest.raises(Undecodable) as error:
        decode(
            '{"name": "f", "parameters": {"a": true}}', model="meta-llama_Llama-3.1-8B-Instruct-FC"
        )
    assert "0x" not in str(error.value)

"""Odd, huge, undecodable and redacted records become items."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.importers.bfcl.small_run import CATEGORY, OFFICIAL, RESULT, issue_texts, official_verdicts


def test_unknown_fields_are_kept_and_reported_once(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, *({**result(f"{CATEGORY}_{n}"), "cost": n} for n in range(2)))
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert [item.extra.metadata["cost"] for item in found] == [0, 1]
    assert [(issue.severity, "cost" in issue.what) for issue in issues] == [("notice", True)]


@pytest.mark.parametrize(
    "value",
    [
        None, 3, True, "", [], {}, [None], [[]], [{}], [{"area": None}], [{"area": [1]}], {"area": {"base": 1}},
        [{"area": '{"base": NaN}'}], [{"area": '{"base": 1e999}'}], [{"area": "[" * 5000}], "area(" * 3000,
        [{"tool_name": "area", "parameters": {"base": 10, "height": 5}}], {"a": [[[[]]]]}, ["text", {"area": "{}"}],
        "[area(base=" + "[" * 90 + "]" * 90 + ")]", "[area(base=10, height=5)]\u0000\x1b[2J",
    ],
    ids=itertools.count(),
)  # fmt: skip
def test_odd_results_are_items(v4: Path, plans: Any, items: Any, write_lines: Any, value: Any) -> None:
    write_lines(v4 / RESULT, {"id": f"{CATEGORY}_0", "result": value})
    (plan,) = plans(v4)
    found, _ = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert found[0].issues == []
    assert found[0].prediction_hash


def test_deep_nesting_keeps_item(v4: Path, plans: Any, items: Any) -> None:
    deep = b'{"id": "simple_python_0", "result": [{"area": {"base": ' + b"[" * 600 + b"]" * 600 + b"}}]}\n"
    (v4 / RESULT).write_bytes(deep + b'{"id": "simple_python_1", "result": "' + b"\xff" + b'"}')
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert any("not UTF-8" in what for what in issue_texts(issues))


@pytest.mark.sweep
@pytest.mark.slow
def test_line_of_50_mb_is_item_with_its_beginning(
    v4: Path, plans: Any, items: Any, write_lines: Any, result: Any
) -> None:
    write_lines(
        v4 / RESULT, {"id": f"{CATEGORY}_0", "result": "[area(" + "x" * 50_000_000}, result(f"{CATEGORY}_1", 11)
    )
    (plan,) = plans(v4)
    found, issues = items(plan)
    assert official_verdicts(found) == OFFICIAL
    assert len(orjson.dumps(found[0])) < 4_000_000
    assert [(issue.line, "50 MB" in issue.what) for issue in issues] == [(1, True)]


def test_undecodable_output_names_no_function(v4: Path, plans: Any, items: Any, write_lines: Any, result: Any) -> None:
    text = "I would call area(base=, height=5)"
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"), {"id": f"{CATEGORY}_1", "result": text})
    (plan,) = plans(v4)
    (_, item), _ = items(plan)
    assert (item.rule_error_type, item.diff_function, item.diff_argument) == ("ast_decoder:decoder_failed", None, None)
    assert item.first_difference
    assert [(call.name, call.arguments, call.raw) for call in item.predicted] == [("", None, text)]
    assert item.predicted[0].decode_error


def test_keys_of_third_parties_are_redacted(
    tmp_path: Path, plans: Any, items: Any, write_lines: Any, header: Any, failure: Any
) -> None:
    hidden = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    name = "gorilla_openfunctions_v1_test_rest"
    call = (
        f"requests.get(url='https://a.b/c', headers={{'X-RapidAPI-Key': '{hidden}'}}, params={{'q': 'Tokyo, Japan'}})"
    )
    document = {"name": "requests.get", "parameters": {"type": "dict", "properties": {"key": {"type": "string"}}}}
    record = {"id": "rest_0", "question": f"My API key is '{hidden}'. The weather?", "function": document}
    native = [{"requests.get": json.dumps({"url": "https://a.b", "params": {"api_key": hidden, "q": "x"}})}]
    write_lines(
        tmp_path / f"result/m/{name}_result.json", {"id": "rest_0", "result": call}, {"id": "rest_1", "result": native}
    )
    entry = failure(1, prompt=record, model_result_raw=call, error=[f"key {hidden} refused"])
    write_lines(tmp_path / "score/m/rest_score.json", header(1, 2), entry)
    (plan,) = plans(tmp_path)
    found, issues = items(plan)
    assert len(found) == 2
    written = orjson.dumps([found, issues]).decode()
    assert hidden not in written
    assert "Tokyo, Japan" in written
    assert "https://a.b/c" in written
    assert all(item.extra.redacted for item in found)

"""The same reply to the same case is made sense of once, and the items are as if each had been."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.synthetic import write_run
from fcreview.importers.bfcl import dataset
from fcreview.importers.bfcl.checker import evaluate
from fcreview.importers.bfcl.checker.evaluate import EvaluatedReply, EvaluationSettings, evaluate_reply
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.importers.bfcl.checker.cases import AREA

RESULT = "non_live/BFCL_v4_simple_python_result.json"


def read(result: Any, decoder: str = "PROMPT", **more: Any) -> EvaluatedReply:
    return evaluate_reply(
        CASE, {"result": result, **more}, EvaluationSettings("V4", "simple_python", DECODERS_BY_NAME[decoder])
    )


CASE = replace(AREA)


@pytest.fixture(autouse=True)
def fresh() -> None:
    CASE.reply_cache.clear()


def test_equal_replies_are_one() -> None:
    text = "[math_area(base=10, height=5)]"
    assert read(text) is read(text)
    assert read([{"math_area": '{"base": 10}'}], "FC") is read([{"math_area": '{"base": 10}'}], "FC")
    assert read(text) is not read(text, "BARE")
    assert read(text, reasoning_content="hm").messages != read(text).messages


def test_replies_that_only_look_the_same_are_not() -> None:
    listed = [{"math_area": {"base": 10}}]
    assert read(orjson.dumps(listed).decode(), "LIST") is not read(listed, "LIST")
    nothing, no_number = ([{"math_area": {"base": value}}] for value in (None, float("nan")))
    assert read(nothing, "LIST").evaluation.calls != read(no_number, "LIST").evaluation.calls  # JSON has null for both


def test_no_more_replies_are_kept_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MAX_CACHED", 2)
    for n in range(5):
        assert read(f"[math_area(base={n})]").prediction_hash
    assert len(CASE.reply_cache) == 2


def items(folder: Path) -> list[Item | ImportIssue]:
    dataset.clear_dataset_cache()
    return [item for plan in discover([folder]).plans for item in read_items(plan)]


def test_runs_that_say_the_same_have_the_items_they_would_have_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "run", 12)
    for kind in ("result", "score"):
        for name in ("b", "c"):
            shutil.copytree(folder / kind / "synthetic", folder / kind / name)
    path = folder / "result" / "c" / RESULT
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    lines[0] |= {"latency": [[0.5, 1.0]], "input_token_count": [[1, 2]]}
    lines[1] |= {"traceback": "Traceback ..."}
    lines[2] |= {"own": 1}
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    shared = items(folder)
    monkeypatch.setattr(evaluate, "MAX_CACHED", 0)
    assert items(folder) == shared
    found = [item for item in shared if isinstance(item, Item)]
    assert len(found) == 36
    assert [item.seconds for item in found if item.seconds is not None] == [[0.5, 1.0]]
    assert len({id(item.shared_content) for item in found if item.shared_content}) > 5

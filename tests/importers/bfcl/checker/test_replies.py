"""Equal replies to a case are evaluated once, and the items are unchanged by this cache."""

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
from fcreview.importers.bfcl.checker.evaluate import (
    EvaluatedReply,
    EvaluationSettings,
    evaluate_record,
)
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.importers.bfcl.checker.cases import AREA

RESULT = "non_live/BFCL_v4_simple_python_result.json"


def evaluate_text(result: Any, decoder: str = "PROMPT", **more: Any) -> EvaluatedReply:
    return evaluate_record(
        CASE,
        {"result": result, **more},
        EvaluationSettings("V4", "simple_python", DECODERS_BY_NAME[decoder]),
    )


CASE = replace(AREA)


@pytest.fixture(autouse=True)
def clear_reply_cache() -> None:
    CASE.reply_cache.clear()


def test_equal_replies_share_evaluation() -> None:
    text = "[math_area(base=10, height=5)]"
    assert evaluate_text(text) is evaluate_text(text)
    assert evaluate_text([{"math_area": '{"base": 10}'}], "FC") is evaluate_text(
        [{"math_area": '{"base": 10}'}], "FC"
    )
    assert evaluate_text(text) is not evaluate_text(text, "BARE")
    assert evaluate_text(text, reasoning_content="hm").messages != evaluate_text(text).messages


def test_similar_replies_are_evaluated_separately() -> None:
    listed = [{"math_area": {"base": 10}}]
    assert evaluate_text(orjson.dumps(listed).decode(), "LIST") is not evaluate_text(listed, "LIST")
    null, nan = ([{"math_area": {"base": value}}] for value in (None, float("nan")))
    # JSON writes null for both
    assert (
        evaluate_text(null, "LIST").evaluation.calls != evaluate_text(nan, "LIST").evaluation.calls
    )


def test_reply_cache_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MAX_CACHED", 2)
    for n in range(5):
        assert evaluate_text(f"[math_area(base={n})]").prediction_hash
    assert len(CASE.reply_cache) == 2


def read_run_items(folder: Path) -> list[Item | ImportIssue]:
    dataset._cached_datasets.clear()
    return [item for plan in discover([folder]).plans for item in read_items(plan)]


def test_shared_replies_do_not_change_items(
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
    shared = read_run_items(folder)
    monkeypatch.setattr(evaluate, "MAX_CACHED", 0)
    assert read_run_items(folder) == shared
    found = [item for item in shared if isinstance(item, Item)]
    assert len(found) == 36
    assert [item.seconds for item in found if item.seconds is not None] == [[0.5, 1.0]]
    # Copies of an item have its `extra`.
    assert len({id(item.extra) for item in found}) < len(found) - 5

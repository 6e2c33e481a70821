"""Damaged logs: no crash, no lost sample without an issue, and no invented verdict."""

from __future__ import annotations

import copy
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.inspect.leaderboard import compute_metrics
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import ScoredItem
from fcreview.safe_files import import_zipfile
from tests.importers.damage import ENCODINGS, ODD

Log = dict[str, Any]
SAMPLE_FIELDS = (
    "id",
    "epoch",
    "input",
    "target",
    "messages",
    "output",
    "scores",
    "metadata",
    "store",
    "events",
    "model_usage",
    "attachments",
    "error",
    "limit",
    "invalidation",
    "working_time",
)
HEADER_FIELDS = ("version", "status", "plan", "results", "stats", "reductions")
EVAL_FIELDS = (
    "task",
    "task_id",
    "model",
    "created",
    "config",
    "scorers",
    "dataset",
    "packages",
    "task_registry_name",
)


def set_in_sample(name: str, value: Any) -> Callable[[Log], None]:
    return lambda log: log["samples"][0].__setitem__(name, value)


def set_in_header(name: str, value: Any) -> Callable[[Log], None]:
    return lambda log: log.__setitem__(name, value)


def set_in_eval(name: str, value: Any) -> Callable[[Log], None]:
    return lambda log: log["eval"].__setitem__(name, value)


def set_score(value: Any) -> Callable[[Log], None]:
    return lambda log: log["samples"][0]["scores"].__setitem__("match", value)


DAMAGES: dict[str, Callable[[Log], None]] = {
    **{
        f"sample.{name} is {kind}": set_in_sample(name, ODD[kind])
        for name in SAMPLE_FIELDS
        for kind in ("null", "a number", "an object")
    },
    **{
        f"{name} is {kind}": set_in_header(name, ODD[kind])
        for name in HEADER_FIELDS
        for kind in ("null", "text", "a list")
    },
    **{
        f"eval.{name} is {kind}": set_in_eval(name, ODD[kind])
        for name in EVAL_FIELDS
        for kind in ("null", "a list")
    },
    **{f"a score is {kind}": set_score(value) for kind, value in ODD.items()},
    **{f"a score's value is {kind}": set_score({"value": value}) for kind, value in ODD.items()},
    **{
        f"a score's history is {kind}": set_score({"value": "C", "history": value})
        for kind, value in ODD.items()
    },
    **{f"a message is {kind}": set_in_sample("messages", [value]) for kind, value in ODD.items()},
    **{
        f"a message's content is {kind}": set_in_sample(
            "messages", [{"role": "user", "content": v}]
        )
        for kind, v in ODD.items()
    },
    **{
        f"tool_calls is {kind}": set_in_sample("messages", [{"role": "assistant", "tool_calls": v}])
        for kind, v in ODD.items()
    },
    **{f"an event is {kind}": set_in_sample("events", [value]) for kind, value in ODD.items()},
    "the samples are reversed": lambda log: log["samples"].reverse(),
    "a sample is doubled": lambda log: log["samples"].append(copy.deepcopy(log["samples"][0])),
    "a sample is not an object": lambda log: log["samples"].insert(0, 5),
    "a sample is empty": lambda log: log["samples"].insert(0, {}),
    "there are no samples": lambda log: log.pop("samples"),
    "samples is an object": lambda log: log.__setitem__("samples", {}),
    "eval is missing": lambda log: log.pop("eval"),
    "the header comes last": lambda log: log.__setitem__("eval", log.pop("eval")),
    "an edit has no value": set_score(
        {"value": "C", "history": [{"value": "I"}, {"provenance": {"author": "a"}}]}
    ),
    "an edit's author is missing": set_score(
        {"value": "C", "history": [{"value": "I"}, {"value": "C", "provenance": {}}]}
    ),
}
BYTES: dict[str, Callable[[bytes], bytes]] = {
    **ENCODINGS,
    "cut in the header": lambda raw: raw[:60],
    "a byte that is not UTF-8": lambda raw: raw.replace(b"How", b"H\xffw", 1),
    "a NUL byte": lambda raw: raw.replace(b'"id"', b'"i\0d"', 1),
}


def make_log() -> Log:
    fields = {
        "task": "quiz",
        "task_id": "t",
        "model": "m",
        "created": "2026-09-01",
        "config": {"epochs": 1},
        "scorers": [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy", "options": {}}]}],
    }
    samples = [
        {
            "id": f"s{n}",
            "epoch": 1,
            "input": "How?",
            "target": "so",
            "metadata": {"level": n},
            "events": [],
            "messages": [
                {"role": "user", "content": "How?"},
                {"role": "assistant", "content": "so"},
            ],
            "scores": {"match": {"value": "CI"[n % 2], "answer": "so", "history": []}},
        }
        for n in range(3)
    ]
    metric = {"name": "accuracy", "value": 2 / 3, "params": {}}
    scores = [{"name": "match", "scorer": "match", "metrics": {"accuracy": metric}}]
    return {
        "version": 2,
        "status": "success",
        "eval": fields,
        "results": {"scores": scores},
        "samples": samples,
    }


def pack(log: Log) -> bytes:
    """The log as an archive. A log without a header object keeps an empty one."""
    buffer = io.BytesIO()
    samples = log.get("samples")
    header = {name: value for name, value in log.items() if name != "samples"}
    with import_zipfile().ZipFile(buffer, "w", 93) as archive:
        archive.writestr("_journal/start.json", json.dumps(header))
        for at, sample in enumerate(samples if isinstance(samples, list) else ()):
            archive.writestr(f"samples/{at}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header))
    return buffer.getvalue()


def check(path: Path, *, n_samples: int = 3) -> list[Item]:
    """Read a damaged log.

    Every item can be stored, a lost one has an issue, and the figures are numbers.
    """
    found = discover([path])
    issues: list[ImportIssue] = [*found.issues]
    items: list[Item] = []
    for plan in found.plans:
        for each in read_items(plan):
            if isinstance(each, Item):
                items.append(each)
                issues += each.issues
            elif isinstance(each, ImportIssue):
                issues.append(each)
        rows = [
            ScoredItem(i.id, i.category, i.group, i.official, metadata=i.extra.metadata)
            for i in items
        ]
        for metric in compute_metrics(rows, plan.run):
            assert metric.value is None or isinstance(metric.value, (int, float))
    assert len(items) >= n_samples or issues
    for item in items:
        orjson.dumps(to_plain_json(item.extra.as_json()))
        orjson.dumps([item.messages, item.verdicts, item.predicted])
        assert item.id and item.category
        scores = item.extra.metadata.get("scores")
        if not scores:
            assert item.official is None and item.judge is None
    assert len({item.id for item in items}) == len(items)
    return items


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_wrong_missing_and_duplicate_parts_are_reported(tmp_path: Path, suffix: str) -> None:
    assert len(DAMAGES) + len(BYTES) >= 80
    path = tmp_path / f"log.{suffix}"
    for name, damage in DAMAGES.items():
        log = make_log()
        damage(log)
        path.write_bytes(json.dumps(log).encode() if suffix == "json" else pack(log))
        try:
            items = check(
                path, n_samples=len(log["samples"]) if isinstance(log.get("samples"), list) else 0
            )
        except Exception as error:
            raise AssertionError(name) from error
        expected = {"s0": True, "s1": False, "s2": True}
        for item in items:  # undamaged samples keep their verdict
            if item.id in ("s1", "s2") and not name.startswith(("eval.", "results", "status")):
                assert item.official is expected[item.id], name


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_damaged_bytes_are_reported(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.{suffix}"
    raw = json.dumps(make_log()).encode()
    for name, damage in BYTES.items():
        content = raw if suffix == "json" else pack(make_log())
        path.write_bytes(
            damage(content)
            if suffix == "json" or "cut" in name or name == "empty"
            else content[:-7] + b"xxxxxxx"
        )
        try:
            check(path)
        except Exception as error:
            raise AssertionError(name) from error


def test_last_of_two_members_with_same_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    log = make_log()
    path.write_bytes(pack(log))
    log["samples"][0]["scores"]["match"]["value"] = "I"
    with warnings.catch_warnings(), import_zipfile().ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("samples/0_epoch_1.json", json.dumps(log["samples"][0]))
    items = check(path)
    assert {item.id: item.official for item in items} == {"s0": False, "s1": False, "s2": True}


def test_shards_of_log_are_one_run(tmp_path: Path) -> None:
    parts = [make_log(), make_log()]
    parts[0]["samples"], parts[1]["samples"] = parts[0]["samples"][:1], parts[1]["samples"][1:]
    for number, part in enumerate(parts):
        folder = tmp_path / "log.shards" / str(number)
        folder.mkdir(parents=True)
        (folder / "part.eval").write_bytes(pack(part))
    (plan,) = discover([tmp_path]).plans
    assert len(plan.results) == 2
    assert [item.id for item in read_items(plan) if isinstance(item, Item)] == ["s0", "s1", "s2"]
    (tmp_path / "log.eval").write_bytes(pack(make_log()))
    (plan,) = discover([tmp_path]).plans
    assert plan.results == [tmp_path / "log.eval"]


def test_log_without_header_is_read_partially(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    log = make_log()
    with import_zipfile().ZipFile(path, "w", 8) as archive:
        archive.writestr(
            "_journal/start.json", json.dumps({name: log[name] for name in ("version", "eval")})
        )
        archive.writestr("samples/a_epoch_1.json", json.dumps(log["samples"][0]))
    (plan,) = discover([path]).plans
    found = list(read_items(plan))
    assert [item.official for item in found if isinstance(item, Item)] == [True]
    assert any("incomplete" in issue.what for issue in found if isinstance(issue, ImportIssue))


def test_attachments_are_resolved_in_small_and_large_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log()
    log["samples"] = log["samples"][:1]
    tools = [{"name": "f", "description": "attachment://d0", "parameters": {}}]
    log["samples"][0] |= {
        "messages": [
            {"role": "user", "content": "attachment://a1"},
            {"role": "assistant", "content": "attachment://no"},
        ],
        "events": [
            {"event": "info", "data": "]}"},
            {"event": "model", "tools": tools},
            {"event": "state"},
        ],
        "attachments": {"zz": "unused", "a1": "the question", "d0": "a function"},
        "events_data": {"messages": [1] * 10},
    }
    for suffix, limit in (("json", 1 << 20), ("json", 10), ("eval", 1 << 20), ("eval", 10)):
        monkeypatch.setattr("fcreview.importers.inspect.log.MAX_WHOLE_BYTES", limit)
        path = tmp_path / f"log.{suffix}"
        path.write_bytes(json.dumps(log).encode() if suffix == "json" else pack(log))
        (item,) = check(path, n_samples=1)
        assert [message.content for message in item.messages] == ["the question", "attachment://no"]
        assert [each["description"] for each in item.functions] == ["a function"]
        assert item.official is True

"""Every importer reads its sample run completely, and reports damage without a crash or a hang."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fcreview.importers.registry import compute_metrics, discover, list_importer_names, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import Metric, ScoredItem
from tests.examples import examples

NAMES = list_importer_names()
WITHOUT_VERDICTS = {"sessions"}
"""Importers of files that no benchmark scores."""
DAMAGES = ("cut", "reorder", "duplicate", "retype", "huge", "bytes", "drop", "empty")
ODD = [None, True, -1, 1e300, "", "x" * 100_000, [], {}, [[[]]], {"id": 5}, "\x1b[2J", 10**40]


def read_run(folder: Path, name: str) -> tuple[list[Item], list[ImportIssue]]:
    found = discover([folder], format=name)
    issues = list(found.issues)
    items = []
    for plan in found.plans:
        issues += plan.issues
        for one in read_items(plan):
            if isinstance(one, Item):
                items.append(one)
                issues += one.issues
            elif isinstance(one, ImportIssue):
                issues.append(one)
    return items, issues


@pytest.mark.parametrize("name", NAMES)
def test_sample_run_is_read_completely_without_issues(samples: Path, name: str) -> None:
    items, issues = read_run(samples / name, name)
    assert len(items) >= 3
    assert [issue for issue in issues if issue.severity != "notice"] == []
    for item in items:
        assert item.id and item.category and item.messages and item.prediction_hash
        assert item.file and Path(item.file).is_file() and item.line >= 1
        orjson.dumps(to_plain_json(item.extra.as_json()))
        for pair in item.pairs:
            assert pair.golden is not None or pair.predicted is not None
        assert all(verdict.source in ("official", "rule", "judge") for verdict in item.verdicts)


@pytest.mark.parametrize("name", NAMES)
def test_sample_run_is_recognized(samples: Path, name: str) -> None:
    found = discover([samples])
    own = [plan for plan in found.plans if Path(plan.run.path).is_relative_to(samples / name)]
    assert own and {plan.importer for plan in own} == {name}
    explicit = discover([samples / name], format=name)
    assert sorted(plan.run.path for plan in own) == sorted(plan.run.path for plan in explicit.plans)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_VERDICTS])
def test_sample_run_has_right_and_wrong_items(samples: Path, name: str) -> None:
    items, _ = read_run(samples / name, name)
    verdicts = {item.official if item.official is not None else item.rule for item in items}
    assert {True, False} <= verdicts


@pytest.mark.parametrize("name", NAMES)
def test_reading_is_deterministic(samples: Path, name: str) -> None:
    first, second = read_run(samples / name, name)[0], read_run(samples / name, name)[0]
    assert [(i.id, i.official, i.rule, i.prediction_hash, i.golden_hash) for i in first] == [
        (i.id, i.official, i.rule, i.prediction_hash, i.golden_hash) for i in second
    ]


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_numbers_from_any_rows(samples: Path, name: str) -> None:
    for plan in discover([samples / name], format=name).plans:
        items = [one for one in read_items(plan) if isinstance(one, Item)]
        odd = {"values": {"soft_score": "x"}, "metadata": {"counts": 5}}
        rows = [ScoredItem(i.id, i.category, i.group, i.rule, **odd) for i in items]  # type: ignore[arg-type]
        for source in (rows, [], [ScoredItem("a", "b", None, None)]):
            for figure in compute_metrics(source, plan.run):
                assert isinstance(figure, Metric)
                assert figure.value is None or isinstance(figure.value, (int, float))


@pytest.mark.parametrize("name", NAMES)
def test_plan_survives_pickling(samples: Path, name: str) -> None:
    for plan in discover([samples / name], format=name).plans:
        sent = pickle.loads(pickle.dumps(plan))  # noqa: S301
        assert (sent.importer_data, sent.files, sent.run) == (
            plan.importer_data,
            plan.files,
            plan.run,
        )
        assert list(read_items(sent)) == list(read_items(plan))


@pytest.fixture(scope="module")
def item_counts(samples: Path) -> dict[str, int]:
    """The number of items of each sample run."""
    return {name: len(read_run(samples / name, name)[0]) for name in NAMES}


@pytest.fixture(scope="module")
def copies(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of the sample runs that tests may damage."""
    place = tmp_path_factory.mktemp("damaged")
    return {name: shutil.copytree(samples / name, place / name) for name in NAMES}


@pytest.mark.parametrize(
    "damage",
    [
        "cut",
        "retype",
        *(pytest.param(each, marks=pytest.mark.sweep) for each in DAMAGES[1:] if each != "retype"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
@examples(0.2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False))
def test_damage_is_survived_and_reported(
    copies: dict[str, Path],
    item_counts: dict[str, int],
    name: str,
    damage: str,
    chance: random.Random,
) -> None:
    with damage_file(copies[name], damage, chance) as file:
        items, issues = read_run(copies[name], name)
    lost = item_counts[name] - len(items)
    assert lost <= 0 or issues, f"{file}: {lost} items are lost without an issue"
    for item in items:
        orjson.dumps(to_plain_json(item.extra.as_json()))


@contextmanager
def damage_file(folder: Path, damage: str, chance: random.Random) -> Iterator[str]:
    """Damage one data file of the folder, yield its name, and restore it on exit."""
    files = [
        p
        for p in sorted(folder.rglob("*"))
        if p.suffix in (".json", ".jsonl", ".log", ".csv", ".txt")
    ]
    path = chance.choice(files)
    raw, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.write_bytes(damage_bytes(raw, path.suffix, damage, chance))
    try:
        yield path.name
    finally:
        path.write_bytes(raw)
        os.utime(path, ns=times)


def damage_bytes(raw: bytes, suffix: str, damage: str, chance: random.Random) -> bytes:
    if damage == "cut":  # within a line, because a cut between lines cannot be detected
        inside = [at for at in range(1, len(raw)) if not {raw[at - 1], raw[at]} & {10, 13}]
        return raw[: chance.choice(inside)] if inside else raw[:0]
    if damage == "bytes":
        place = chance.randrange(len(raw))
        return (
            raw[:place] + chance.choice([b"\xff\xfe", b"\x00", b"\xed\xa0\x80"]) + raw[place + 1 :]
        )
    if damage == "empty":
        return b""
    return (
        damage_records(raw.decode(), damage, chance).encode()
        if suffix in (".json", ".jsonl")
        else raw
    )


def damage_records(text: str, damage: str, chance: random.Random) -> str:
    """Reorder, duplicate or change lines of a JSON Lines file or elements of an array.

    The result is valid JSON.
    """
    try:
        rows, array = json.loads(text), True
        rows = rows if isinstance(rows, list) else [rows]
    except ValueError:
        rows, array = [json.loads(line) for line in text.split("\n") if line.strip()], False
    if damage == "reorder" or not rows:
        chance.shuffle(rows)
    elif damage == "duplicate":
        rows.insert(chance.randrange(len(rows) + 1), chance.choice(rows))
    elif damage == "drop":
        row = chance.choice([row for row in rows if isinstance(row, dict) and row] or [{"x": 1}])
        row.pop(chance.choice(list(row)))
    elif damage in ("retype", "huge"):
        replace_random_part(
            rows, chance, 0, "y" * 2_000_000 if damage == "huge" else chance.choice(ODD)
        )
    if array:
        return json.dumps(rows)
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def replace_random_part(value: object, chance: random.Random, depth: int, new: object) -> None:
    """Replace a random part of `value` by `new`."""
    keys: list = (
        list(value)
        if isinstance(value, dict)
        else list(range(len(value)))
        if isinstance(value, list)
        else []
    )
    if not keys:
        return
    key = chance.choice(keys)
    inner = value[key]  # type: ignore[index]
    if isinstance(inner, (dict, list)) and inner and chance.random() < 0.75 and depth < 6:
        replace_random_part(inner, chance, depth + 1, new)
    else:
        value[key] = new  # type: ignore[index]

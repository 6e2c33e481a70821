"""The `native` format writes reviews to the files of the benchmark, and changes nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.examples import only_long
from tests.exporters.rewriting import (
    contradict_some,
    export_native,
    find_official_keys,
    find_wrong_metrics,
)
from tests.scores.reviewed_runs import ReviewedRuns
from tests.sharing import Imports

pytestmark = pytest.mark.slow
ITEM = ("item", "correct")
SUPPORTED = {
    "bfcl": [ITEM],
    "acebench": [ITEM, ("item", "process_accuracy")],
    "confetti": [
        ITEM,
        ("item", "soft_score"),
        ("argument", "soft_score"),
        ("argument", "hallucinated"),
        ("response", "dialog_act"),
    ],
    "complexfuncbench": [
        ITEM,
        ("call", "equivalent"),
        ("response", "completeness"),
        ("response", "correctness"),
    ],
    "hammerbench/legacy": [ITEM, ("item", "args_ok"), ("item", "equivalent")],
    "atif": [ITEM, ("item", "reward")],
    "tau": [ITEM, ("call", "action")],
    "generic": [ITEM, ("response", "completeness"), ("call", "correct")],
}
"""Target kinds and criteria for which the files of the benchmark have a field."""
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


@pytest.mark.parametrize("name", SUPPORTED)
def test_files_without_reviews_equal_the_originals(
    samples: Path, open_runs: OpenRuns, tmp_path: Path, name: str
) -> None:
    reviewed = open_runs([samples / name])
    assert export_native(reviewed, [], [samples / name], tmp_path / "out") == []
    copies = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(copies) >= 2
    for path in copies:
        assert path.read_bytes() in [
            other.read_bytes() for other in find_namesakes(samples / name, path)
        ]


def find_namesakes(folder: Path, path: Path) -> list[Path]:
    return [other for other in folder.rglob(path.name) if other.parts[-2:] == path.parts[-2:]]


def list_questions() -> list[Any]:
    """Return each benchmark with targets and criteria to review: the first one, then all others at
    once and, in the long form, each of them alone.
    """
    cases = []
    for name, (first, *others) in SUPPORTED.items():
        cases.append(pytest.param(name, [first], id=f"{name} {' '.join(first)}"))
        if others:
            cases.append(pytest.param(name, others, id=f"{name} others"))
        for other in others:
            cases.append(
                pytest.param(name, [other], id=f"{name} {' '.join(other)}", marks=only_long)
            )
    return cases


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "questions"), list_questions())
def test_reviews_are_official_verdicts_in_the_next_import(
    samples: Path,
    open_runs: OpenRuns,
    imports: Imports,
    tmp_path: Path,
    name: str,
    questions: list[tuple[str, str]],
) -> None:
    reviewed = open_runs([samples / name])
    known = find_official_keys(reviewed)
    for share in (0.4, 1.0):
        out = tmp_path / f"{share}"
        messages = export_native(
            reviewed, contradict_some(reviewed, questions, share), [samples / name], out
        )
        assert find_wrong_metrics(reviewed, known, imports, out) == {}, messages


@pytest.mark.parametrize("name", ["bfcl", "complexfuncbench", "generic"])
def test_only_records_with_overrides_differ(
    samples: Path, open_runs: OpenRuns, tmp_path: Path, name: str
) -> None:
    reviewed = open_runs([samples / name])
    events = contradict_some(reviewed, [ITEM], 0.4)
    export_native(reviewed, events, [samples / name], tmp_path / "out")
    overridden: set[str] = set()
    for original in (tmp_path / "out").rglob("*.orig"):
        old = original.read_bytes().split(b"\n")
        new = original.with_suffix("").read_bytes().split(b"\n")
        changed = [orjson.loads(line) for line in {*old} ^ {*new} if line]
        overridden |= {record["id"] for record in changed if "id" in record}
        # The old and the new header have no id.
        assert sum("id" not in record for record in changed) in (
            0,
            2,
        )
    assert overridden == {event.key.id for event in events}


def test_flat_log_has_no_field_for_verdicts(
    samples: Path, open_runs: OpenRuns, tmp_path: Path
) -> None:
    paths = [samples / "hammerbench" / "logs"]
    reviewed = open_runs(paths)
    events = contradict_some(reviewed, [ITEM], 1.0)
    messages = export_native(reviewed, events, paths, tmp_path / "out")
    assert [path.suffix for path in (tmp_path / "out").rglob("*.orig")] == []
    kind = "verdicts on items, criterion correct ("
    counts = [int(line.rpartition(kind)[2].rstrip(")")) for line in messages if kind in line]
    assert sum(counts) == len(events)


def read_record(folder: Path, name: str, item: str) -> dict[str, Any]:
    (path,) = folder.rglob(name)
    return next(
        record
        for line in path.read_bytes().splitlines()
        if (record := orjson.loads(line)).get("id") == item
    )


@pytest.mark.parametrize("category", ["multi_turn_miss_param", "web_search_base"])
def test_new_failure_has_the_log_of_its_result(
    samples: Path, open_runs: OpenRuns, tmp_path: Path, category: str
) -> None:
    reviewed = open_runs([samples / "bfcl"])
    export_native(
        reviewed, contradict_some(reviewed, [ITEM], 1.0), [samples / "bfcl"], tmp_path / "out"
    )
    result = read_record(samples / "bfcl", f"BFCL_v4_{category}_result.json", f"{category}_0")
    entry = read_record(tmp_path / "out", f"BFCL_v4_{category}_score.json", f"{category}_0")
    assert result["inference_log"] and entry["inference_log"] == result["inference_log"]


def test_process_file_lists_only_items_below_full_accuracy(
    samples: Path, open_runs: OpenRuns, tmp_path: Path
) -> None:
    reviewed = open_runs([samples / "acebench"])
    verdicts = {
        each.item: each
        for each in reviewed.automatic_verdicts()
        if each.criterion == "process_accuracy"
    }
    full = [replace(each, value=1.0) for each in verdicts.values()]
    export_native(reviewed, reviewed.make_events(full), [samples / "acebench"], tmp_path / "out")
    files = [*(tmp_path / "out").rglob("data_agent_*_process.json")]
    assert len(files) == len(verdicts) == 2
    assert [path.read_text("utf-8").split() for path in files] == [[], []]

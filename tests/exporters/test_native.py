"""The format `native`: what people say stands in the benchmark's own files, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest

from tests.exporters.rewriting import official_keys, some, written, wrong
from tests.scores.reviewed_runs import ReviewedRuns
from tests.sharing import Imports

pytestmark = pytest.mark.slow
ITEM = ("item", "correct")
HELD = {
    "bfcl": [ITEM],
    "acebench": [ITEM, ("item", "process_accuracy")],
    "confetti": [
        ITEM, ("item", "soft_score"), ("argument", "soft_score"), ("argument", "hallucinated"),
        ("response", "dialog_act"),
    ],
    "complexfuncbench": [ITEM, ("call", "equivalent"), ("response", "completeness"), ("response", "correctness")],
    "hammerbench/legacy": [ITEM, ("item", "args_ok"), ("item", "equivalent")],
    "atif": [ITEM, ("item", "reward")],
    "tau": [ITEM, ("call", "action")],
    "generic": [ITEM, ("response", "completeness"), ("call", "correct")],
}  # fmt: skip
"""What the benchmark's files can hold: verdicts on (kind of target, criterion)."""
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


@pytest.mark.parametrize("name", HELD)
def test_without_reviews_every_file_is_the_original(
    samples: Path, open_runs: OpenRuns, tmp_path: Path, name: str
) -> None:
    reviewed = open_runs([samples / name])
    assert written(reviewed, [], [samples / name], tmp_path / "out") == []
    copies = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(copies) >= 2
    for path in copies:
        assert path.read_bytes() in [other.read_bytes() for other in namesakes(samples / name, path)]


def namesakes(folder: Path, path: Path) -> list[Path]:
    return [other for other in folder.rglob(path.name) if other.parts[-2:] == path.parts[-2:]]


QUESTIONS = [pytest.param(name, each, id=f"{name} {' '.join(each)}") for name, held in HELD.items() for each in held]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "question"), QUESTIONS)
def test_what_people_say_is_official_when_it_is_read_again(
    samples: Path, open_runs: OpenRuns, imports: Imports, tmp_path: Path, name: str, question: tuple[str, str]
) -> None:
    reviewed = open_runs([samples / name])
    known = official_keys(reviewed)
    for share in (0.4, 1.0):
        out = tmp_path / f"{share}"
        told = written(reviewed, some(reviewed, [question], share), [samples / name], out)
        assert wrong(reviewed, known, imports, out) == {}, told


@pytest.mark.parametrize("name", ["bfcl", "complexfuncbench", "generic"])
def test_files_differ_exactly_where_people_do(samples: Path, open_runs: OpenRuns, tmp_path: Path, name: str) -> None:
    reviewed = open_runs([samples / name])
    events = some(reviewed, [ITEM], 0.4)
    written(reviewed, events, [samples / name], tmp_path / "out")
    spoken: set[str] = set()
    for original in (tmp_path / "out").rglob("*.orig"):
        old = original.read_bytes().split(b"\n")
        new = original.with_suffix("").read_bytes().split(b"\n")
        changed = [orjson.loads(line) for line in {*old} ^ {*new} if line]
        spoken |= {record["id"] for record in changed if "id" in record}
        assert sum("id" not in record for record in changed) in (0, 2)  # the header that was, and the one that is
    assert spoken == {event.key.id for event in events}


def test_a_flat_log_has_no_place_for_verdicts(samples: Path, open_runs: OpenRuns, tmp_path: Path) -> None:
    paths = [samples / "hammerbench" / "logs"]
    reviewed = open_runs(paths)
    events = some(reviewed, [ITEM], 1.0)
    told = written(reviewed, events, paths, tmp_path / "out")
    assert [path.suffix for path in (tmp_path / "out").rglob("*.orig")] == []
    counts = [int(line.rpartition("correct of an item (")[2].rstrip(")")) for line in told if "correct of" in line]
    assert sum(counts) == len(events)

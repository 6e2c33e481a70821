"""The format `native` over published results: whole runs, every kind of verdict that their files can hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import LONG, only_long
from tests.exporters.rewriting import Key, official_keys, some, written, wrong
from tests.exporters.test_native import HELD, OpenRuns, namesakes
from tests.sharing import Imports

RUNS = {
    "bfcl_v1": "bfcl",
    "bfcl_v1_panel": "bfcl",
    "bfcl_families/v1": "bfcl",
    "bfcl_families/v3": "bfcl",
    "bfcl_v4": "bfcl",
    "acebench": "acebench",
    "confetti": "confetti",
    "complexfuncbench": "complexfuncbench",
    "hammerbench/legacy": "hammerbench/legacy",
}
ALIKE = ("bfcl_v1_panel", "bfcl_families/v1", "bfcl_families/v3")
"""Written by the same code as others, and long."""
SHARES = [pytest.param(place, marks=only_long if place in ALIKE else ()) for place in RUNS]
TOLD: dict[str, Callable[[Key], bool]] = {
    "whose process accuracy is unknown": lambda key: key[0][2] == "zh" and "process" in key[1] + key[3],
    "judge passes for answers whose names differ": lambda key: key[3].endswith(" LLM"),
    "differ from its entries or results": lambda key: key[0][0] == "bfcl",
    "passes for answers with the word 'sorry'": lambda key: key[3] == "Rejection rate",
}  # fmt: skip
"""What is told of a run, and the figures it is about."""


@pytest.mark.sweep
@pytest.mark.parametrize("place", SHARES)
def test_without_reviews_every_file_is_the_original(
    bench: Path, open_runs: OpenRuns, tmp_path: Path, place: str
) -> None:
    written(open_runs([bench / place]), [], [bench / place], tmp_path / "out")
    copies = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(copies) >= 4
    for path in copies:
        assert path.read_bytes() in [other.read_bytes() for other in namesakes(bench / place, path)]


@pytest.mark.sweep
@pytest.mark.parametrize("place", SHARES)
@pytest.mark.parametrize("share", [0.2, pytest.param(0.9, marks=only_long)])
def test_what_people_say_is_official_when_it_is_read_again(
    bench: Path, open_runs: OpenRuns, imports: Imports, tmp_path: Path, place: str, share: float
) -> None:
    reviewed = open_runs([bench / place])
    known = official_keys(reviewed)
    held = HELD[RUNS[place]]
    for number, question in enumerate(held if LONG else held[-1:]):
        events = some(reviewed, [question], share)
        told = written(reviewed, events, [bench / place], tmp_path / str(number))
        found = wrong(reviewed, known, imports, tmp_path / str(number))
        untold = [key for key in found if not any(_concerns(line, key) for line in told)]
        assert untold == [], ([(key, found[key]) for key in untold], question, told)


def _concerns(line: str, key: Key) -> bool:
    return any(words in line and about(key) for words, about in TOLD.items())

"""The `native` format writes all supported kinds of reviews to published runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import LONG, only_long
from tests.exporters.rewriting import (
    Key,
    contradict_some,
    export_native,
    find_official_keys,
    find_wrong_metrics,
)
from tests.exporters.test_native import SUPPORTED, OpenRuns, find_namesakes
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
LARGE = ("bfcl_v1_panel", "bfcl_families/v1", "bfcl_families/v3", "bfcl_v4")
"""Large runs that the same code writes as other runs."""
SHARES = [pytest.param(place, marks=only_long if place in LARGE else ()) for place in RUNS]
EXPECTED_MESSAGES: dict[str, Callable[[Key], bool]] = {
    "whose process accuracy is unknown": lambda key: (
        key[0][2] == "zh" and "process" in key[1] + key[3]
    ),
    "pass verdicts by the judge on answers whose function names differ": lambda key: key[
        3
    ].endswith(" LLM"),
    "differ from its entries or results": lambda key: key[0][0] == "bfcl",
    "pass verdicts on answers that contain 'sorry'": lambda key: key[3] == "Rejection rate",
}
"""Messages of the export and the metrics that they concern."""


@pytest.mark.sweep
@pytest.mark.parametrize("place", SHARES)
def test_files_without_reviews_equal_the_originals(
    bench: Path, open_runs: OpenRuns, tmp_path: Path, place: str
) -> None:
    export_native(open_runs([bench / place]), [], [bench / place], tmp_path / "out")
    copies = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(copies) >= 4
    for path in copies:
        assert path.read_bytes() in [
            other.read_bytes() for other in find_namesakes(bench / place, path)
        ]


@pytest.mark.sweep
@pytest.mark.parametrize("place", SHARES)
@pytest.mark.parametrize("share", [0.2, pytest.param(0.9, marks=only_long)])
def test_reviews_are_official_verdicts_in_the_next_import(
    bench: Path, open_runs: OpenRuns, imports: Imports, tmp_path: Path, place: str, share: float
) -> None:
    reviewed = open_runs([bench / place])
    known = find_official_keys(reviewed)
    targets = SUPPORTED[RUNS[place]]
    for number, question in enumerate(targets if LONG else targets[-1:]):
        events = contradict_some(reviewed, [question], share)
        messages = export_native(reviewed, events, [bench / place], tmp_path / str(number))
        found = find_wrong_metrics(reviewed, known, imports, tmp_path / str(number))
        unexplained = [key for key in found if not any(_explains(line, key) for line in messages)]
        assert unexplained == [], ([(key, found[key]) for key in unexplained], question, messages)


def _explains(line: str, key: Key) -> bool:
    return any(words in line and about(key) for words, about in EXPECTED_MESSAGES.items())

"""The format `native`: what people say stands in the benchmark's own files, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.exporters.rewriting import differing, figures, official_ones, reimported, some, written
from tests.figures.reviewed import Reviewed
from tests.sharing import Imports

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
    "generic": [ITEM, ("response", "completeness"), ("call", "correct")],
}  # fmt: skip
"""What the benchmark's files can hold: verdicts on (kind of target, criterion)."""
Opens = Callable[[Sequence[Path]], Reviewed]


@pytest.mark.parametrize("name", HELD)
def test_without_reviews_every_file_is_the_original(samples: Path, opened: Opens, tmp_path: Path, name: str) -> None:
    reviewed = opened([samples / name])
    assert written(reviewed, [], [samples / name], tmp_path / "out") == []
    copies = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(copies) >= 2
    for path in copies:
        originals = [other for other in (samples / name).rglob(path.name) if other.parts[-2:] == path.parts[-2:]]
        assert path.read_bytes() in [other.read_bytes() for other in originals]


@pytest.mark.parametrize("question", [pytest.param((name, each), id=f"{name} {' '.join(each)}") for name, held in HELD.items() for each in held])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_what_people_say_is_official_when_it_is_read_again(
    samples: Path, opened: Opens, imports: Imports, tmp_path: Path, question: tuple[str, tuple[str, str]], share: float
) -> None:
    name, asked = question
    reviewed = opened([samples / name])
    events = some(reviewed, [asked], share)
    told = written(reviewed, events, [samples / name], tmp_path / "out")
    corrected = figures(reviewed.store, "corrected")
    if name == "generic":  # a record without an official verdict gets none
        assert differing(corrected, reimported(imports, tmp_path / "out", "corrected")) == {}, told
        return
    assert differing(official_ones(reviewed, corrected), official_ones(reviewed, reimported(imports, tmp_path / "out"))) == {}, told

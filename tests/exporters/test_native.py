"""The format `native`: what people say stands in the benchmark's own files, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.exporters.rewriting import official_keys, some, written, wrong
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
        assert path.read_bytes() in [other.read_bytes() for other in namesakes(samples / name, path)]


def namesakes(folder: Path, path: Path) -> list[Path]:
    return [other for other in folder.rglob(path.name) if other.parts[-2:] == path.parts[-2:]]


QUESTIONS = [pytest.param(name, each, id=f"{name} {' '.join(each)}") for name, held in HELD.items() for each in held]


@pytest.mark.parametrize(("name", "question"), QUESTIONS)
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_what_people_say_is_official_when_it_is_read_again(
    samples: Path, opened: Opens, imports: Imports, tmp_path: Path, name: str, question: tuple[str, str], share: float
) -> None:
    reviewed = opened([samples / name])
    known = official_keys(reviewed)
    told = written(reviewed, some(reviewed, [question], share), [samples / name], tmp_path / "out")
    assert wrong(reviewed, known, imports, tmp_path / "out") == {}, told

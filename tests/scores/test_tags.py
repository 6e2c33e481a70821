"""Tags: a benchmark's own words for its errors are known with its runs, and what people gave is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fcreview.importers.registry import IMPORTERS
from tests.scores.reviewed import Reviewed, Said

Opened = Callable[[Sequence[Path]], Reviewed]


def test_every_published_benchmark_offers_tags_and_its_runs_carry_them(samples: Path, opened: Opened) -> None:
    for name, importer in IMPORTERS.items():
        assert bool(importer.tags) == (name not in ("atif", "generic", "inspect"))
        assert len(set(importer.tags)) == len(importer.tags)
        for row in opened([samples / name]).store.fetch_runs():
            assert row.info.tags == list(importer.tags)


def test_items_are_counted_by_tag_once_each_in_the_benchmarks_order(samples: Path, opened: Opened) -> None:
    runs = opened([samples / "acebench"])
    ids = ["agent_multi_step_0", "agent_multi_turn_0", "normal_atom_list_0"]
    items = [runs.item(name, 1) for name in ids]
    whole = runs.says([Said(item, "item", "correct", False) for item in items])
    part = runs.says([Said(items[0], "turn:1/call:1", "correct", False)])
    tagged = [replace(event, tags=tags) for event, tags in zip(whole, (["rule violation"], ["odd"], []), strict=True)]
    also = [replace(event, tags=["rule violation", "function call error"]) for event in part]
    values = runs.figures(*tagged, *also)
    counts = [(key[2], value) for (run, source, key), value in values.items() if key[0] == "tags" and run == 1]
    assert counts == [("function call error", 1), ("rule violation", 1), ("odd", 1)]
    assert {source for _, source, key in values if key[0] == "tags"} == {"corrected"}

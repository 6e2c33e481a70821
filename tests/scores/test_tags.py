"""Runs carry the error tags of their benchmark, and reports count items by tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fcreview.importers.registry import IMPORTERS
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


def test_published_benchmarks_have_tags_and_their_runs_carry_them(samples: Path, open_runs: OpenRuns) -> None:
    for name, importer in IMPORTERS.items():
        assert bool(importer.tags) == (name not in ("atif", "generic", "inspect"))
        assert len(set(importer.tags)) == len(importer.tags)
        for row in open_runs([samples / name]).store.fetch_runs():
            assert row.info.tags == list(importer.tags)


def test_items_are_counted_once_by_tag_in_benchmark_order(samples: Path, open_runs: OpenRuns) -> None:
    runs = open_runs([samples / "acebench"])
    ids = ["agent_multi_step_0", "agent_multi_turn_0", "normal_atom_list_0"]
    items = [runs.find_item(name, 1) for name in ids]
    whole = runs.make_events([ItemVerdict(item, "item", "correct", False) for item in items])
    part = runs.make_events([ItemVerdict(items[0], "turn:1/call:1", "correct", False)])
    tagged = [replace(event, tags=tags) for event, tags in zip(whole, (["rule violation"], ["odd"], []), strict=True)]
    also = [replace(event, tags=["rule violation", "function call error"]) for event in part]
    values = runs.compute_metrics(*tagged, *also)
    counts = [(key[2], value) for (run, source, key), value in values.items() if key[0] == "tags" and run == 1]
    assert counts == [("function call error", 1), ("rule violation", 1), ("odd", 1)]
    assert {source for _, source, key in values if key[0] == "tags"} == {"corrected"}

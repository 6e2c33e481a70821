"""`export --format generic` writes golden answers of annotators."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.model.json_value import to_plain_json
from tests.commands import Done

Cli = Callable[..., Done]


def test_export_writes_golden_answers_of_annotators(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    """A session without a golden answer gets the calls that an annotator wrote."""
    runs = samples / "sessions/codex"
    workspace = ("--workspace", tmp_path)
    (row,) = cli("items", runs, "--json", *workspace).objects
    fix = json.dumps({"golden": [{"name": "exec_command", "arguments": {"cmd": "wc"}}]})
    done = cli(
        "label", runs, row["id"], "--verdict", "golden-wrong", "--golden-fix", fix, *workspace
    )
    assert done.code == 0, done.err
    done = cli("export", runs, "--format", "generic", "-o", tmp_path / "out", *workspace)
    assert done.code == 0, done.err
    (plan,) = discover([tmp_path / "out"]).plans
    (copy,) = [record for record in read_items(plan) if isinstance(record, Item)]
    assert [(c.name, to_plain_json(c.arguments)) for c in copy.golden] == [
        ("exec_command", {"cmd": {"any_of": ["wc"], "optional": False}})
    ]
    assert copy.rule is False

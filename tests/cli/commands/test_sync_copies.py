"""Copies of files that two machines changed are named by the commands that would read the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.store.judgements import list_judges
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.queue.loader import _list_visible_warnings
from tests.commands import Done

Cli = Callable[..., Done]
MARK = ".sync-conflict-20261128-101112-ABCDEFG"
ADVICE = (
    "that another machine changed. fcreview does not use it. Compare both files, and delete the"
    " copy"
)


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        (f"errata{MARK}.jsonl", "errata.jsonl"),
        (f"queues/pilot{MARK}.json", "pilot.json"),
        ("queues/pilot (conflicted copy).json", "pilot.json"),
        (f"judgements/gpt{MARK}.jsonl", "gpt.jsonl"),
        ("guidelines (Ann's conflicted copy 2026-11-28).md", "guidelines.md"),
    ],
)
def test_commands_and_the_app_name_a_copy(
    cli: Cli, imported_run: Path, copy: str, original: str
) -> None:
    path = imported_run / ".fcreview" / copy
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}\n")
    message = f"{copy}: a copy of {original} {ADVICE}"
    for command in ("import", "runs"):
        assert message in cli(command, imported_run).err
    with Store.open(Workspace(imported_run / ".fcreview"), "alice") as store:
        assert message in _list_visible_warnings(store)


def test_copy_of_the_configuration_is_named(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    config = tmp_path / "home" / ".config" / "fcreview"
    config.mkdir(parents=True)
    (config / f"other{MARK}.toml").write_text("")
    assert cli("runs", imported_run).err == ""
    copy = config / f"config{MARK}.toml"
    copy.write_text("")
    assert f"{copy}: a copy of config.toml {ADVICE}" in cli("runs", imported_run).err


def test_copy_is_no_second_queue_and_no_second_judge(cli: Cli, imported_run: Path) -> None:
    workspace = Workspace(imported_run / ".fcreview")
    cli("queue", "create", imported_run, "--name", "pilot", "--annotators", "ann")
    queue = workspace.queues / "pilot.json"
    (workspace.queues / f"pilot{MARK}.json").write_bytes(queue.read_bytes())
    listed = cli("queue", "list", imported_run, "--json")
    assert [row["queue"] for row in listed.objects] == ["pilot"]

    judgements = workspace.root / "judgements"
    judgements.mkdir()
    for name in ("gpt", f"gpt{MARK}", "gpt_conflict-20261128-101112"):
        (judgements / f"{name}.jsonl").write_text("")
    assert list_judges(workspace) == ["gpt"]


def test_import_ignores_a_copy_of_a_result_file(cli: Cli, tmp_path: Path, samples: Path) -> None:
    content = (samples / "generic" / "helpdesk.jsonl").read_text()
    run = tmp_path / "run"
    run.mkdir()
    (run / "desk.jsonl").write_text(content)
    (run / f"desk{MARK}.jsonl").write_text(content.replace('"desk_0"', '"desk_99"'))
    done = cli("import", run)
    assert "ignored, a copy of desk.jsonl that another machine changed" in done.err + done.out
    assert "desk_99" not in cli("items", run).out

"""`fcreview label --golden-fix --siblings` corrects the same question in other categories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.config import save_team_link
from fcreview.errors import CommandError
from fcreview.importers import registry
from fcreview.model.item import Item, Run
from fcreview.store.team_exchange import TeamLink
from fcreview.store.team_server import ServerAddress
from fcreview.store.workspace import Workspace
from tests.commands import Done
from tests.sibling_runs import BASE_ITEM, CALLS, FIX, write_sibling_runs
from tests.store.reviews.test_full_disk import LimitedDisk

Cli = Callable[..., Done]


@pytest.fixture(scope="module")
def imported_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sibling_runs(tmp_path_factory.mktemp("siblings") / "runs")


@pytest.fixture
def runs(imported_runs: Path, tmp_path: Path) -> Path:
    return shutil.copytree(imported_runs, tmp_path / "runs")


def fetch_golden_fixes(cli: Cli, runs: Path) -> dict[str, list[list[str]]]:
    labels = cli("export", runs, "--format", "jsonl", "-o", "-").objects
    return {
        label["id"]: label["golden_fix"]["ground_truth"] for label in labels if label["golden_fix"]
    }


def test_siblings_get_the_correction_and_others_are_named(cli: Cli, runs: Path) -> None:
    done = cli(
        *("label", runs, BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings"),
        *("--reason", "it goes to the backup"),
    )
    assert done.code == 0, done.err
    assert "multi_turn_miss_func_0: with a note, with a golden fix accepted" in done.out
    assert (
        "multi_turn_long_context_0 keeps its golden answer: its golden answer lacks the corrected"
        " calls" in done.err
    )
    corrected_call = FIX["ground_truth"][0]
    assert fetch_golden_fixes(cli, runs) == {
        BASE_ITEM: FIX["ground_truth"],
        "multi_turn_miss_func_0": [[], corrected_call, [CALLS[1]]],
    }


def test_full_disk_saves_all_fixes_or_none(
    cli: Cli, imported_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings"]
    usual = shutil.copytree(imported_runs, tmp_path / "usual")
    assert cli("label", usual, *command).code == 0
    (journal,) = (usual / ".fcreview" / "reviews").glob("*.jsonl")
    first_line, second_line = journal.read_bytes().splitlines(keepends=True)
    rooms = [0, len(first_line) - 2, len(first_line) + 40, len(first_line + second_line) - 2]
    for room in rooms:
        runs = shutil.copytree(imported_runs, tmp_path / str(room))
        cli("import", runs)
        with monkeypatch.context() as patched:
            LimitedDisk(patched, room)
            done = cli("label", runs, *command)
        assert done.code == 1
        assert "No space left on device. The 2 reviews were not saved" in done.err
        assert "with a golden fix" not in done.out
        assert fetch_golden_fixes(cli, runs) == {}


def test_fix_is_not_saved_if_the_effect_on_a_sibling_cannot_be_measured(
    cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The item itself is measured last."""
    usual_rescore = registry.rescore

    def rescore(run: Run, item: Item, *arguments: Any) -> registry.RescoredVerdict:
        if item.id != BASE_ITEM:
            raise CommandError("the dataset has vanished")
        return usual_rescore(run, item, *arguments)

    monkeypatch.setattr(registry, "rescore", rescore)
    done = cli("label", runs, BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings")
    assert done.code == 1
    assert "the dataset has vanished" in done.err
    assert fetch_golden_fixes(cli, runs) == {}


def test_one_undo_retracts_the_fix_with_those_of_the_siblings(cli: Cli, runs: Path) -> None:
    cli("label", runs, BASE_ITEM, "--verdict", "fail")
    cli("label", runs, BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings")
    undone = cli("label", runs, "--undo")
    assert "undone: multi_turn_base_0" in undone.out
    assert "undone: multi_turn_miss_func_0" in undone.out
    assert fetch_golden_fixes(cli, runs) == {}
    labels = cli("export", runs, "--format", "jsonl", "-o", "-").objects
    assert [label["id"] for label in labels if label["annotators"]] == [BASE_ITEM], (
        "the earlier review stays"
    )


def test_member_of_a_team_only_proposes_a_fix(
    cli: Cli, runs: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app does the same, even before it has received a review of another member."""
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{environ['HOME']}/.config")
    server = ServerAddress("127.0.0.1", 1, "d", "p.tester")
    save_team_link(Workspace(runs / ".fcreview"), TeamLink(server, "p", "tester"))
    command = [BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings"]
    done = cli("label", runs, *command)
    assert done.code == 0, done.err
    assert done.out.count("with a golden fix proposed") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--verdict", "pass", "--siblings"], "--siblings applies a golden fix"),
        (
            ["--golden-fix", "{}", "--fault", "golden", "--adjudicate", "--siblings"],
            "--adjudicate resolves a disagreement on one item",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(
    cli: Cli, runs: Path, options: list[str], words: str
) -> None:
    done = cli("label", runs, BASE_ITEM, *options)
    assert done.code == 2
    assert words in done.err

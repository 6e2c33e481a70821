"""Output files never replace a file of the workspace or a run, and replace other files only with
--force.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.errors import FcreviewError
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from fcreview.tui.commands import ExportRequest, export_and_summarize
from fcreview.tui.figure_scope import make_scope
from tests.commands import environment, run_in_this_process
from tests.examples import only_long

Cli = Callable[..., Any]
ITEM = "live_simple_0-0-0"
FIX = {
    "ground_truth": [{"get_current_weather": {"location": ["Hangzhou, CN"], "unit": ["celsius"]}}]
}
COMMANDS = [
    ("export", "{run}", "--format", "jsonl", "-o"),
    ("export", "{run}", "--format", "parquet", "-o"),
    ("report", "{run}", "--html"),
    ("show", "{run}", ITEM, "--run", "1", "--html"),
    ("errata", "create", "{run}", "-o"),
    ("errata", "issue", "{errata}", "-o"),
]
commands = pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: "-".join((*command[:2], *command[3:4]))
)


@pytest.fixture(scope="module")
def outputs(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported run with a corrected golden answer, and its errata.

    Every command has output for it.
    """
    folder = tmp_path_factory.mktemp("outputs")
    run, environ = Path(shutil.copytree(samples / "bfcl", folder / "bfcl")), environment(folder)
    label = ["label", run, ITEM, "--run", "1", "--golden-fix", json.dumps(FIX)]
    for words in (label, ["errata", "create", run, "-o", folder / "errata.jsonl"]):
        assert run_in_this_process(words, folder, environ).code == 0
    return folder


@pytest.fixture
def run(outputs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(outputs, tmp_path, dirs_exist_ok=True)) / "bfcl"


def fill_command(command: tuple[str, ...], run: Path) -> list[str]:
    return [word.format(run=run, errata=run.parent / "errata.jsonl") for word in command]


def protected_files(run: Path) -> list[Path]:
    """Return files of the workspace and the run, links to them, and a new journal."""
    workspace = run / ".fcreview"
    (journal,) = (workspace / "reviews").glob("*.jsonl")
    result = next(run.glob("result/**/*_result.json"))
    data = next((run / "data").rglob("*.json"))
    link, second = run.parent / "link", run.parent / "second-name"
    link.symlink_to(journal)
    os.link(result, second)
    return [
        journal,
        workspace / "reviews" / "new.jsonl",
        workspace / "store.duckdb",
        link,
        result,
        data,
        second,
    ]


def read_files(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "seen.json"
    }


@pytest.mark.parametrize("share", [pytest.param(1, marks=[pytest.mark.sweep, only_long]), 7])
@commands
def test_journals_and_imported_files_are_never_replaced(
    cli: Cli, run: Path, command: tuple[str, ...], share: int
) -> None:
    """Try one in `share` of the files, others for each command."""
    places, words = (
        protected_files(run)[COMMANDS.index(command) % share :: share],
        fill_command(command, run),
    )
    if command[1] == "issue":
        places = [
            *(place for place in places if ".fcreview" in os.path.realpath(place)),
            Path(words[2]),
        ]
    before = read_files(run.parent)
    for place in places:
        for force in ((), ("--force",)) if place is places[0] else (("--force",),):
            done = cli(*words, place, *force)
            assert done.code == 1, (place, done)
            assert "protected. Choose another path." in done.err, done
    assert read_files(run.parent) == before


@commands
def test_other_file_is_replaced_only_with_force(
    cli: Cli, run: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    out, words = tmp_path / "out", fill_command(command, run)
    out.write_text("precious")
    done = cli(*words, out)
    assert (done.code, out.read_text()) == (1, "precious")
    assert f"{out}: the file already exists. Pass --force to replace it." in done.err
    assert cli(*words, out, "--force").code == 0
    assert out.read_bytes() != b"precious"
    out.unlink()
    assert cli(*words, out).code == 0


@pytest.mark.parametrize("format_", ["native", "golden-patch"])
def test_folder_is_not_written_into_workspace(cli: Cli, run: Path, format_: str) -> None:
    done = cli("export", run, "--format", format_, "-o", run / ".fcreview" / "out", "--force")
    assert done.code == 1
    assert "the workspace folder .fcreview is protected" in done.err
    assert not (run / ".fcreview" / "out").exists()


def test_linked_workspace_is_protected(cli: Cli, run: Path, tmp_path: Path) -> None:
    (run / ".fcreview").rename(tmp_path / "kept")
    (run / ".fcreview").symlink_to(tmp_path / "kept")
    done = cli("export", run, "--workspace", run, "-o", tmp_path / "kept" / "reviews" / "x.jsonl")
    assert "the workspace folder .fcreview is protected" in done.err


def test_screens_do_not_replace_protected_files(run: Path, tmp_path: Path) -> None:
    """The palette asks before it replaces other files, so --force is not needed."""
    (tmp_path / "out").write_text("old")
    with Store.open(find_workspace(run)) as store:
        for place in protected_files(run):
            with pytest.raises(
                FcreviewError,
                match=r"export failed: (the workspace folder \.fcreview is|imported files are)"
                r" protected",
            ):
                export_and_summarize(
                    store, ExportRequest("jsonl", str(place), make_scope(View())), None
                )
        export_and_summarize(
            store, ExportRequest("jsonl", str(tmp_path / "out"), make_scope(View())), None
        )
    assert (tmp_path / "out").read_text() != "old"

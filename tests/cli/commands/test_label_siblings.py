"""`fcreview label --golden-fix --siblings` corrects the same question in other categories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.commands import Done
from tests.store.reviews.test_full_disk import LimitedDisk

Cli = Callable[..., Done]
TASK = [
    "Please copy the report of the last quarter from the folder archive into the folder with the"
    " name backup and keep the original where it is, because others still need it",
    "Then list what is in the backup",
]
DOC = {"name": "cp", "description": "", "parameters": {"type": "dict", "properties": {}}}
CALLS = ["cp(source='report')", "ls(folder='backup')"]
GOLDEN = {
    "multi_turn_base": [[CALLS[0]], [CALLS[1]]],
    "multi_turn_miss_func": [[], [CALLS[0]], [CALLS[1]]],
    "multi_turn_long_context": [["mv(source='report')"], [CALLS[1]]],
}
"""Golden calls of each turn by category. The last one differs from the others."""
FIX = {"ground_truth": [["cp(source='report', destination='backup')"], [CALLS[1]]]}
BASE_ITEM = "multi_turn_base_0"


def write_lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


@pytest.fixture(scope="module")
def imported_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("siblings") / "runs"
    for category, golden in GOLDEN.items():
        item_id = f"{category}_0"
        texts = list(TASK) if len(golden) == len(TASK) else [TASK[0], "", TASK[1]]
        question = [[{"role": "user", "content": text}] for text in texts]
        name = f"BFCL_v4_{category}"
        dataset = {"id": item_id, "question": question, "function": [DOC], "involved_classes": []}
        write_lines(root / "data" / f"{name}.json", [dataset])
        answer = {"id": item_id, "ground_truth": golden}
        write_lines(root / "data" / "possible_answer" / f"{name}.json", [answer])
        replies = [[f"[{', '.join(calls)}]"] for calls in golden]
        result = root / "result" / "maple-8b" / "multi_turn" / f"{name}_result.json"
        write_lines(result, [{"id": item_id, "result": replies}])
    return root


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


def test_full_disk_saves_exactly_the_fixes_that_are_printed(
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
        assert "No space left on device. The review was not saved" in done.err
        n_printed = done.out.count("with a golden fix accepted")
        assert n_printed == len(fetch_golden_fixes(cli, runs)) == int(room > len(first_line))


def test_undo_retracts_the_fixes_of_siblings_together(cli: Cli, runs: Path) -> None:
    cli("label", runs, BASE_ITEM, "--golden-fix", json.dumps(FIX), "--accept", "--siblings")
    undone = cli("label", runs, "--undo")
    assert undone.out.startswith("undone: multi_turn_miss_func_0")
    assert fetch_golden_fixes(cli, runs) == {BASE_ITEM: FIX["ground_truth"]}


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

"""Damaged saved filters, histories, positions, queue files, rules and errata: fcreview reports the
damage or ignores the file, and no review is lost.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.commands import environment, run_in_this_process
from tests.examples import only_long
from tests.faults.damaged_files.damage import damages, kept_files
from tests.faults.hostile.exercise import find_harmful
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import times
from tests.tui import idle

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = [
    ["items", "PLACE", "--where", "@hard", "--json"],
    ["report", "PLACE"],
    ["queue", "list", "PLACE"],
    ["queue", "show", "PLACE", "pilot"],
    ["rules", "list", "PLACE"],
    ["doctor", "PLACE"],
    ["import", "PLACE"],
    ["items", "PLACE", "--where", "queue:pilot", "--json"],
    ["estimate", "PLACE"],
    ["errata", "check", "ERRATA"],
    ["label", "PLACE", "simple_python_0", "--run", "1", "--verdict", "pass"],
]
WANTED = {"filters", "history", "positions", "queues", "rules.jsonl"}
KEYS = [
    "f",
    "up",
    "up",
    "tab",
    "escape",
    "slash",
    "up",
    "escape",
    "o",
    "escape",
    "r",
    "escape",
    "enter",
    "]",
    "q",
    "u",
]


async def use_app(place: Path, keys: list[str]) -> None:
    """Open the app, press the keys, and check that no control character is drawn."""
    session = Session(find_workspace(place, create=False), "tester")
    async with FcreviewApp(session, View()).run_test(size=(100, 30)) as pilot:
        for key in ["", *keys]:
            await pilot.press(*[key] if key else [])
            await idle.wait_for_workers(pilot.app)
            await pilot.pause()
            shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
            assert not find_harmful(shown), (key, ascii(shown))
        await pilot.press("ctrl+q")


@pytest.fixture
async def used_workspace(tmp_path: Path, environ: dict[str, str], screens: None) -> Path:
    """A workspace with a file of every kind."""
    place = shutil.copytree(ROOT / "sample_runs" / "bfcl", tmp_path / "template")
    fix = (
        '{"ground_truth": [{"loan.monthly_payment": {"principal": [1], "annual_rate": [3.5],'
        ' "years": [30]}}]}'
    )
    for words in (
        ["import", place],
        ["queue", "create", place, "--name", "pilot", "--annotators", "tester,bob"],
        ["rules", "add", place, "ignore-case"],
        [
            "label",
            place,
            "simple_python_1",
            "--run",
            "1",
            "--adjudicate",
            "--verdict",
            "pass",
            "--golden-fix",
            fix,
        ],
        ["errata", "create", place, "-o", tmp_path / "errata.jsonl"],
        ["import", place, "--errata", tmp_path / "errata.jsonl"],
    ):
        done = run_in_this_process(words, tmp_path, environ)
        assert done.code == 0, (words, done.err)
    filters = place / ".fcreview" / "filters"
    filters.mkdir()
    (filters / "tester.json").write_text('{"hard": "official:fail", "new": "turns>=1"}')
    await use_app(
        place,
        [
            "f",
            *"official:fail",
            "enter",
            "slash",
            *"no",
            "enter",
            "escape",
            "down",
            "enter",
            "p",
            "q",
        ],
    )
    return place


@only_long
@pytest.mark.sweep
@pytest.mark.usefixtures("screens")
async def test_damaged_files_are_reported_or_ignored(
    tmp_path: Path, environ: dict[str, str], used_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    files = [each.relative_to(used_workspace) for each in kept_files(used_workspace)]
    assert {each.parts[1] for each in files} >= WANTED
    seed = random.randrange(1 << 30)
    n_reviews = len(read_events_and_warnings(find_workspace(used_workspace, create=False))[0])
    tried = 0
    for file in files:
        chance = random.Random(seed)
        ways = list(zip(range(times(1, 30)), damages(used_workspace / file, chance), strict=False))
        for _, (name, damage) in ways:
            print(f"{seed}: {file} {name}", flush=True)
            place = tmp_path / "runs"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(used_workspace, place, copy_function=shutil.copy2)
            damage(place / file)
            # damage must be found even if the file times are unchanged
            for each in kept_files(place):
                if not each.is_symlink():
                    shutil.copystat(used_workspace / each.relative_to(place), each)
            with time_limit(60):
                await use_app(place, chance.sample(KEYS, 5) if times(1, 0) else KEYS)
            for words in chance.sample(COMMANDS, 3):
                run = [
                    {"PLACE": place, "ERRATA": place / ".fcreview" / "errata.jsonl"}.get(each, each)
                    for each in words
                ]
                with time_limit(60):
                    done = run_in_this_process(run, tmp_path, environ)
                assert done.code in (0, 1, 2), (words, done.err)
                assert "internal error" not in done.err, (words, done.err)
                assert "Traceback" not in done.err
                assert not find_harmful(done.err), (words, done.err)
                assert not [
                    char
                    for char in find_harmful(done.out)
                    if "--json" not in words or len(char) == 1
                ], words
            kept, warnings = read_events_and_warnings(find_workspace(place, create=False))
            assert len(kept) >= n_reviews
            assert warnings == []
            tried += 1
    print(f"{len(files)} files, {tried} ways to damage them")

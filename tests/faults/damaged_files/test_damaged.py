"""Saved filters, what was typed before, positions, queue files, rules, errata and what the program
remembers of a place, spoilt: the program says so or does without, and no review is lost of it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.commands import environment, run_in_this_process
from tests.faults.damaged_files.damage import kept_files, spoilt
from tests.faults.hostile.exercise import harmful
from tests.faults.hostile.limits import within
from tests.faults.processes import times
from tests.tui import idle

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = [
    ["items", "PLACE", "--where", "@hard", "--json"], ["report", "PLACE"], ["queue", "list", "PLACE"],
    ["queue", "show", "PLACE", "pilot"], ["rules", "list", "PLACE"], ["doctor", "PLACE"], ["import", "PLACE"],
    ["items", "PLACE", "--where", "queue:pilot", "--json"], ["estimate", "PLACE"], ["errata", "check", "ERRATA"],
    ["label", "PLACE", "simple_python_0", "--run", "1", "--verdict", "pass"],
]  # fmt: skip
WANTED = {"filters", "history", "positions", "queues", "rules.jsonl"}
KEYS = [
    "f", "up", "up", "tab", "escape", "slash", "up", "escape", "o", "escape", "r", "escape", "enter", "]", "q", "u",
]  # fmt: skip


async def opened(place: Path, keys: list[str]) -> None:
    """The app, as the annotator left it; nothing that a terminal obeys is drawn."""
    session = Session(find_workspace(place, create=False), "tester")
    async with FcreviewApp(session, View()).run_test(size=(100, 30)) as pilot:
        for key in ["", *keys]:
            await pilot.press(*[key] if key else [])
            await idle.worked(pilot.app)
            await pilot.pause()
            shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
            assert not harmful(shown), (key, ascii(shown))
        await pilot.press("ctrl+q")


@pytest.fixture
async def worked_in(tmp_path: Path, environ: dict[str, str], screens: None) -> Path:
    """A workspace in which somebody has used all that is kept."""
    place = shutil.copytree(ROOT / "sample_runs" / "bfcl", tmp_path / "template")
    fix = '{"ground_truth": [{"loan.monthly_payment": {"principal": [1], "annual_rate": [3.5], "years": [30]}}]}'
    for words in (
        ["import", place], ["queue", "create", place, "--name", "pilot", "--annotators", "tester,bob"],
        ["rules", "add", place, "ignore-case"],
        ["label", place, "simple_python_1", "--run", "1", "--adjudicate", "--verdict", "pass", "--golden-fix", fix],
        ["errata", "create", place, "-o", tmp_path / "errata.jsonl"],
        ["import", place, "--errata", tmp_path / "errata.jsonl"],
    ):  # fmt: skip
        done = run_in_this_process(words, tmp_path, environ)
        assert done.code == 0, (words, done.err)
    filters = place / ".fcreview" / "filters"
    filters.mkdir()
    (filters / "tester.json").write_text('{"hard": "official:fail", "new": "turns>=1"}')
    await opened(place, ["f", *"official:fail", "enter", "slash", *"no", "enter", "escape", "down", "enter", "p", "q"])
    return place


@pytest.mark.sweep
@pytest.mark.usefixtures("screens")
async def test_what_is_kept_may_say_anything(
    tmp_path: Path, environ: dict[str, str], worked_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    files = [each.relative_to(worked_in) for each in kept_files(worked_in)]
    assert {each.parts[1] for each in files} >= WANTED
    seed = random.randrange(1 << 30)
    said = len(read_journals(find_workspace(worked_in, create=False))[0])
    tried = 0
    for file in files:
        chance = random.Random(seed)
        ways = list(zip(range(times(1, 30)), spoilt(worked_in / file, chance), strict=False))
        for _, (name, spoil) in ways:
            print(f"{seed}: {file} {name}", flush=True)
            place = tmp_path / "runs"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(worked_in, place, copy_function=shutil.copy2)
            spoil(place / file)
            for each in kept_files(place):  # the first picture is believed while what it was made of has its old times
                if not each.is_symlink():
                    shutil.copystat(worked_in / each.relative_to(place), each)
            with within(60):
                await opened(place, chance.sample(KEYS, 5) if times(1, 0) else KEYS)
            for words in chance.sample(COMMANDS, 3):
                run = [
                    {"PLACE": place, "ERRATA": place / ".fcreview" / "errata.jsonl"}.get(each, each) for each in words
                ]
                with within(60):
                    done = run_in_this_process(run, tmp_path, environ)
                assert done.code in (0, 1, 2), (words, done.err)
                assert "internal error" not in done.err, (words, done.err)
                assert "Traceback" not in done.err
                assert not harmful(done.err), (words, done.err)
                assert not [char for char in harmful(done.out) if "--json" not in words or len(char) == 1], words
            kept, warnings = read_journals(find_workspace(place, create=False))
            assert len(kept) >= said
            assert warnings == []
            tried += 1
    print(f"{len(files)} files, {tried} ways to spoil them")

"""The command palette with hostile names of items, models, queue files and saved filters, and with
any text typed after a command: no control characters on the screen, no crash, no hang.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import build_report_services
from fcreview.cli.workspace_import import open_workspace
from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.commands import run_in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import SUFFIX
from tests.faults.hostile.exercise import check, find_harmful
from tests.faults.hostile.limits import time_limit
from tests.faults.hostile.test_run_folders import HOSTILE_NAMES
from tests.faults.processes import times
from tests.tui import idle

NAMES = [name for name in HOSTILE_NAMES if b"/" not in name]
TYPED = [
    "export csv ~no-such/x",
    "export csv " + "a" * 300,
    "export csv /dev/full",
    "export csv /proc/self/x",
    "export csv -",
    "export jsonl ../../../../x/y",
    "export csv FOLDER",
    "export csv LOOP",
    "export csv  ",
    "export csv \u202e\u0301\u0301",
    "export native /dev/null/x",
    "export golden-patch PIPE",
    "export parquet DEVICE",
    "save filter ../x",
    "save filter @@",
    "save filter " + "n" * 300,
    "save filter a[red]b",
    "save filter \u202e",
    "queue",
    "order",
    "@",
    "forget @",
    "run",
    "all runs",
    "maple",
    "a\u0301\u0301\u0301",
    "[/red]",
    "\\",
    "x" * 2_000,
    "simple",
]


@pytest.fixture
def hostile_workspace(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A workspace with hostile names."""
    place = hostile_data.make_run("bfcl", tmp_path / "runs", hostile_data.add_suffix)
    (model,) = (each for each in (place / "result").iterdir() if each.name == "maple-8b")
    for name in NAMES[: times(3, len(NAMES))]:
        shutil.copytree(model, place / "result" / os.fsdecode(name), dirs_exist_ok=True)
    words = ["--name", "pilot", "--annotators", "tester,bob"]
    check(["queue"], run_in_this_process(["queue", "create", place, *words], tmp_path, environ))
    queues = place / ".fcreview" / "queues"
    text = (queues / "pilot.json").read_text()
    for name in NAMES:
        file = queues / os.fsdecode(name + b".json")
        file.write_text(text.replace('"pilot"', json.dumps(file.stem)), errors="replace")
    hostile = {os.fsdecode(name): "official:fail" for name in NAMES}
    odd = {
        "esc": f'text:"{SUFFIX}"',
        "deep": "(" * 500,
        "long": "a" * 20_000,
        "none": "",
        "red": "[red]",
        "a.b-c": "@esc",
    }
    (place / ".fcreview" / "filters").mkdir()
    kept = json.dumps({**hostile, **odd, "list": [1], "x" * 300: "rule:pass"})
    (place / ".fcreview" / "filters" / "tester.json").write_text(kept)
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "LOOP").symlink_to("LOOP")
    (tmp_path / "DEVICE").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "PIPE")
    return place


@pytest.mark.sweep
@pytest.mark.usefixtures("screens")
async def test_hostile_names_can_be_searched_and_selected(
    hostile_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outside = {each.name for each in tmp_path.iterdir()}
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    with open_workspace(WorkspaceOptions([hostile_workspace])) as place:
        services = build_report_services(place)
    session = Session(
        find_workspace(hostile_workspace, create=False), "tester", services=lambda: services
    )
    names = [name.decode(errors="replace") for name in NAMES]
    rows = [
        *TYPED,
        *(f"{head}{name}" for name in names for head in ("", "queue ", "@", "forget @")),
    ]
    wanted = chance.sample(rows, times(1, len(rows)))
    async with FcreviewApp(session, View()).run_test(size=(100, 30)) as pilot:

        async def press(*keys: str) -> None:
            with time_limit(30):
                await pilot.press(*keys)
                for _ in range(2):
                    await idle.wait_for_workers(pilot.app)
                    await pilot.pause()
            shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
            assert shown.strip(), (seed, keys)
            assert not find_harmful(shown), (seed, keys, ascii(shown))

        await press("F", *"turns>=0", "enter")
        for text in wanted:
            print(f"{seed}: {text[:60]!a}", flush=True)
            await press("colon")
            for letter in text[:40]:
                await press(letter)
            pilot.app.screen.query_one("PaletteInput").value = text  # pasted
            await press(*chance.choice(([], ["down"], ["tab"], ["pagedown"])))
            await press("enter")
            await press("enter")
            while len(pilot.app.screen_stack) > 1:
                await press("escape")
        await press("ctrl+q")
    assert {each.name for each in tmp_path.iterdir()} - outside <= {"x", "\u202e\u0301\u0301"}

"""Hostile values in every field of every benchmark: each is imported as far as it can be read, and nothing of them is
obeyed by a terminal, whichever command prints it or screen shows it."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from fcreview.tui.text import theme
from tests.commands import Done, in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import BENCHMARKS, SUFFIX, Change
from tests.faults.hostile.limits import within
from tests.faults.processes import times
from tests.tui import idle

_SUSPECT = re.compile(r"[^ -~\n]")
READING = [
    ["import"], ["runs"], ["runs", "--json"], ["items"], ["items", "--json"], ["triage"],
    ["triage", "--json"], ["report"], ["report", "--json"], ["agreement"], ["agreement", "--json"], ["adjudicate"],
    ["adjudicate", "--json"], ["doctor"], ["queue", "list"], ["export"], ["export", "--format", "jsonl"],
    ["sql", "FROM items"], ["sql", "FROM calls"], ["sql", "FROM runs"], ["sql", "FROM import_issues", "--json"],
]  # fmt: skip
SCREENS = {
    "queue": [], "clusters": ["c", "right", "down", "tab", "escape"], "runs": ["r", "escape"],
    "issues": ["i", "escape"], "agreement": ["a", "tab", "escape"], "orders": ["o", "escape"],
    "item": ["enter", "j", "j", "a", "d", "d", "pagedown", "end", "t"], "raw": ["R", "r", "end", "escape"],
    "pager": ["home", "j", "enter", "escape"], "next": ["]"], "verdicts": ["p", "f"], "tags": ["e", "escape"],
    "note": ["n", "escape"], "back": ["q"], "adjudication": ["x", "v", "escape", "escape"],
}  # fmt: skip


def harmful(text: str) -> list[str]:
    """Characters that a terminal obeys, or that hide or reorder others, and marks piled on marks."""
    found = [
        char for char in set(_SUSPECT.findall(text)) if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    return found + (["\u0301" * 9] if "\u0301" * 9 in text else [])


def check(words: list[str], done: Done) -> None:
    said = (words, done.code, done.err[-400:])
    assert done.code in (0, 1), said
    assert "Traceback" not in done.err, said
    assert "internal error" not in done.err, said
    raw = "export" in words or "--json" in words
    assert not [char for char in harmful(done.out) if not raw or len(char) == 1], said
    assert not harmful(done.err), said
    if done.code:
        assert len(done.err.splitlines()) <= 5, said


def exercise(place: Path, cwd: Path, environ: dict[str, str]) -> int:
    """Every command that reads; how many items there are."""

    def command(*words: str) -> Done:
        where = words[:2] if words[0] == "queue" else words[:1]
        with within(90):
            done = in_this_process([*where, place, *words[len(where) :]], cwd, environ)
        check(list(words), done)
        return done

    rows = command("items", "--json").objects
    some = random.sample(rows, min(times(1, 2), len(rows)))
    for row in some:
        for annotator, verdict in (("alice", "pass"), ("bob", "fail")):
            command(
                "label", row["id"], "--run", str(row["run"]), "--annotator", annotator, "--verdict", verdict,
                "--note", SUFFIX, "--tag", SUFFIX,
            )  # fmt: skip
    for words in READING:
        command(*words)
    for row in some:
        for words in (["show"], ["show", "--full"], ["show", "--json"], ["audit"]):
            command(words[0], row["id"], "--run", str(row["run"]), *words[1:])
        command("items", "--where", f"id:{row['id']}")
    return len(rows)


def changes(benchmark: str) -> Iterator[tuple[str, Change]]:
    seed = random.randrange(1 << 30)
    yield "suffixed", hostile_data.suffixed
    for number in range(times(0, 30)):
        yield f"scattered {seed + number}", hostile_data.scattered(random.Random(seed + number))
    fields = hostile_data.fields(hostile_data.ROOT / "sample_runs" / benchmark)
    for _ in range(times(0, 150)):
        field, raw = random.choice(fields), random.choice(hostile_data.RAW)
        yield f"{field} {raw[:60]}", hostile_data.one_field(field, raw)


@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_no_command_obeys_it_or_fails_of_it(tmp_path: Path, environ: dict[str, str], benchmark: str) -> None:
    tried = items = 0
    for name, change in changes(benchmark):
        print(f"{benchmark}: {name!a}", flush=True)
        place = hostile_data.made(benchmark, tmp_path / "runs", change)
        items += exercise(place, tmp_path, environ)
        tried += 1
        if name == "suffixed":
            assert items
    print(f"{benchmark}: {tried} runs, {items} items", flush=True)


@pytest.fixture
def screens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "FCREVIEW_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    theme.forget()
    idle.instead_of_pauses(monkeypatch)
    yield
    theme.forget()


@pytest.mark.sweep
@pytest.mark.usefixtures("screens")
@pytest.mark.parametrize("benchmark", BENCHMARKS)
async def test_no_screen_shows_it_raw(tmp_path: Path, environ: dict[str, str], benchmark: str) -> None:
    for number in range(times(1, 15)):
        seed = random.randrange(1 << 30)
        change = hostile_data.scattered(random.Random(seed), 0.04) if number else hostile_data.suffixed
        print(f"{benchmark}: {seed if number else 'suffixed'}", flush=True)
        place = hostile_data.made(benchmark, tmp_path / "runs", change)
        rows = in_this_process(["items", place, "--json"], tmp_path, environ).objects
        for annotator, verdict in (("carol", "pass"), ("bob", "fail")) if rows else ():
            words = ["--run", str(rows[0]["run"]), "--annotator", annotator, "--verdict", verdict, "--note", SUFFIX]
            check(["label"], in_this_process(["label", place, rows[0]["id"], *words], tmp_path, environ))
        if rows:
            await walk(place)


async def walk(place: Path) -> None:
    """Every screen, one after the other, and what stands on each."""
    session = Session(find_workspace(place, create=False), "alice")
    async with FcreviewApp(session, View()).run_test(size=(120, 40)) as pilot:
        for screen, keys in SCREENS.items():
            for key in ["", *keys]:
                await pilot.press(*[key] if key else [])
                for _ in range(2):
                    await idle.worked(pilot.app)
                    await pilot.pause()
                shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
                assert shown.strip(), (screen, key)
                assert not harmful(shown), (screen, key, ascii(shown))

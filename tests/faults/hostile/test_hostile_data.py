"""Hostile values in every field of every benchmark: fcreview imports what it can read, and no
command or screen outputs control characters.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.commands import run_in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import BENCHMARKS, SUFFIX, Change
from tests.faults.hostile.exercise import check, exercise, find_harmful
from tests.faults.hostile.large import replace_once
from tests.faults.processes import LONG, times
from tests.faults.pty_program import TerminalApp
from tests.tui import idle

SCREENS = {
    "queue": [],
    "clusters": ["c", "right", "down", "tab", "escape"],
    "runs": ["r", "escape"],
    "issues": ["i", "escape"],
    "agreement": ["a", "tab", "escape"],
    "orders": ["o", "escape"],
    "compare": [
        "r",
        "x",
        "down",
        "x",
        "tab",
        "enter",
        "right_curly_bracket",
        "escape",
        "escape",
        "escape",
    ],
    "filter": ["f", *"id:", "tab", "tab", "escape"],
    "help": ["question_mark", "escape"],
    "suspects": ["o", *["down"] * 10, "enter", "o", "up", "enter"],
    "item": ["enter", "j", "j", "a", "d", "d", "pagedown", "end", "t"],
    "raw": ["R", "r", "end", "escape"],
    "pager": ["home", "j", "enter", "escape"],
    "next": ["]"],
    "verdicts": ["p", "f"],
    "tags": ["e", "escape"],
    "note": ["n", "escape"],
    "elsewhere": ["m", "down", "escape"],
    "golden": ["G", "tab", "n", "escape", "escape"],
    "labels": ["l", "escape"],
    "copy": ["y", "m"],
    "search": ["slash", "x", "enter", "s", "escape"],
    "back": ["q"],
    "adjudication": ["x", "v", "escape", "escape"],
}


def changes(benchmark: str) -> Iterator[tuple[str, Change]]:
    """Yield changes by name: control sequences in every text, random values, one value in every
    record, one case per record.
    """
    seed = random.randrange(1 << 30)
    yield "add_suffix", hostile_data.add_suffix
    for number in range(times(0, 8)):
        yield f"scattered {seed + number}", hostile_data.replace_some(random.Random(seed + number))
    fields = hostile_data.list_fields(hostile_data.ROOT / "sample_runs" / benchmark)
    for _ in range(times(0, 10)):
        field, raw = random.choice(fields), random.choice(hostile_data.RAW)
        yield f"{field} {raw[:60]}", hostile_data.replace_field(field, raw)
    cases = hostile_data.OneCasePerRecord(benchmark, random.Random(seed))
    for number in range(times(1, 20)):
        yield f"cases {seed}, {number}", cases
    print(f"{benchmark}: {cases.tried} cases tried, {len(cases.left)} left", flush=True)


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS if LONG else BENCHMARKS[::2])
def test_commands_print_no_control_characters(
    tmp_path: Path, environ: dict[str, str], benchmark: str
) -> None:
    tried = items = 0
    for name, change in changes(benchmark):
        print(f"{benchmark}: {name!a}", flush=True)
        place = hostile_data.make_run(benchmark, tmp_path / "runs", change)
        has_cases = isinstance(change, hostile_data.OneCasePerRecord)
        items += exercise(
            place,
            tmp_path,
            environ,
            whole=name == "add_suffix",
            looks=times(2, 12) if has_cases else 0,
        )
        tried += 1
        if name == "add_suffix":
            assert items
    print(f"{benchmark}: {tried} runs, {items} items", flush=True)


ONCE_FAILED = [
    (
        "bfcl",
        ("BFCL_v4_simple_python.json", "function", "name"),
        '{"a": 1}',
        ["rules", "try", "PLACE", "ignore-case"],
    ),
    (
        "confetti",
        ("BFCL_v2_conversationsclean_result.json", "id"),
        "[1]",
        ["export", "PLACE", "--format", "native", "-o", "out"],
    ),
]


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("benchmark", "field", "raw", "words"), ONCE_FAILED, ids=[each[0] for each in ONCE_FAILED]
)
def test_earlier_failures_do_not_return(
    tmp_path: Path,
    environ: dict[str, str],
    benchmark: str,
    field: tuple[str, ...],
    raw: str,
    words: list[str],
) -> None:
    """One record of many has keys of the wrong type."""
    place = hostile_data.make_run(benchmark, tmp_path / "runs", replace_once(field, raw))
    for row in run_in_this_process(["items", place, "--json"], tmp_path, environ).objects[:8]:
        said = ["--run", str(row["run"]), "--verdict", "fail" if row["official"] else "pass"]
        check(
            ["label"],
            run_in_this_process(["label", place, *said, "--", row["id"]], tmp_path, environ),
        )
    done = run_in_this_process(
        [place if word == "PLACE" else word for word in words], tmp_path, environ
    )
    check(words, done)
    assert done.code == 0, done.err


FOR_PROGRAMS = [
    ["export", "--format", "csv", "--with", "content"],
    ["export", "--with", "content"],
    ["export", "--format", "labelstudio"],
    ["sql", "FROM messages", "--csv"],
    ["items", "--json"],
    ["report", "--markdown"],
]

PROGRESS = re.compile("\r[^\r\n]*\x1b\\[K")
"""Progress line of fcreview, which is erased at the end."""


@pytest.mark.fuzz
@pytest.mark.sweep
def test_machine_readable_output_is_harmless_on_a_terminal(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """On a terminal, exports are sanitized, unlike in a file."""
    place = hostile_data.make_run("bfcl", tmp_path / "runs", hostile_data.add_suffix)
    for words in FOR_PROGRAMS:
        with TerminalApp(
            [words[0], place, *words[1:]], environ | {"NO_COLOR": "1"}, (2000, 24)
        ) as app:
            assert app.wait(60) == 0
        shown = PROGRESS.sub("", app.bytes.decode().replace("\r\n", "\n"))
        assert len(shown) > 100, words
        assert not find_harmful(shown), words


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.usefixtures("screens")
@pytest.mark.parametrize("benchmark", BENCHMARKS)
async def test_screens_show_no_control_characters(
    tmp_path: Path, environ: dict[str, str], benchmark: str
) -> None:
    seed = random.randrange(1 << 30)
    cases = hostile_data.OneCasePerRecord(benchmark, random.Random(seed))
    for number in range(times(1, 7)):
        random_values = hostile_data.replace_some(random.Random(seed + number), 0.04)
        change = (cases if number % 2 else random_values) if number else hostile_data.add_suffix
        print(f"{benchmark}: {seed}, {number}, {cases.tried} cases tried", flush=True)
        place = hostile_data.make_run(benchmark, tmp_path / "runs", change)
        rows = run_in_this_process(["items", place, "--json"], tmp_path, environ).objects
        for annotator, verdict in (("carol", "pass"), ("bob", "fail")) if rows else ():
            words = [
                "--run",
                str(rows[0]["run"]),
                "--annotator",
                annotator,
                "--verdict",
                verdict,
                "--note",
                SUFFIX,
            ]
            check(
                ["label"],
                run_in_this_process(
                    ["label", place, *words, "--", rows[0]["id"]], tmp_path, environ
                ),
            )
        if rows:
            await open_every_screen(place)


async def open_every_screen(place: Path) -> None:
    """Open every screen and check its text."""
    session = Session(find_workspace(place, create=False), "alice")
    async with FcreviewApp(session, View()).run_test(size=(120, 40)) as pilot:
        for screen, keys in SCREENS.items():
            for key in ["", *keys]:
                await pilot.press(*[key] if key else [])
                for _ in range(2):
                    await idle.wait_for_workers(pilot.app)
                    await pilot.pause()
                shown = "\n".join(
                    strip.text for strip in pilot.app.screen._compositor.render_strips()
                )
                assert shown.strip(), (screen, key)
                assert not find_harmful(shown), (screen, key, ascii(shown))

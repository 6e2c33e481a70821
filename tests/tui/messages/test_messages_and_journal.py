"""No verdict is given to another item, target or criterion than the screen named: every key that says something is
pressed on every kind of line of every benchmark; what the screen said before and behind is held against the journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import IMPORTERS
from fcreview.model.address import ITEM, RESPONSE, describe_address
from fcreview.model.review import CORRECT, UNSURE
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.actions import FAULT_ACTIONS
from fcreview.tui.actions import ITEM_ACTIONS as ITEM_KEYS
from tests.examples import only_long
from tests.sharing import Imports
from tests.tui.messages.kinds import Place, places
from tests.tui.messages.named import same
from tests.tui.messages.pressing import Pressed, desk

BENCHMARKS = list(IMPORTERS)
VERDICTS = {"p": True, "f": False, "g": True, "u": UNSURE}
SCORES = {"0": 0, "1": 1, "2": 2}
FAULTS = {action.keys: action.id.partition(".")[2] for action in FAULT_ACTIONS if action.action.startswith("take")}
PROMPTS = {"e": ("n", *"odd", "enter", "enter"), "n": (*"why", "enter"), "l": ("enter",)}
KEYS = [
    *((key,) for key in (*VERDICTS, *SCORES)),
    *(("w", key) for key in FAULTS),
    *((key, *more) for key, more in PROMPTS.items()),
]
ELSEWHERE = {"item.golden", "item.undo", "item.last_fault", "item.last_tag", "item.last_note", "item.reason_3"}
"""Keys whose words have tests of their own: `G` opens a screen, the others speak of what was said last."""
ITEMS = 400
"""Items of a run that are looked at for kinds of lines."""
QUICK = ("generic", "hammerbench")
"""Benchmarks that are asked each time; judges' verdicts and scores are among theirs."""
SHARE = 23
"""Less than there are lines: every key is pressed, on other lines each."""
Press = tuple[Place, tuple[str, ...], bool]
SPEAKING = ("verdict", "score", "fault", "tag", "note", "prompt_for_last", "labels", "golden", "undo")


def test_no_key_that_says_something_is_left_out() -> None:
    speaking = {action.id: action.keys for action in ITEM_KEYS if action.action.startswith(SPEAKING)}
    pressed = {keys[0] for keys in KEYS}
    assert {keys for action, keys in speaking.items() if action not in ELSEWHERE} == pressed
    assert set(speaking) > ELSEWHERE


def faults(of: Pressed, store: Store) -> Iterator[str]:
    """What is wrong, in words."""
    detail = store.read_detail(of.place.item)
    before, key = of.before, of.keys[0]
    target = of.place.target if of.armed else ITEM
    if not same(before.id, detail.row.id):
        yield f"the screen names another item than {detail.row.id}"
    if not of.events:
        if "saved" in of.after or not of.after.strip():
            yield "nothing was written, and the screen does not say so"
        return
    if len(of.events) > 1:
        yield "more than one thing was written"
    event = of.events[-1]
    if key in SCORES and "verdict" not in event:  # no score is asked: why the verdict given last overrules
        name = event["key"]["id"] if event["target"] == ITEM else describe_address(event["target"])
        if not of.before.why or not same(of.before.why, name) or "reason" not in (event.get("overrules") or {}):
            yield f"a reason for {name}, which the line of keys did not name"
        return
    if event["key"]["id"] != detail.row.id or event["key"]["model"] != detail.run.model:
        yield "another item was judged"
    spoken = describe_address(event["target"]) + ("" if event["criterion"] == CORRECT else f" {event['criterion']}")
    if key in SCORES:
        if not before.scored or before.scored != spoken:
            yield f"a score of {spoken} was given, which the screen did not name"
        if event["verdict"] != SCORES[key] or f"{event['criterion']} {key}" not in of.after:
            yield "another score than the key's"
    elif key == "l":
        if event["target"] != RESPONSE or f"{event['criterion'].replace('_', ' ')} response" not in of.prompt:
            yield "labels of something that the prompt did not name"
    elif (before.about and not same(before.about, spoken)) or event["target"] != target:
        yield f"{spoken} was spoken of"
    yield from _value(of, event, detail)
    yield from _remark(of, event)


def _value(of: Pressed, event: dict[str, Any], detail: ItemDetail) -> Iterator[str]:
    key = of.keys[0]
    here = [v for v in detail.item.verdicts if (v.target, v.criterion) == (event["target"], event["criterion"])]
    if key in VERDICTS:
        wanted = VERDICTS[key]
        if event["criterion"] == "hallucinated" and key != "u":
            wanted = not wanted
        labels = [v.value for v in here if isinstance(v.value, list)]
        if event["verdict"] != (labels[0] if labels and wanted is True else wanted):
            yield f"{event['verdict']!r} was saved"
    elif key == "w" and (event.get("fault"), event.get("verdict")) != (FAULTS[of.keys[1]], None):
        yield f"{event.get('fault')} was named"
    elif key == "e" and "odd" not in event["tags"]:
        yield "another tag"
    elif key == "n" and not event["note"].endswith("why"):
        yield "another note"
    over = event.get("overrules")
    if over is None:
        return
    if over["value"] == event["verdict"]:
        yield "what is confirmed was overruled"
    if event["target"] != ITEM:
        if not any((v.source, v.value) == (over["source"], over["value"]) for v in here):
            yield f"{over} is no verdict of this"
    elif (shown := {"official": of.before.official, "rule": of.before.rule}.get(over["source"])) != over["value"]:
        yield f"{over} is overruled, the screen showed {shown}"


def _remark(of: Pressed, event: dict[str, Any]) -> Iterator[str]:
    """`saved: fail, overrides judge gpt-4o · turn 1 call 2`, cut where the line ends."""
    said = of.after.strip().partition("  ")[0]
    if not said.startswith("saved: "):
        yield "saved, and not said so"
        return
    if event.get("verdict") is not None and event["criterion"] != CORRECT and event["criterion"] not in said:
        yield "the criterion is not named"
    over = event.get("overrules")
    if event["target"] != ITEM and (over is not None) != ("overrides" in said) and "…" not in said:
        yield f"overrides {over}"
    about = event["key"]["id"] if event["target"] == ITEM else describe_address(event["target"])
    moved = " · next: " in said or "queue complete" in said or "end of the queue" in said or of.keys[0] in SCORES
    named = about in said or of.after.rstrip().endswith(f"verdict on: {about}") or f" 2 on: {about} " in of.after
    if not named and "…" not in said and not moved:
        yield "the remark names something else"


def combinations(chosen: list[Place]) -> list[Press]:
    """Every key on every line, on the item and on what the cursor is on."""
    return [
        (place, keys, armed)
        for keys in KEYS
        for place in chosen
        for armed in ((False, True) if place.target != ITEM else (False,))
    ]


async def agreed(workspace: Workspace, presses: list[Press], size: tuple[int, int]) -> tuple[list[str], list[int]]:
    """What does not agree; and how many things each key said."""
    found: list[str] = []
    said: list[int] = []
    async with desk(workspace, size) as (at, store):
        for place, keys, armed in presses:
            pressed = await at.press(place, keys, armed=armed)
            said.append(len(pressed.events))
            found += [f"{wrong}\n    {pressed}" for wrong in faults(pressed, store)]
    return found, said


async def check(runs: Path, place: Path, imports: Imports, *, share: int = 1, size: tuple[int, int] = (80, 24)) -> None:
    """`share`: one in so many of all combinations of line and key."""
    workspace = imports.copy([runs], place)
    with Store.open(workspace, "alice") as store:
        count = store.count_items(View())
        chosen = places(store, max(count // ITEMS, 1))
    found, pressed = await agreed(workspace, combinations(chosen)[::share], size)
    print(
        f"{runs.name}: {len(chosen)} kinds of lines, {len(pressed)} times a key, of these {sum(pressed)} said something"
    )
    assert sum(pressed) > len(pressed) / 3
    assert not found, f"{len(found)}:\n" + "\n".join(found[:20])


@pytest.mark.slow
@pytest.mark.parametrize(
    "benchmark", [pytest.param(each, marks=() if each in QUICK else pytest.mark.sweep) for each in BENCHMARKS]
)
async def test_words_and_journal_agree(benchmark: str, samples: Path, imports: Imports, tmp_path: Path) -> None:
    """Every key, on a share of the lines."""
    await check(samples / benchmark, tmp_path / "work", imports, share=SHARE)


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
@pytest.mark.parametrize("benchmark", BENCHMARKS)
async def test_every_key_on_every_kind_of_line(
    benchmark: str, size: tuple[int, int], samples: Path, imports: Imports, tmp_path: Path
) -> None:
    await check(samples / benchmark, tmp_path / "work", imports, size=size)


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["acebench", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench"])
async def test_words_and_journal_agree_on_published_runs(
    folder: str, bench: Path, imports: Imports, tmp_path: Path
) -> None:
    await check(bench / folder, tmp_path / "work", imports)

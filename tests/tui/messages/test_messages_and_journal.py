"""Reviews in the journal have the item, target and criterion that the screen named.

The tests press each review key on each kind of line of each benchmark, and compare the screen
before and after with the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import list_importer_names
from fcreview.model.address import ITEM, RESPONSE, describe_address
from fcreview.model.review import CORRECT, UNSURE
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.actions import FAULT_ACTIONS
from fcreview.tui.actions import ITEM_ACTIONS as ITEM_KEYS
from tests.examples import only_long
from tests.sharing import Imports
from tests.tui.messages.key_presses import KeyPress, open_item_app
from tests.tui.messages.line_kinds import ItemLine, find_line_kinds
from tests.tui.messages.screen_facts import matches_cut_text

BENCHMARKS = list_importer_names()
VERDICTS = {"p": True, "f": False, "g": True, "u": UNSURE}
SCORES = {"0": 0, "1": 1, "2": 2}
FAULTS = {
    action.keys: action.id.partition(".")[2]
    for action in FAULT_ACTIONS
    if action.action.startswith("answer")
}
PROMPTS = {"e": ("n", *"odd", "enter", "enter"), "n": (*"why", "enter"), "l": ("enter",)}
KEYS = [
    *((key,) for key in (*VERDICTS, *SCORES)),
    *(("w", key) for key in FAULTS),
    *((key, *more) for key, more in PROMPTS.items()),
]
TESTED_ELSEWHERE = {
    "item.golden",
    "item.undo",
    "item.last_fault",
    "item.last_tag",
    "item.last_note",
    "item.reason_3",
}
"""Keys that have their own tests: `G` opens a screen, the others repeat or undo the last review."""
ITEMS = 400
"""Number of items of a run that are searched for kinds of lines."""
QUICK_BENCHMARK = "generic"
"""The benchmark that is tested outside the sweep. It has verdicts of judges and scores."""
BENCHMARKS_OF_SWEEP = ("tau",)
"""The benchmark with most kinds of lines. The other benchmarks are tested in the long form."""
SHARE = 23
"""Every how many combinations one is tested.

Smaller than the number of lines, so each key is tested.
"""
Press = tuple[ItemLine, tuple[str, ...], bool]
REVIEW_ACTIONS = (
    "verdict",
    "score",
    "ask_fault",
    "edit_tags",
    "edit_note",
    "prompt_for_last",
    "choose_labels",
    "edit_golden",
    "undo",
)


def test_every_review_key_is_tested() -> None:
    review_keys = {
        action.id: action.keys for action in ITEM_KEYS if action.action.startswith(REVIEW_ACTIONS)
    }
    pressed = {keys[0] for keys in KEYS}
    assert {
        keys for action, keys in review_keys.items() if action not in TESTED_ELSEWHERE
    } == pressed
    assert set(review_keys) > TESTED_ELSEWHERE


def find_faults(press: KeyPress, store: Store) -> Iterator[str]:
    """Yield descriptions of disagreements between screen and journal."""
    detail = store.read_detail(press.line.item)
    before, key = press.before, press.keys[0]
    target = press.line.target if press.on_target else ITEM
    if not matches_cut_text(before.id, detail.row.id):
        yield f"the screen names another item than {detail.row.id}"
    if not press.events:
        if "saved" in press.after or not press.after.strip():
            yield "nothing was written, and the screen has no message"
        return
    if len(press.events) > 1:
        yield "more than one event was written"
    event = press.events[-1]
    # without a score, digits give the reason of the last override
    if key in SCORES and "verdict" not in event:
        part = "" if event["target"] == ITEM else f"{describe_address(event['target'])} of "
        name = part + event["key"]["id"]
        if (
            not press.before.why
            or not matches_cut_text(press.before.why, name)
            or "reason" not in (event.get("overrules") or {})
        ):
            yield f"a reason for {name}, which the key line did not name"
        return
    if event["key"]["id"] != detail.row.id or event["key"]["model"] != detail.run.model:
        yield "another item was reviewed"
    target_words = describe_address(event["target"]) + (
        "" if event["criterion"] == CORRECT else f" {event['criterion']}"
    )
    if key in SCORES:
        if not before.scored or before.scored != target_words:
            yield f"a score of {target_words} was recorded, which the screen did not name"
        if event["verdict"] != SCORES[key] or f"{event['criterion']} {key}" not in press.after:
            yield "another score than the key's"
    elif key == "l":
        if (
            event["target"] != RESPONSE
            or f"{event['criterion'].replace('_', ' ')} response" not in press.prompt
        ):
            yield "labels of something that the prompt did not name"
    elif (before.about and not matches_cut_text(before.about, target_words)) or event[
        "target"
    ] != target:
        yield f"{target_words} was reviewed"
    yield from _check_value(press, event, detail)
    yield from _check_message(press, event)


def _check_value(press: KeyPress, event: dict[str, Any], detail: ItemDetail) -> Iterator[str]:
    key = press.keys[0]
    here = [
        v
        for v in detail.item.verdicts
        if (v.target, v.criterion) == (event["target"], event["criterion"])
    ]
    if key in VERDICTS:
        expected = VERDICTS[key]
        if event["criterion"] == "hallucinated" and key != "u":
            expected = not expected
        labels = [v.value for v in here if isinstance(v.value, list)]
        if event["verdict"] != (labels[0] if labels and expected is True else expected):
            yield f"{event['verdict']!r} was saved"
    elif key == "w" and (event.get("fault"), event.get("verdict")) != (FAULTS[press.keys[1]], None):
        yield f"{event.get('fault')} was recorded"
    elif key == "e" and "odd" not in event["tags"]:
        yield "another tag"
    elif key == "n" and not event["note"].endswith("why"):
        yield "another note"
    over = event.get("overrules")
    if over is None:
        return
    if over["value"] == event["verdict"]:
        yield "an equal verdict was overridden"
    if event["target"] != ITEM:
        if not any((v.source, v.value) == (over["source"], over["value"]) for v in here):
            yield f"{over} is not a verdict on this target"
    elif (
        shown := {"official": press.before.official, "rule": press.before.rule}.get(over["source"])
    ) != over["value"]:
        yield f"{over} is overridden, the screen showed {shown}"


def _check_message(press: KeyPress, event: dict[str, Any]) -> Iterator[str]:
    """Check messages such as `saved: fail, overrides judge gpt-4o · turn 1 call 2`, which may be
    cut.
    """
    message = press.after.strip().partition("  ")[0]
    if not message.startswith("saved: "):
        yield "saved without a message"
        return
    if (
        event.get("verdict") is not None
        and event["criterion"] != CORRECT
        and event["criterion"] not in message
    ):
        yield "the criterion is not named"
    over = event.get("overrules")
    if (
        event["target"] != ITEM
        and (over is not None) != ("overrides" in message)
        and "…" not in message
    ):
        yield f"overrides {over}"
    about = event["key"]["id"] if event["target"] == ITEM else describe_address(event["target"])
    moved = (
        " · next: " in message
        or "queue complete" in message
        or "end of the queue" in message
        or press.keys[0] in SCORES
    )
    named = (
        about in message
        or press.after.rstrip().endswith(f"verdict on: {about}")
        or f" 2 on: {about} " in press.after
    )
    if not named and "…" not in message and not moved:
        yield "the message names another target"


def combine(lines: list[ItemLine]) -> list[Press]:
    """Combine every key with every line, once for the item and once for the target at the
    cursor.
    """
    return [
        (line, keys, on_target)
        for keys in KEYS
        for line in lines
        for on_target in ((False, True) if line.target != ITEM else (False,))
    ]


async def press_all(
    workspace: Workspace, presses: list[Press], size: tuple[int, int]
) -> tuple[list[str], list[int]]:
    """Return the faults, and the number of events of each key."""
    found: list[str] = []
    counts: list[int] = []
    async with open_item_app(workspace, size) as (item_app, store):
        for line, keys, on_target in presses:
            pressed = await item_app.press(line, keys, on_target=on_target)
            counts.append(len(pressed.events))
            found += [f"{wrong}\n    {pressed}" for wrong in find_faults(pressed, store)]
    return found, counts


async def check(
    runs: Path, place: Path, imports: Imports, *, share: int = 1, size: tuple[int, int] = (80, 24)
) -> None:
    """Test one in `share` of all combinations of line and key."""
    workspace = imports.copy([runs], place)
    with Store.open(workspace, "alice") as store:
        count = store.count_items(View())
        lines = find_line_kinds(store, max(count // ITEMS, 1))
    found, pressed = await press_all(workspace, combine(lines)[::share], size)
    print(
        f"{runs.name}: {len(lines)} kinds of lines, {len(pressed)} keys pressed, {sum(pressed)}"
        " events written"
    )
    assert sum(pressed) > len(pressed) / 3
    assert not found, f"{len(found)}:\n" + "\n".join(found[:20])


def list_marks(benchmark: str) -> tuple[pytest.MarkDecorator, ...]:
    if benchmark == QUICK_BENCHMARK:
        return ()
    if benchmark in BENCHMARKS_OF_SWEEP:
        return (pytest.mark.sweep,)
    return (pytest.mark.sweep, only_long)


@pytest.mark.slow
@pytest.mark.parametrize(
    "benchmark",
    [pytest.param(each, marks=list_marks(each)) for each in BENCHMARKS],
)
async def test_screen_and_journal_agree(
    benchmark: str, samples: Path, imports: Imports, tmp_path: Path
) -> None:
    """Test every key on a share of the lines."""
    await check(samples / benchmark, tmp_path / "work", imports, share=SHARE)


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), pytest.param((60, 20), marks=only_long)])
@pytest.mark.parametrize("benchmark", BENCHMARKS)
async def test_screen_and_journal_agree_on_all_lines(
    benchmark: str, size: tuple[int, int], samples: Path, imports: Imports, tmp_path: Path
) -> None:
    await check(samples / benchmark, tmp_path / "work", imports, size=size)


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", ["acebench", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench"]
)
async def test_screen_and_journal_agree_on_published_runs(
    folder: str, bench: Path, imports: Imports, tmp_path: Path
) -> None:
    await check(bench / folder, tmp_path / "work", imports)

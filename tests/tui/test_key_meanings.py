"""A key has one meaning on all screens and panes, and a verdict key gives a verdict or nothing."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

import pytest
from textual.dom import DOMNode

from fcreview.tui.actions import (
    ACTIONS,
    APP_ACTIONS,
    BULK_REVIEW_ACTIONS,
    COMMAND_PALETTE_ACTIONS,
    DIALOGS,
    NO_KEY,
    PLACES,
    Action,
)
from fcreview.tui.keymap import format_key, split_keys
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.verdict_keys import VERDICT_KEYS
from tests.action_methods import MissingMethodError, find_method, list_subclasses
from tests.sources import ROOT, SOURCES, join_lines

SAME_MEANING = (
    {"back", "cancel", "close", "quit"},
    {"close", "help"},
    {"close", "overview"},
    {"find", "search"},
    {"queue", "review"},
    {"run_list", "runs"},
    {"estimates", "metrics"},
    {"undo", "undo_review"},
    {"down", "line_down"},
    {"up", "line_up"},
    {"first", "top"},
    {"last", "bottom"},
    {"left", "refold", "fold", "only_before"},
    {"right", "unfold", "only"},
    {"aside", "grouping", "item", "next_panel", "panel", "scope"},
    {"again", "close", "draw", "fold", "open", "record", "take"},
)
"""Last parts of action ids that mean the same on different screens: `tab` goes to the next panel,
table or grouping, `enter` opens what is under the cursor.
"""
MOVEMENT_KEYS = {
    *("j", "k", "J", "K", "down", "up", "left", "right"),
    *("pagedown", "pageup", "space", "home", "end", NO_KEY),
}
MOVEMENTS = ("move", "scroll", "page", "step_turn", "change_depth", "unfold")
DOCS_PAGE = ROOT / "docs/keys.md"
DOCS_ROW = re.compile(r"\| `(\S+)`(?:, `(\S+)`)* \| .* \| (.*) \|")


def list_keys_with_actions(actions: list[Action]) -> Iterator[tuple[str, Action]]:
    """Yield each key of the actions, except the digits, which are panels, scores and answers."""
    for action in actions:
        for key in split_keys(action.keys):
            if key != NO_KEY and not key.isdigit():
                yield key, action


def collect_places_by_key() -> dict[str, dict[str, set[str]]]:
    """Return {key: {last part of an action id: names of places}}."""
    places_by_key: dict[str, dict[str, set[str]]] = {}
    for place, actions in PLACES.items():
        for key, action in list_keys_with_actions([*actions, *APP_ACTIONS]):
            word = action.id.partition(".")[2]
            places_by_key.setdefault(key, {}).setdefault(word, set()).add(place)
    return places_by_key


@pytest.mark.parametrize("key", sorted(collect_places_by_key()))
def test_key_means_the_same_in_all_places(key: str) -> None:
    places_by_word = collect_places_by_key()[key]
    words = set(places_by_word)
    has_one_meaning = len(words) == 1 or any(words <= group for group in SAME_MEANING)
    assert has_one_meaning, f"{format_key(key)}: {places_by_word}"


def test_verdict_keys_give_verdicts_or_nothing() -> None:
    verdict_actions = {key.action_id for key in VERDICT_KEYS}
    verdict_keys = {key.default_key for key in VERDICT_KEYS}
    for place, actions in PLACES.items():
        for key, action in list_keys_with_actions([*actions, *APP_ACTIONS]):
            assert key not in verdict_keys or action.id in verdict_actions, (place, action.id)


def test_only_movement_keys_move() -> None:
    for place, actions in PLACES.items():
        for key, action in list_keys_with_actions(list(actions)):
            moves = action.action.partition("(")[0].startswith(MOVEMENTS)
            assert not moves or key in MOVEMENT_KEYS, (place, action.id)


def test_every_action_belongs_to_a_place_or_a_dialog() -> None:
    tables = (*PLACES.values(), *DIALOGS.values(), APP_ACTIONS, COMMAND_PALETTE_ACTIONS)
    assert set(ACTIONS) == {action.id for table in tables for action in table}


def test_every_table_of_a_screen_is_checked() -> None:
    """Screens and widgets make their bindings from the tables of `actions.py` only."""
    checked = {id(table) for table in (*PLACES.values(), *DIALOGS.values())}
    assert id(BULK_REVIEW_ACTIONS) in checked
    for path in sorted((ROOT / "tui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.AnnAssign) or ast.unparse(node.target) != "BINDINGS":
                continue
            assert node.value is not None
            source = ast.unparse(node.value)
            assert source.startswith("make_bindings(") and source.count("_ACTIONS") >= 1, path


def test_every_action_is_a_method_of_its_screen() -> None:
    """A misspelt action is found here, with its id and the class that has its key."""
    for module in list_modules_with_bindings():
        importlib.import_module(module)
    faults = []
    for owner in list_subclasses(DOMNode):
        for binding in vars(owner).get("BINDINGS", ()):
            try:
                find_method(owner, binding.action)
            except MissingMethodError as error:
                faults.append(f"tui/actions.py: {binding.id} of {owner.__name__}: {error}")
    assert not faults, join_lines(faults)


def list_modules_with_bindings() -> list[str]:
    return [source.module for source in SOURCES if "BINDINGS" in source.text]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("verdct('pass')", "ItemPane has no method action_verdct"),
        ("verdict", "ItemPane.action_verdict of verdict: missing a required argument"),
        ("app.hlp", "FcreviewApp has no method action_hlp"),
    ],
)
def test_misspelt_action_is_found(action: str, message: str) -> None:
    with pytest.raises(MissingMethodError, match=re.escape(message)):
        find_method(ItemPane, action)


def test_docs_list_every_key_and_its_places() -> None:
    documented: dict[str, set[str]] = {}
    for line in DOCS_PAGE.read_text("utf-8").splitlines():
        if DOCS_ROW.fullmatch(line):
            keys = re.findall(r"`(\S+)`", line.split("|")[1])
            places = {place.strip() for place in line.split("|")[3].split(",")}
            for key in keys:
                documented.setdefault(key, set()).update(places)

    expected: dict[str, set[str]] = {}
    for key, places_by_word in collect_places_by_key().items():
        places = set().union(*places_by_word.values())
        expected[format_key(key)] = {"everywhere"} if places == set(PLACES) else places
    assert documented == expected

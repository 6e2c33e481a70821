"""Keys in the configuration file: validation, defaults, and the names of keys on the screens."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.tui.actions import ACTIONS, KEY_SCOPES
from fcreview.tui.keymap import (
    NO_KEY,
    KeymapError,
    find_changed_keys,
    format_first_keys,
    format_key,
    format_renamed_actions_notice,
    validate_keymap,
)
from fcreview.tui.review.recorder import PendingQuestion
from fcreview.tui.review.status import status_line
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.text.lines import plain_text


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"item.psas": "y"}, "item.psas: unknown action. Did you mean item.pass?"),
        ({"fault.nobody": "y"}, "Actions of fault: model, golden, checker, judge"),
        ({"nonsense.x": "y"}, "Examples: queue.open, list.down, app.help, "),
        (
            {"search": "y"},
            "search: the action name is ambiguous. Use one of queue.search, item.search,"
            " pager.search",
        ),
        ({"item.pass": "y", "item.fail": "x,y"}, '"y" is assigned to both item.pass and item.fail'),
        (
            {"item.pass": "/", "item.fold": "slash"},
            '"/" is assigned to both item.pass and item.fold',
        ),
        ({"item.pass": "y", "app.help": "y"}, '"y" is assigned to both item.pass and app.help'),
        ({"item.pass": "y", "pass": "x"}, "pass: item.pass is set twice"),
        ({"item.pass": "yy"}, '"yy" is not a key'),
        ({"item.pass": "hyper+y"}, '"hyper+y" is not a key'),
        ({"item.pass": "y,"}, 'expected keys such as "p" or "p,y"'),
    ],
)
def test_invalid_keys_are_rejected_with_valid_names(keys: dict[str, str], message: str) -> None:
    with pytest.raises(KeymapError) as error:
        validate_keymap(keys)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_same_key_may_have_two_meanings_on_two_screens() -> None:
    assert validate_keymap({"item.pass": "y", "queue.open": "y", "fault.model": "y"})


def test_key_is_removed_from_its_default_action_on_the_same_screen() -> None:
    assert find_changed_keys({"item.pass": "y"}) == {"item.pass": "y", "item.copy": NO_KEY}
    assert find_changed_keys({"item.pass": "j"})["item.down"] == NO_KEY, (
        "the key belongs to another widget of the screen"
    )
    assert find_changed_keys({"item.arguments": "Q", "item.back": "a"}) == {
        "item.arguments": "Q",
        "item.back": "a",
    }
    assert find_changed_keys({"item.pass": "space"})["item.page_down"] == "pagedown", (
        "the other key stays"
    )
    assert find_changed_keys({"item.pass": "tab"})["item.aside"] == NO_KEY
    assert find_changed_keys({"list.down": "s"}) == {
        "list.down": "s",
        "queue.suspects": NO_KEY,
        "overview.suspects": NO_KEY,
        "estimates.suspects": NO_KEY,
    }
    assert "queue.quit" not in find_changed_keys({"item.pass": "q"})


def test_keys_can_be_swapped() -> None:
    swapped = validate_keymap({"item.pass": "f", "item.fail": "p"})
    assert find_changed_keys(swapped) == swapped


def test_default_keys_are_unique_on_each_screen() -> None:
    """Only help shares its key, which also closes it."""
    for table in KEY_SCOPES:
        keys = [
            key
            for action in table
            for key in action.keys.split(",")
            if action.id != "app.help" and key != NO_KEY
        ]
        assert len(keys) == len(set(keys))
    assert all(name == action.id for name, action in ACTIONS.items())


def test_earlier_action_id_is_accepted_with_a_notice() -> None:
    assert validate_keymap({"overview.compare": "Q"}) == {"overview.run_list": "Q"}
    assert format_renamed_actions_notice({"overview.compare": "Q", "item.pass": "y"}) == (
        "[keys] overview.compare is now overview.run_list"
    )
    assert format_renamed_actions_notice({"item.pass": "y"}) == ""


async def test_notice_about_an_earlier_action_id_is_shown_at_the_start(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app([{}], key_names={"overview.compare": "Q"})
    async with app.run_test(size=(100, 24)) as pilot:
        notice = "[keys] overview.compare is now overview.run_list"
        assert notice in "\n".join(await wait_for_screen(pilot))


def test_keys_have_readable_names() -> None:
    assert [
        format_key(key)
        for key in ("greater_than_sign", "slash", "pagedown", "ctrl+q", "upper_q", "shift+f2")
    ] == [
        ">",
        "/",
        "PgDn",
        "^q",
        "Q",
        "shift+f2",
    ]
    configured = frozenset(find_changed_keys({"item.pass": "y", "item.next": ">"}).items())
    names = ("item.pass", "item.next", "item.fail", "item.copy")
    assert {name: format_first_keys(configured).get(name) for name in names} == {
        "item.pass": "y",
        "item.next": ">",
        "item.fail": "f",
        "item.copy": None,
    }


def test_hints_name_the_configured_keys() -> None:
    keys = format_first_keys(
        frozenset(
            find_changed_keys({"item.next": ">", "item.target": "X", "item.down": "p"}).items()
        )
    )
    line = plain_text(status_line(("", ""), PendingQuestion(), "100 %", False, 100, keys))
    assert line.startswith(" > [ items · p k move · ") and "X verdict on: item" in line
    assert plain_text(
        status_line(("", ""), PendingQuestion(), "100 %", False, 160, format_first_keys())
    ).startswith(
        " ] [ items · j k move · enter open · . difference · D decisive step · t dialogue · d"
        " function docs"
        " · R records · / search · q list"
    )


@pytest.mark.sweep
async def test_item_screen_names_configured_keys(make_app: Any, wait_for_screen: Any) -> None:
    names = {
        "item.next": ">",
        "item.dialogue": "D",
        "item.pass": "j",
        "tags.new": "N",
        "note.save": "f2",
    }
    async with make_app([{}, {}], open_item="simple_1", key_names=names).run_test(
        size=(100, 24)
    ) as pilot:
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, ItemScreen)
        assert " > [ items" in lines[-2] and lines[-1].split()[:4] == ["j", "pass", "f", "fail"]
        await pilot.press("D")
        assert "full dialogue; press D for the short dialogue" in (await wait_for_screen(pilot))[-2]
        await pilot.press("1")
        assert "no scores; press j or f" in (await wait_for_screen(pilot))[-2]
        await pilot.press("j")
        assert "1 unreviewed; press > for the first" in (await wait_for_screen(pilot))[-2]
        await pilot.press("n")
        assert "note on item   f2 saves   down: new line   Esc cancels" in "\n".join(
            await wait_for_screen(pilot)
        )
        await pilot.press("x", "f2")
        await wait_for_screen(pilot)
        assert [opinion.note for opinion in pilot.app.screen.cursor.detail.opinions] == ["x"]

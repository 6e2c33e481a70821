"""The suspects queue shows the reasons in its rows and on the item, with evidence for an
alternative.
"""

from __future__ import annotations

from typing import Any

from fcreview.store.rows import View

FUNCTION = {
    "name": "set_alarm",
    "description": "Set an alarm.",
    "parameters": {"type": "dict", "properties": {}},
}
DOCUMENTED = {
    "name": "get_weather",
    "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PASSED: dict[str, Any] = {"official": True, "rule": True, "functions": [DOCUMENTED]}
MODELS = ("gpt-1", "claude-1", "llama-1", "mistral-1", "qwen-1")


async def test_reasons_are_in_row_and_item(make_app: Any, wait_for_screen: Any) -> None:
    rows = [{"functions": [FUNCTION]}, *[PASSED] * 9]
    app = make_app(runs=dict.fromkeys(MODELS, rows), view=View(queue="suspects"))
    async with app.run_test(size=(120, 32)) as pilot:
        lines = await wait_for_screen(pilot)
        assert "score you reason for suspicion" in lines[3]
        assert "suspects, 1 strong item · 1/10" in lines[-3]
        assert (
            "simple_0" in lines[4]
            and "0.91" in lines[4]
            and "undocumented function:" in lines[4][:54]
        )
        item = "\n".join(line[51:] for line in lines)
        assert "─ Why the golden answer is suspect · score 0.91, strong ─" in item
        assert "· undocumented function: get_weather has no function docs" in item
        assert "· models fail: 5 of 5 decoded answers fail" in item
        assert '· this answer may be right: city: "Hangzhou, CN"' in item
        assert "▸╭─ get_weather" in item
        await pilot.press("j")
        assert "suspects, 1 strong item · 2/10" in (await wait_for_screen(pilot))[-3]
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("s")
        assert "suspects, 1 strong item · 1/10" in (await wait_for_screen(pilot))[-3], (
            "the strongest evidence first"
        )


async def test_list_marks_first_weak_suspect(make_app: Any, wait_for_screen: Any) -> None:
    rows = [{"functions": [FUNCTION]}, *[PASSED] * 9]
    app = make_app(runs=dict.fromkeys(MODELS, rows), view=View(queue="suspects"))
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await wait_for_screen(pilot)
        assert ["weak evidence from here" in line for line in lines[3:8]] == [
            False,
            False,
            True,
            False,
            False,
        ]
        assert (
            "0.12" in lines[5] and "weak evidence from here · not in the question: city" in lines[5]
        )


async def test_narrow_list_has_no_column_of_runs(make_app: Any, wait_for_screen: Any) -> None:
    names, suspect = (
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18-FC"),
        {"functions": [FUNCTION]},
    )
    rows = [[suspect, {**PASSED, **suspect}], [{**PASSED, **suspect}, suspect]]
    app = make_app(runs=dict(zip(names, rows, strict=True)), view=View(queue="suspects"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        assert "model" not in dict(app.screen.pane.list.columns.columns)


async def test_key_shows_suspects_by_reason_and_returns(
    make_app: Any, wait_for_screen: Any
) -> None:
    rows = [{"functions": [FUNCTION]}, *[PASSED] * 9]
    app = make_app(runs=dict.fromkeys(MODELS, rows))
    async with app.run_test(size=(80, 24)) as pilot:
        failures = await wait_for_screen(pilot)
        await pilot.press("s")
        assert "suspects, 1 strong item · 1/10" in (await wait_for_screen(pilot))[2]
        await pilot.press("c")
        lines = await wait_for_screen(pilot)
        assert "suspects by reason · 2 reasons" in lines[0]
        assert (
            lines[2].split()[:4] == [">", "1", "1", "undocumented"]
            or "undocumented function" in lines[2]
        )
        assert "not in the question" in lines[3] and "city is" in lines[3]
        await pilot.press("j", "enter")
        assert (
            "selected 9 items · suspects, 0 strong items · 1/9" in (await wait_for_screen(pilot))[2]
        )
        await pilot.press("escape", "escape", "escape")
        assert await wait_for_screen(pilot) == failures


async def test_blind_annotator_cannot_show_suspects(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app([{}, {}], blind=True).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("s")
        assert "suspects: not available in blind mode" in (await wait_for_screen(pilot))[-2]

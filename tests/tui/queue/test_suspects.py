"""The suspects queue shows the reasons in its rows and on the item, with evidence for an alternative."""

from __future__ import annotations

from typing import Any

from fcreview.store.rows import View
from fcreview.tui.queue.loader import AGREEING_FAMILIES

FUNCTION = {"name": "set_alarm", "description": "Set an alarm.", "parameters": {"type": "dict", "properties": {}}}
PASSED: dict[str, Any] = {"official": True, "rule": True}
MODELS = ("gpt-1", "claude-1", "llama-1", "mistral-1", "qwen-1")


async def test_reasons_are_in_row_and_item(make_app: Any, wait_for_screen: Any) -> None:
    rows = [{"functions": [FUNCTION]}, *[PASSED] * 9]
    app = make_app(runs=dict.fromkeys(MODELS, rows), view=View(queue="suspects"))
    async with app.run_test(size=(120, 32)) as pilot:
        lines = await wait_for_screen(pilot)
        assert "why the golden answer is" in lines[3] and "suspects only · 1/10" in lines[-3]
        assert "simple_0" in lines[4] and "calls get_weather, which" in lines[4][:50]
        item = "\n".join(line[51:] for line in lines)
        assert "─ Why the golden answer is suspect ─" in item
        assert "· golden answer calls get_weather, which has no function docs" in item
        assert "5 of 5 readable answers fail" in item
        assert '· alternative: city: "Hangzhou, CN"' in item
        assert "▸╭─ get_weather" in item
        await pilot.press("j")
        assert "suspects only · 2/10" in (await wait_for_screen(pilot))[-3]
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("s")
        assert "suspects only · 1/10" in (await wait_for_screen(pilot))[-3], "the strongest evidence first"


async def test_narrow_list_has_no_column_of_runs(make_app: Any, wait_for_screen: Any) -> None:
    names, suspect = ("gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18-FC"), {"functions": [FUNCTION]}
    rows = [[suspect, {**suspect, **PASSED}], [{**suspect, **PASSED}, suspect]]
    app = make_app(runs=dict(zip(names, rows, strict=True)), view=View(queue="suspects"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        assert "model" not in dict(app.screen.pane.list.columns.columns)


def test_row_abbreviates_number_of_agreeing_models() -> None:
    reason = "7 of 7 model families (10 models) agree: interval: [1, 3]; golden answer has [1.0, 3.0]"
    assert AGREEING_FAMILIES.sub(r"\1 of \2 families: ", reason).startswith("7 of 7 families: interval: [1, 3]")

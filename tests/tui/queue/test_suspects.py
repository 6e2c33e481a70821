"""The queue of suspects shows the reasons, in the row and on the item, and why an alternative is likely."""

from __future__ import annotations

from typing import Any

from fcreview.store.rows import View

FUNCTION = {"name": "set_alarm", "description": "Set an alarm.", "parameters": {"type": "dict", "properties": {}}}
PASSED: dict[str, Any] = {"official": True, "rule": True}
MODELS = ("gpt-1", "claude-1", "llama-1", "mistral-1", "qwen-1")


async def test_reasons_are_in_the_row_and_on_the_item(make_app: Any, settled: Any) -> None:
    rows = [{"functions": [FUNCTION]}, *[PASSED] * 9]
    app = make_app(runs=dict.fromkeys(MODELS, rows), view=View(queue="suspects"))
    async with app.run_test(size=(120, 32)) as pilot:
        lines = await settled(pilot)
        assert "why the golden answer is" in lines[3] and "suspects only · 1/10" in lines[-3]
        assert "simple_0" in lines[4] and "calls get_weather, which" in lines[4][:50]
        item = "\n".join(line[51:] for line in lines)
        assert "─ Why the golden answer is suspect ─" in item
        assert "· golden answer calls get_weather, which has no function docs" in item
        assert "5 of 5 readable answers fail" in item
        assert '· alternative: city: "Hangzhou, CN"' in item
        assert "▸╭─ get_weather" in item

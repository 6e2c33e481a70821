"""How far a session is, in words."""

from __future__ import annotations

from fcreview.tui.item.asked import Asked
from fcreview.tui.item.pace import PAUSE, Pace
from fcreview.tui.item.status import Remark, status_line
from fcreview.tui.text.lines import line_width, plain


def test_items_done_the_usual_time_and_what_is_left() -> None:
    pace = Pace()
    assert pace.said == ""
    pace.begin(100.0)
    pace.judged(1, 104.0)
    pace.counted(1482)
    assert pace.said == "1 done · 4.0 s each · 1,482 left"
    pace.judged(2, 108.2)
    pace.judged(3, 108.2 + PAUSE * 2)  # away meanwhile
    pace.judged(3, 112.0 + PAUSE * 2)  # the same again
    assert pace.said.startswith("3 done · 4.0 s each · 1,480 left")
    pace.undone(3)
    assert pace.said.startswith("2 done · ") and pace.said.endswith("1,481 left")


def test_the_line_shows_it_where_there_is_room_and_never_instead_of_what_was_said() -> None:
    saved = Remark("saved: fail · simple_1")
    for cells in (60, 80, 120):
        line = status_line(saved, Asked(), 40, False, cells, {"item.target": "T"}, "30 done · 4.1 s each · 1,482 left")
        assert line_width(line) <= cells
        assert plain(line).startswith(" saved: fail · simple_1")
        assert ("1,482 left" in plain(line)) == (cells >= 80)
    on_part = status_line(saved, Asked("turn:1/call:1"), 40, False, 80, {}, "30 done · 4.1 s each · 1,482 left")
    assert "verdict on: turn 1 call 1" in plain(on_part)

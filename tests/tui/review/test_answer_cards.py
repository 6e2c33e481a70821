"""Cards of annotators' answers fit every screen, and the key line keeps the keys that resolve a
disagreement.
"""

from __future__ import annotations

import pytest

from fcreview.model.decision import Disagreement, format_answer_letter
from fcreview.model.review import CORRECT, Opinion
from fcreview.tui.review.adjudication import AdjudicationCase, AdjudicatorRole, shorten_message
from fcreview.tui.review.answer_cards import adjudication_keys_line, answer_lines
from fcreview.tui.text.lines import line_width, plain_text
from tests.tui.item_view.document_text import make_item

HINTS = [
    *((str(at), f"accept {format_answer_letter(at - 1)}") for at in (1, 2, 3)),
    *(
        ("p", "pass"),
        ("f", "fail"),
        ("g", "golden wrong"),
        ("u", "unsure"),
        ("w", "fault"),
        ("n", "note"),
    ),
    *(("z", "undo"), ("]", "next"), ("[", "previous"), (":", "palette"), ("?", "help")),
]
NOTE = "The user asked for 你好 in \x1b[31mred\x1b[0m. " * 20


def make_opinions(count: int) -> list[Opinion]:
    return [
        Opinion(annotator=f"person{at}", verdict=bool(at % 2), note=NOTE if at < 2 else None)
        for at in range(count)
    ]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 34), (160, 45)])
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_cards_fit_and_include_every_answer(size: tuple[int, int], count: int) -> None:
    case = AdjudicationCase(0, Disagreement("item", CORRECT, make_opinions(count), None))
    lines = answer_lines(case, make_item([], []), AdjudicatorRole(), size, "v")
    texts = [plain_text(line) for line in lines]
    assert all(line_width(line) <= size[0] for line in lines), texts
    assert len(lines) <= size[1] // 2
    assert not any("person" in text or "\x1b" in text for text in texts)
    named = {f"Annotator {format_answer_letter(at)}" for at in range(count)}
    assert all(any(name in text for text in texts) for name in named) or "shows all" in "".join(
        texts
    )


def test_own_answer_is_mentioned_until_the_case_is_resolved() -> None:
    case = AdjudicationCase(0, Disagreement("item", CORRECT, make_opinions(2), None))
    lines = [
        answer_lines(case, make_item([], []), AdjudicatorRole(is_involved=True), (80, 24), "v")
    ]
    case.resolved = True
    lines.append(
        answer_lines(case, make_item([], []), AdjudicatorRole(is_involved=True), (80, 24), "v")
    )
    texts = ["\n".join(map(plain_text, each)) for each in lines]
    assert "one answer is yours" in texts[0] and "yours" not in texts[1]


def test_message_loses_whole_parts_then_the_middle_of_the_id() -> None:
    text = "✓ live_irrelevance_171-25-0 resolved: pass   all resolved   q back   z undo"
    assert shorten_message(text, 80) == text
    assert (
        shorten_message(text, 70)
        == "✓ live_irrelevance_171-25-0 resolved: pass   all resolved   q back"
    )
    short = shorten_message(text, 30)
    assert short.endswith(" resolved: pass") and "…" in short and len(short) == 30


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
def test_main_adjudication_keys_are_always_visible(cells: int) -> None:
    line = adjudication_keys_line(HINTS, cells)
    assert line_width(line) <= cells
    words = plain_text(line).split()
    assert words[:5] == ["1-3", "accept", "A", "B", "C"]
    assert {"p", "f", "w", "n", "z", "?"} <= set(words)

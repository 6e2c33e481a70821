"""An item as a document: which blocks, in which order, and the questions the screen asks about them. Pure.

The benchmark's own fields of an item, a line each.

The item screen's first line, and the line that says what the item is.

An item's records as they stand in the run's files, one below the other. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from fcreview.model.address import ITEM, is_address, part_of
from fcreview.model.item import Item
from fcreview.model.sanitize import clip, visible, width
from fcreview.model.wording import count_of
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import Block, Options, scene
from fcreview.tui.item_view.function_docs import offer_blocks
from fcreview.tui.item_view.turns import group_strip, turn_blocks, turn_map
from fcreview.tui.item_view.verdicts import (
    answer_blocks,
    erratum_blocks,
    issue_blocks,
    judge_blocks,
    marked,
    opinion_blocks,
    verdict_blocks,
)
from fcreview.tui.text.layout import pretty
from fcreview.tui.text.lines import (
    BLANK,
    Line,
    Part,
    column,
    cut_middle,
    cut_type,
    fit,
    line_width,
    rule,
    size_text,
    spread,
)
from fcreview.tui.text.theme import symbols, verdict_style

SHORT = 48
"""Characters of a field that are shown without saying how many there are."""


def extra_blocks(item: Item, options: Options) -> list[Block]:
    """The benchmark's own fields, a line each, long ones opened in the pager; what tells the outcome is left out while
    verdicts are hidden."""
    fields = _more(item)
    if options.hidden or not fields:
        return []
    names = min(max(width(visible(name)) for name in fields), 24)
    blocks = [Block("extra", lambda cells: [rule((("more", "strong"),), cells)])]
    for name, value in fields.items():
        value = rounded(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        long = len(text) > SHORT
        blocks.append(
            Block(
                f"extra:{name}",
                partial(_field_lines, column(visible(name), names)[0], text, options.opens("opens it")),
                stop=long,
                foldable=long,
                folded=long,
                pages=True,
                title=visible(name),
                full=partial(str, text),
            )
        )
    return blocks


def rounded(value: Any, *, listed: bool = True) -> Any:
    """Numbers as people read them: four places, or three digits of what is smaller; those in an object only without
    the last of their digits, which no decimal fraction has (`0.30000000000000004`)."""
    if isinstance(value, float) and isfinite(value):
        return (round(value, 4) or float(f"{value:.3g}")) if listed else float(f"{value:.12g}")
    if isinstance(value, list):
        return [rounded(each, listed=listed) for each in value]
    if isinstance(value, dict):
        return {name: rounded(each, listed=False) for name, each in value.items()}
    return value


def _more(item: Item) -> dict[str, Any]:
    """What is not shown elsewhere: that something was left out, what only some items have, the benchmark's own
    fields."""
    rest = {"redacted": item.extra.redacted or None, "setting": item.setting, "latency by step": item.seconds}
    return {name: value for name, value in rest.items() if value is not None} | item.extra.more


def _field_lines(name: str, text: str, opens: str, cells: int) -> list[Line]:
    head = visible(text[: cells * 2])
    size = f"  {size_text(text)}, {opens}" if len(text) > SHORT else ""
    left: Line = ((f"  {name}  ", "dim"), (head, ""))
    return [spread(left, ((size, "dim"),), cells)]


LEAST_ID = 20
"""Cells an id keeps beside a long error type."""
LEAST_ERROR = 8
LEAST_GROUP = 13
"""Cells a group's name keeps: as many as tell one from another."""


def header_line(detail: ItemDetail, position: int | None, total: int, cells: int, *, hidden: bool = False) -> Line:
    """` live_simple_3-2-1   3/640   official ✗   rule ✗   judge ·   you ·        value_error:string`

    Place and marks are never cut: with little room their gaps shrink, a judge that said nothing is left out, then the
    error type loses its beginning, then the id its middle.
    """
    row = detail.row
    item, error = visible(row.id), "" if hidden else visible(row.error_type or row.rule_error_type or "")
    place = f"{'–' if position is None else f'{position + 1:,}'}/{total:,}"
    marks = [("official", row.official), ("rule", row.rule), ("judge", row.judge)]
    shown = [(name, None if hidden else value) for name, value in marks] + [("you", row.you)]
    judged = any(verdict.source == "judge" for verdict in detail.item.verdicts)
    fewer = shown if judged or row.judge is not None else [mark for mark in shown if mark[0] != "judge"]
    for gap, names in (("   ", shown), ("  ", shown), ("  ", fewer), (" ", fewer)):
        verdicts: list[Part] = [(gap + place, "dim")]
        for name, value in names:
            sign = symbols().yours(value, row.your_parts) if name == "you" else symbols().verdict(value)
            verdicts += [(f"{gap}{name} ", "dim"), (sign, verdict_style(value))]
        verdicts += [(" STALE", "warn")] if row.stale else []
        used = line_width(tuple(verdicts)) + 1
        if used + width(item) + 2 + width(error) <= cells:
            break
    kind = min(width(error), width(error.rpartition(":")[2]) + 2) + 2 if error else 0
    item = cut_middle(item, max(cells - used - kind, min(width(item), LEAST_ID, cells - used)))
    left: Line = ((" " + item, "strong"), *verdicts)
    room = cells - line_width(left) - 2
    if room < LEAST_ERROR or not error:
        return fit(left, cells)
    return spread(left, ((cut_type(error, room), "bad"),), cells)


def about_line(detail: ItemDetail, cells: int) -> list[Line]:
    """Category, cost, model, benchmark: one dim line at the document's top. What differs from item to item is first; a
    group gives of its middle before anything is cut at the end."""
    run, item = detail.run, detail.item
    parts = (
        [f"{count_of(item.n_turns, 'turn')}, {count_of(item.n_steps, 'step')}"]
        if item.n_turns > 1 or item.n_steps > 1
        else []
    )
    parts += [f"{item.tokens_in}+{item.tokens_out or 0} tokens"] if item.tokens_in is not None else []
    parts += [f"{item.latency:.1f} s"] if item.latency is not None else []
    parts += [run.model, run.kind]
    first = [visible(item.category)]
    if item.group:
        room = cells - width(visible(" · ".join([*first, "group ", *parts])))
        first.append(f"group {cut_middle(visible(item.group), max(room, LEAST_GROUP), 1 / 2)}")
    return [((clip(visible(" · ".join([*first, *parts])), cells), "dim"),)]


REASON_ROWS = 3
"""Rows of a reason above a trajectory: the first difference is to be seen without scrolling."""


def document(detail: ItemDetail, annotator: str, options: Options) -> list[Block]:
    """The blocks of an item. A trajectory opens with why it failed, in a few rows; where one answer is judged, what was
    said of it stands behind it, as judges do in any case."""
    of = scene(detail.item, detail.opinions, annotator, hidden=options.hidden)
    trajectory = of.long and not of.snapshot
    blocks = [Block("about", partial(about_line, detail))]
    blocks += group_strip(detail.siblings, detail.row.item, options.group_keys)
    blocks += turn_map(of)
    if trajectory:
        blocks += verdict_blocks(of, REASON_ROWS)
    blocks += turn_blocks(of, options)
    blocks += answer_blocks(detail.item, options)
    blocks += erratum_blocks(detail.item.extra.erratum, options)
    if not trajectory:
        blocks += verdict_blocks(of)
    blocks += judge_blocks(of)
    blocks += offer_blocks(of, options)
    blocks += opinion_blocks(of)
    blocks += issue_blocks(detail.item.issues)
    blocks += extra_blocks(detail.item, options)
    blocks.append(Block("end", lambda _: [BLANK]))
    return marked(blocks, detail.opinions, annotator)


def opening(blocks: Sequence[Block]) -> int:
    """The block the cursor starts on: the first that differs, else what is judged, else the first stop that is not
    folded."""
    stops = stops_of(blocks, arguments=False)
    differing = (at for at in stops if blocks[at].differs)
    judged = (at for at in stops if blocks[at].opens)
    unfolded = (at for at in stops if not blocks[at].folded)
    return next(differing, next(judged, next(unfolded, stops[0] if stops else 0)))


def stops_of(blocks: Sequence[Block], *, arguments: bool) -> list[int]:
    """Where `j` and `k` halt: targets and folds, and single arguments too while moving inside them."""
    return [at for at, block in enumerate(blocks) if block.stop or (arguments and block.argument)]


def decisive(blocks: Sequence[Block], at: int) -> int:
    """What has to be on screen when the cursor starts at `at`: of a turn its first call that differs, of a call its
    first argument that does."""
    head = blocks[at].key
    if blocks[at].differs:
        at = next((n for n in range(at + 1, len(blocks)) if blocks[n].parent == head and blocks[n].differs), at)
    inside = f"{blocks[at].key}/"
    arguments = (n for n in range(at + 1, len(blocks)) if blocks[n].key.startswith(inside) and blocks[n].argument)
    return next((n for n in arguments if blocks[n].differs), at)


def extent(blocks: Sequence[Block], at: int) -> int:
    """The last block of what a verdict at this one rests on: a call's arguments and what was said of it, the text of a
    reply and what judges said of that. Of a turn, and of what has none, the block itself."""
    head = blocks[at].key
    part = part_of(head)
    if blocks[at].target is None or (part is not None and part.call is None):
        return at
    until = at
    for n in range(at + 1, len(blocks)):
        if blocks[n].key.startswith((f"{head}/", f"judge:{head}")):
            until = n
        elif blocks[n].stop:
            break
    return until


def first_difference(blocks: Sequence[Block]) -> int | None:
    """The first argument that differs, else the first call or turn that does."""
    deep = next((at for at, block in enumerate(blocks) if block.differs and block.argument), None)
    return deep if deep is not None else next((at for at, block in enumerate(blocks) if block.differs), None)


def target_at(blocks: Sequence[Block], at: int) -> str:
    """What a verdict given at this block is about: its own target, else that of the turn it is shown in."""
    if not 0 <= at < len(blocks):
        return "item"
    return blocks[at].target or part_or_item(blocks[at].parent)


def part_or_item(key: str | None) -> str:
    """What a block lies in, if that is something a verdict can be about."""
    return key if key is not None and is_address(key) else ITEM


class Record(NamedTuple):
    name: str
    place: str
    """File and line, or empty."""
    text: str
    """As it came, or why it cannot be shown."""


def place_of(file: object, line: object) -> str:
    return f"{file}:{line}" if file and line else str(file or "")


def score_place(item: Item) -> str:
    """Where the importer found the score file's entry."""
    place = item.extra.score_record
    return place_of(place.file, place.line) if place is not None else ""


def joined(records: Sequence[Record], *, indented: bool) -> str:
    """Each under a heading and its file and line; a single one too: that says where it is from."""
    dash = symbols().rule * 2
    parts = []
    for record in records:
        head = f"{dash} {record.name} {dash}" + (f"\n{record.place}" if record.place else "")
        parts.append(f"{head}\n{pretty(record.text.strip()) if indented else record.text.rstrip()}\n")
    return "\n".join(parts)

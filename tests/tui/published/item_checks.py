"""Checks of an item on the item screen, for any item and size."""

from __future__ import annotations

from collections.abc import Iterator

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.address import argument_address, call_address
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import Block, BlockSource, DisplayOptions, IndexedItem
from fcreview.tui.item_view.cursor import Cursor, first_difference_index_inside
from fcreview.tui.item_view.document import build_document
from fcreview.tui.item_view.function_docs import (
    FunctionDocsSource,
    first_available_functions,
    functions_at_block,
)
from fcreview.tui.text.layout import DocumentLayout
from fcreview.tui.text.lines import MIN_DOCS_WIDTH, line_width, plain_text

SIZES = ((80, 24), (60, 20), (160, 50))
BARS = 3
"""Number of screen rows outside the document."""
GUTTER = 1


def find_faults(detail: ItemDetail, width: int, height: int) -> Iterator[str]:
    """Yield descriptions of faults on the item's screen."""
    cursor = Cursor(detail, "alice")
    cells = width - GUTTER
    shown = first_screen(cursor, cells, height - BARS)
    if not any(line.strip() for _, line in shown):
        yield "blank"
    for block in cursor.blocks:
        overlong = next((each for each in block.lines(cells) if line_width(each) > cells), None)
        if overlong is not None:
            yield f"overlong line in {block.key}: {plain_text(overlong)!r}"
    blocks = {key for key, _ in shown}
    wanted = cursor.blocks[first_difference_index_inside(cursor.blocks, cursor.index)]
    if wanted.key not in blocks:
        yield f"{wanted.key} is not on the first screen"
    # the missing answer explains every difference
    opens_at_incident = detail.item.incident is not None
    has_difference = IndexedItem(detail.item).turns_with_differences() and not opens_at_incident
    if has_difference and not _differs(cursor.blocks, wanted, detail):
        yield f"opens at {wanted.key}, where nothing differs"
    yield from find_unreachable(detail, cursor.blocks)
    yield from find_long_docs(detail, wanted.key)


def find_long_docs(detail: ItemDetail, key: str) -> Iterator[str]:
    """Yield lines that are too long in the column of docs."""
    indexed_item = IndexedItem(detail.item)
    docs = FunctionDocsSource(
        detail.item.functions,
        functions_at_block(indexed_item, key) or first_available_functions(indexed_item),
        MIN_DOCS_WIDTH,
    )
    for at in range(len(docs)):
        overlong = next(
            (each for each in docs.lines(at, MIN_DOCS_WIDTH) if line_width(each) > MIN_DOCS_WIDTH),
            None,
        )
        if overlong is not None:
            yield f"overlong line beside {key}: {plain_text(overlong)!r}"


def _differs(blocks: list[Block], wanted: Block, detail: ItemDetail) -> bool:
    """Return whether the block is a difference, the decisive step, or a failing turn with equal
    calls.
    """
    failing = detail.item.extra.failing_turn
    return (
        wanted.differs
        or wanted.is_decisive
        or (failing is not None and wanted.key.startswith(f"turn:{failing + 1}"))
    )


def first_screen(cursor: Cursor, cells: int, height: int) -> list[tuple[str, str]]:
    """Return block keys and texts of the rows that `ItemText.open` shows."""
    layout = DocumentLayout(BlockSource(cursor.blocks), cells, height)
    layout.reveal(cursor.index)
    layout.reveal(first_difference_index_inside(cursor.blocks, cursor.index))
    return [
        (cursor.blocks[spot.block].key, plain_text(layout.block_lines(spot.block)[spot.row]))
        for spot in layout.visible_rows()
    ]


def find_unreachable(detail: ItemDetail, blocks: list[Block]) -> Iterator[str]:
    """Yield arguments that differ and have no block at which the cursor stops."""
    opened = build_document(detail, "alice", DisplayOptions(unfold_all=True))
    stops = {block.key for block in opened if block.is_argument}
    folds = {block.key for block in blocks if block.foldable}
    heads = {block.key for block in blocks} | folds
    golden = {(call.turn, call.index): call for call in detail.item.golden}
    predicted = {(call.turn, call.index): call for call in detail.item.predicted}
    places: dict[int, int] = {}
    for pair in detail.item.pairs:
        place = places[pair.turn] = places.get(pair.turn, -1) + 1
        wanted = golden.get((pair.turn, pair.golden)) if pair.golden is not None else None
        given = predicted.get((pair.turn, pair.predicted)) if pair.predicted is not None else None
        if wanted is None or given is None or wanted.arguments is None or given.arguments is None:
            continue
        for row in build_argument_rows(wanted, given, pair.diff):
            if row.state in "!-+" and argument_address(pair.turn, place, row.path) not in stops:
                yield f"{argument_address(pair.turn, place, row.path)} cannot be reached"
        turn, call = f"turn:{pair.turn + 1}", call_address(pair.turn, place)
        if pair.state == "!" and call not in heads and turn not in folds:
            yield f"{call} cannot be unfolded"

"""Documents of functions below the call under the cursor: golden's, predicted's. All of them stand with the offer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fcreview.model import Pair
from fcreview.sanitise import visible
from fcreview.targets import part_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.offer.function import function_lines, function_named
from fcreview.tui.document.offer.under import named
from fcreview.tui.document.scene import Scene

KINDS = ("golden", "predicted", "all")
"""What `d` shows one after the other; of a call whose two sides are of one function, the first and the last."""


def document_blocks(of: Scene, pair: Pair, address: str, options: Options, parent: str | None) -> list[Block]:
    """The document of this call's function, if it is the one to be shown."""
    if options.open_all or options.documented != address or options.documents not in ("golden", "predicted"):
        return []
    name = named(of, pair)[options.documents]
    return [document_block(of, f"{address}/document", name, options, parent)]


def document_block(of: Scene, key: str, name: str, options: Options, parent: str | None) -> Block:
    document = function_named(of.item.functions, name)
    known = [str(each.get("name")) for each in of.item.functions]
    return Block(
        key,
        lambda cells: function_lines(name, document, options.argument, cells, known),
        stop=True,
        foldable=True,
        parent=parent,
        title=f"document of {visible(name)}",
        full=lambda: json.dumps(document, ensure_ascii=False, default=str),
        copy=lambda: document,
    )


def kinds(of: Scene, address: str | None) -> Sequence[str]:
    """What there is to show for a call, one after the other; only all where there is no call, and not all where there
    is but one."""
    part = part_of(address) if address else None
    pairs = of.pairs.get(part.turn, []) if part is not None else []
    if part is None or part.call is None or part.call >= len(pairs):
        return KINDS[-1:]
    names = named(of, pairs[part.call])
    own = KINDS[:2] if names["golden"] != names["predicted"] else KINDS[:1]
    return (*own, KINDS[-1]) if len(of.item.functions) > 1 else own


def after(kinds: Sequence[str], shown: str) -> str:
    """What `d` shows next; empty for nothing."""
    if shown not in kinds:
        return kinds[0] if shown == "" or shown not in KINDS else kinds[-1]
    at = kinds.index(shown) + 1
    return kinds[at] if at < len(kinds) else ""

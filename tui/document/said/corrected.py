"""Where a golden answer comes from that is not the dataset's, or why a correction of it is not applied."""

from __future__ import annotations

import json
from functools import partial

from fcreview.extra import Erratum
from fcreview.sanitise import visible
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.texts import text_block
from fcreview.tui.document.verdicts import paragraph
from fcreview.tui.text.lines import Line, rule
from fcreview.tui.text.theme import symbols


def erratum_blocks(erratum: Erratum | None, options: Options) -> list[Block]:
    """Who corrected it, when and why; then the dataset's own golden answer, in one row. Nothing to blind annotators:
    it tells what others found."""
    if erratum is None or options.hidden:
        return []
    told = Block("erratum", partial(_lines, erratum), title="errata")
    if erratum.stale:
        return [told]
    old, title = json.dumps(erratum.old, ensure_ascii=False), "golden answer before errata"
    return [told, text_block("erratum/old", "was", old, options, rows=1, style="dim", title=title)]


def _lines(erratum: Erratum, cells: int) -> list[Line]:
    between = f" {symbols().between} "
    who = ", ".join(map(visible, erratum.who)) or "nobody named"
    title = "errata, not applied" if erratum.stale else "golden answer from errata"
    made = [rule(((title, "strong"), (between.join(["", who, visible(erratum.date[:10])]), "dim")), cells)]
    if erratum.stale:
        made += paragraph("", f"stale: {visible(erratum.stale)}", cells, "warn")
    for reason in erratum.reasons:
        made += paragraph("", reason, cells)
    return made

"""The functions that the model could choose from: names and parameters of all, golden's and predicted's marked."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from fcreview.sanitise import visible
from fcreview.text.words import count_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.offer.documents import document_block
from fcreview.tui.document.offer.function import parameters_of
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, Part, fit, rule, wrap
from fcreview.tui.text.theme import STATE_STYLES

FEW = 8
"""As many functions are listed one a line; of more only those that were called, the others by name."""
NAME_ROWS = 3
OTHERS = "offer/others"


def offer_blocks(of: Scene, options: Options) -> list[Block]:
    functions = of.item.functions
    if not functions:
        return []
    called = _called(of)
    known = {_plain(str(each.get("name"))) for each in functions}
    strangers = [name for name in _predicted(of) if _plain(name) not in known]
    first = sorted(functions, key=lambda each: _plain(str(each.get("name"))) not in called)
    open_ = len(functions) <= FEW or not options.folded(OTHERS, True) or options.documents == "all"
    shown = first if open_ else [each for each in first if _plain(str(each.get("name"))) in called]
    rest = [] if open_ else [str(each.get("name")) for each in first[len(shown) :]]
    many = len(functions) > FEW

    def heading(cells: int) -> list[Line]:
        count = count_of(len(functions), "function")
        head: list[Part] = [(f"{count} on offer", "strong"), (" · name(required, [optional])", "dim")]
        lines = [rule(tuple(head), cells)]
        for name in strangers:
            near = get_close_matches(name, [str(each.get("name")) for each in functions], n=1, cutoff=0.5)
            also = f" (nearest: {visible(near[0])})" if near else ""
            lines.append(
                fit(
                    (
                        ("! ", STATE_STYLES["!"]),
                        (visible(name), "predicted"),
                        (f"  predicted, not on offer{also}", "dim"),
                    ),
                    cells,
                )
            )
        return lines

    blocks = [Block("offer", heading, stop=True, title="functions on offer", copy=lambda: functions)]
    for at, document in enumerate(shown):
        name = str(document.get("name"))
        blocks.append(_signature(f"offer/{at}", document, called.get(_plain(name), "")))
        if options.documents == "all":
            blocks.append(document_block(of, f"offer/{at}/document", name, options, None))
    if many and options.documents != "all":
        blocks.append(_others(rest, options, folded=not open_))
    return blocks


def _plain(name: str) -> str:
    """Handlers that may not use dots in names have underscores for them."""
    return name.replace(".", "_")


def _predicted(of: Scene) -> list[str]:
    return list(dict.fromkeys(call.name for call in of.item.predicted if call.name))


def _called(of: Scene) -> dict[str, str]:
    """Names to `=` called and to be called, `-` to be called only, `+` called only."""
    golden = {_plain(call.name) for call in of.item.golden}
    predicted = {_plain(name) for name in _predicted(of)}
    return {name: "=" if name in golden & predicted else "-" if name in golden else "+" for name in golden | predicted}


SAYS = {"=": "golden, predicted", "-": "golden", "+": "predicted"}


def _signature(key: str, document: dict[str, Any], state: str) -> Block:
    name, (needed, optional) = str(document.get("name")), parameters_of(document)

    def lines(cells: int) -> list[Line]:
        style = {"=": "strong", "-": "golden", "+": "predicted"}.get(state, "")
        inside = [", ".join(needed)] if needed else []
        inside += [f"[{', '.join(optional)}]"] if optional else []
        says = f"  {SAYS[state]}" if state else ""
        head: Line = (
            (f"{state or ' '} ", STATE_STYLES[state] if state else ""),
            (visible(name), style),
            (visible(f"({', '.join(inside)})"), "dim"),
        )
        return [(*fit(head, max(cells - len(says), 20)), (says, "dim"))]

    return Block(key, lines, title=f"document of {visible(name)}", copy=lambda: document)


def _others(names: Sequence[str], options: Options, *, folded: bool) -> Block:
    def lines(cells: int) -> list[Line]:
        if not folded:
            return [(("  … enter folds them", "dim"),)] if not options.in_print else []
        text = f"and {len(names)} more: {', '.join(map(visible, names))}"
        rows = wrap(text, cells - 2, NAME_ROWS + 1)
        if len(rows) > NAME_ROWS:
            rows = [*rows[: NAME_ROWS - 1], rows[NAME_ROWS - 1][: cells - 4].rstrip() + " …"]
        return [(("  ", ""), (row, "dim")) for row in rows]

    return Block(OTHERS, lines, stop=True, foldable=True, folded=folded, title="functions on offer")

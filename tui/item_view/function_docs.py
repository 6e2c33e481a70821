"""A function's document as readable lines, the parameter under the cursor marked.

Which functions, and which parameter of them, the cursor is at.

The documents of the functions under the cursor, for a column of their own beside the values.

Documents of functions below the call under the cursor: golden's, predicted's. All of them stand with the offer.

For lines at the bottom that are free: the document of the function under the cursor where all of it fits, else the
parameter under the cursor.

The functions that the model could choose from: names and parameters of all, golden's and predicted's marked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any

from fcreview.model.address import part_of
from fcreview.model.function_schema import declared_parameters
from fcreview.model.item import Pair
from fcreview.model.json_value import steps
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of
from fcreview.tui.item_view.blocks import Block, Options, Scene
from fcreview.tui.text.lines import BLANK, Line, Part, fit, labelled, line, line_width, rule, wrap, wrap_text
from fcreview.tui.text.theme import STATE_STYLES, symbols

DESCRIPTION_ROWS = 12
MOST = 200
"""Parameters that are shown, and the one under the cursor."""


def function_named(functions: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The document of a function; handlers that may not use dots in names have underscores for them."""
    exact = next((each for each in functions if each.get("name") == name), None)
    if exact is not None:
        return exact
    wanted = name.replace(".", "_")
    return next((each for each in functions if str(each.get("name")).replace(".", "_") == wanted), None)


def parameters_of(document: dict[str, Any] | None) -> tuple[list[str], list[str]]:
    """Names of the required and of the other parameters, in the document's order."""
    declared = declared_parameters(document or {})
    needed = set(map(str, declared.required or ()))
    names = [str(name) for name in declared.properties or ()]
    return [name for name in names if name in needed], [name for name in names if name not in needed]


def schema_of(document: dict[str, Any] | None, name: str) -> Any:
    """The schema of a parameter; None where the document has none."""
    return (declared_parameters(document or {}).properties or {}).get(name)


def function_lines(
    name: str, document: dict[str, Any] | None, argument: str | None, cells: int, known: Sequence[str] = ()
) -> list[Line]:
    """Below a rule with its name."""
    head = rule((("document of ", ""), (visible(name), "strong")), cells)
    return [head, *(line for _, lines in function_parts(name, document, argument, cells, known) for line in lines)]


def function_parts(
    name: str, document: dict[str, Any] | None, argument: str | None, cells: int, known: Sequence[str] = ()
) -> list[tuple[str | None, list[Line]]]:
    """What it does, then `▸ city  string, required` and its description for each parameter, with the
    parameter's name. Of a function without a document the nearest of the `known` ones is named.

    `document` is a JSON Schema style object `{name, description, parameters: {properties, required}}`; anything else
    is shown as JSON.
    """
    if document is None:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        also = f"; the nearest is {visible(near[0])}" if near else ""
        return [(None, [fit((("  not among the functions on offer" + also, "warn"),), cells)])]
    lines = _text("  ", document.get("description"), cells)
    declared = declared_parameters(document)
    properties = declared.properties
    if properties is None:
        schema = document.get("parameters")
        lines += _text("  ", json.dumps(schema, ensure_ascii=False, indent=2, default=str), cells)
        return [(None, lines)]
    needed = set(map(str, declared.required or ()))
    if not properties:
        lines.append(line("  no parameters", "dim"))
    shown = dict(islice(properties.items(), MOST))
    if argument in properties:
        shown[argument] = properties[argument]
    parts: list[tuple[str | None, list[Line]]] = [(None, lines)]
    parts += [
        (str(key), _parameter(str(key), schema, str(key) in needed, str(key) == argument, cells))
        for key, schema in shown.items()
    ]
    if len(properties) > len(shown):
        more = f"  {symbols().ellipsis} {len(properties) - len(shown):,} more parameters"
        parts.append((None, [line(more, "dim")]))
    return parts


def _parameter(name: str, schema: Any, required: bool, here: bool, cells: int) -> list[Line]:
    kind, described = kind_of(schema), schema.get("description") if isinstance(schema, dict) else None
    mark = f"  {symbols().arrow if here else ' '} "
    head: Line = ((mark, "strong"), (visible(name), "strong" if here else ""))
    says: Line = ((f"  {visible(kind)}{', required' if required else ''}", "dim"),)
    if line_width((*head, *says)) <= cells:
        lines = [(*head, *says)]
    else:
        lines = [fit(head, cells), fit((("      ", ""), *says), cells)]
    lines += _text("        ", described, cells)
    for key in ("enum", "default"):
        if isinstance(schema, dict) and key in schema:
            lines += _text("        ", f"{key}: {json.dumps(schema[key], ensure_ascii=False, default=str)}", cells)
    inner = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(inner, dict):
        lines += _text(
            "        ", "fields: " + ", ".join(f"{key} {kind_of(each)}" for key, each in inner.items()), cells
        )
    return lines


def kind_of(schema: Any) -> str:
    if not isinstance(schema, dict):
        return str(schema)
    kind = str(schema.get("type", "any"))
    items = schema.get("items")
    return f"{kind} of {kind_of(items)}" if isinstance(items, dict) and items.get("type") else kind


def _text(indent: str, text: Any, cells: int) -> list[Line]:
    if not text:
        return []
    return labelled(indent, wrap_text(str(text), max(cells - len(indent), 20), DESCRIPTION_ROWS), "dim")


@dataclass(frozen=True, slots=True)
class Under:
    functions: Sequence[str] = ()
    """Names: golden's first, then predicted's if that is another one."""
    argument: str | None = None
    """Name of the parameter under the cursor; of a call the first that differs."""

    def __bool__(self) -> bool:
        return bool(self.functions)


NOTHING = Under()
MOST_UNDER = 20
"""Functions on offer whose documents are made without being asked for."""


def under(of: Scene, key: str) -> Under:
    """`key` is that of a block, or an address: a call, or an argument; nothing for anything else."""
    part = part_of(key)
    if part is None or part.call is None:
        return NOTHING
    pairs = of.pairs.get(part.turn, [])
    if part.call < len(pairs):
        pair = pairs[part.call]
        return Under(tuple(dict.fromkeys(named(of, pair).values())), _argument(pair, part.argument))
    alone = of.alone(part.turn)
    name = alone[part.call].name if part.call < len(alone) else None
    return Under((name,), _first(part.argument)) if name else NOTHING


def offered(of: Scene) -> Under:
    """Where nothing was called, or to be called: what could have been."""
    return Under(tuple(str(each.get("name")) for each in of.item.functions[:MOST_UNDER]))


def named(of: Scene, pair: Pair) -> dict[str, str]:
    """The function of each side; of a side that made no call, the other's."""
    golden, predicted = of.sides(pair)
    wanted = golden.name if golden else predicted.name if predicted else pair.name
    made = predicted.name if predicted and predicted.name else wanted
    return {"golden": wanted, "predicted": made}


def _argument(pair: Pair, path: str | None) -> str | None:
    """The argument that a place lies in."""
    return _first(path or next((place.path for place in pair.diff if place.path and place.state != "~"), None))


def _first(path: str | None) -> str | None:
    return str(steps(path)[0]) if path else None


NAME_ROWS = 3


@dataclass(slots=True)
class Beside:
    """A source for a document view: a block for each function's head, one for each parameter."""

    functions: Sequence[dict[str, object]]
    """Those on offer."""
    here: Under
    cells: int
    """For which it is laid out first."""
    _parts: list[tuple[str | None, list[Line]]] = field(init=False)

    def __post_init__(self) -> None:
        self._parts = self._laid_out(self.cells)

    def __len__(self) -> int:
        return len(self._parts)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        if cells != self.cells:
            self.cells, self._parts = cells, self._laid_out(cells)
        return self._parts[index][1]

    @property
    def marked(self) -> int | None:
        """The block of the parameter under the cursor."""
        wanted = self.here.argument
        return next((at for at, (name, _) in enumerate(self._parts) if name is not None and name == wanted), None)

    def _laid_out(self, cells: int) -> list[tuple[str | None, list[Line]]]:
        parts: list[tuple[str | None, list[Line]]] = []
        known = [str(each.get("name")) for each in self.functions]
        for name in self.here.functions:
            parts += [(None, [BLANK])] if parts else []
            document = function_named(self.functions, name)
            parts.append((None, [((row, "strong"),) for row in wrap(visible(name), cells, NAME_ROWS)]))
            parts += function_parts(name, document, self.here.argument, cells, known)
        if self.here.argument and all(self.here.argument != name for name, _ in parts):
            parts.append((self.here.argument, [_stranger(self.here.argument, cells)]))
        return parts


def _stranger(argument: str, cells: int) -> Line:
    mark = f"  {symbols().arrow} "
    return fit(((mark, "strong"), (visible(argument), "strong"), ("  no such parameter", "warn")), cells)


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


ROWS = 2
"""Rows of the description."""
VALUES = 200
"""Characters of an enumeration."""


def foot_lines(of: Scene, key: str, cells: int, free: int, *, whole: bool = True) -> list[Line]:
    """`key` is that of the block under the cursor; `free`: how many lines there are. `whole`: the document too, not
    only its parameter."""
    here = under(of, key)
    document = function_named(of.item.functions, here.functions[0]) if here else None
    if document is None:
        return []
    name = here.functions[0]
    if whole and sum(map(len, parameters_of(document))) < free:
        lines = function_lines(name, document, here.argument, cells)
        if len(lines) < free:  # one stays blank
            return lines
    return _parameter_lines(name, document, here.argument, cells) if here.argument and "/arg:" in key else []


def _parameter_lines(name: str, document: dict[str, Any], argument: str, cells: int) -> list[Line]:
    """`── city · string, required · enum: ["a", "b"] · default: "a" ──` and its description."""
    schema = schema_of(document, argument)
    if schema is None:
        stranger = f" · no parameter of {visible(name)}"
        return [rule(((visible(argument), "strong"), (stranger, "warn")), cells)]
    required = argument in parameters_of(document)[0]
    head = f" · {visible(kind_of(schema))}, {'required' if required else 'optional'}"
    lines = [rule(((visible(argument), "strong"), (head, "")), cells)]
    if isinstance(schema, dict):
        said = [f"{name}: {_foot_text(schema[name])}" for name in ("enum", "default") if name in schema]
        lines += [fit((("  " + visible(" · ".join(said)), "dim"),), cells)] if said else []
        described = schema.get("description")
        lines += labelled("  ", wrap_text(str(described), cells - 2, ROWS), "dim") if described else []
    return lines


def _foot_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:VALUES]


FEW = 8
"""As many functions are listed one a line; of more only those that were called, the others by name."""
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

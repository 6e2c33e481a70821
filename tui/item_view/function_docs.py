"""Render function docs and the list of available functions.

The docs of the function under the cursor are shown in a column beside the item, or in panels or the
footer below it. The list of available functions is part of the document.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

from fcreview.model.address import parse_address
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import CallPair
from fcreview.model.json_value import split_path
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import format_count
from fcreview.tui.item_view.blocks import (
    Block,
    DisplayOptions,
    DocsChoice,
    IndexedItem,
    fold_symbol,
    set_parent_block,
)
from fcreview.tui.text.graphics import FRAME_CELLS, box_lines
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    fit_line,
    line_width,
    make_line,
    pad_text,
    prefix_rows_with_label,
    rule_line,
    sanitize_and_wrap,
    truncate_middle,
    wrap_sanitized,
)
from fcreview.tui.text.styles import STATE_STYLES, symbols

DESCRIPTION_ROWS = 12
MAX_PARAMETERS = 200
"""Maximum number of parameters that are shown. The parameter under the cursor is always shown."""


def find_function(functions: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Return the docs of a called function. If no function has exactly this name, dots and
    underscores are treated as equal.
    """
    exact = (each for each in functions if each.get("name") == name)
    plain = _dots_to_underscores(name)
    similar = (each for each in functions if _dots_to_underscores(str(each.get("name"))) == plain)
    return next(exact, next(similar, None))


def _dots_to_underscores(name: str) -> str:
    return name.replace(".", "_")


def _function_names(functions: Sequence[dict[str, Any]]) -> list[str]:
    return [str(function.get("name")) for function in functions]


def required_and_optional_parameters(function: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of a function's (required, optional) parameters, in the order of the
    docs.
    """
    declared = read_declared_parameters(function)
    required = set(map(str, declared.required or ()))
    names = [str(name) for name in declared.properties or ()]
    return [name for name in names if name in required], [
        name for name in names if name not in required
    ]


def function_docs_lines(
    name: str,
    function: dict[str, Any] | None,
    marked_parameter: str | None,
    cells: int,
    available_names: Sequence[str] = (),
) -> list[Line]:
    head = rule_line((("docs of ", ""), (sanitize(name), "strong")), cells)
    sections = function_docs_sections(name, function, marked_parameter, cells, available_names)
    return [head, *(line for _, lines in sections for line in lines)]


class DocsSection(NamedTuple):
    """Lines about a parameter, or about the whole function if `parameter` is None."""

    parameter: str | None
    lines: list[Line]


def function_docs_sections(
    name: str,
    function: dict[str, Any] | None,
    marked_parameter: str | None,
    cells: int,
    available_names: Sequence[str] = (),
) -> list[DocsSection]:
    """Render the docs of a function.

    Args:
        name: Name as in the call. function: `{name, description, parameters: {properties,
        required}}`, or None if the function is not available.
            Other forms of `parameters` are shown as JSON.
        marked_parameter: Parameter to mark. cells: Width in cells. available_names: Names of the
        available functions, one of which is suggested if `function` is None.
    """
    if function is None:
        text = f"  not an available function{_closest_name_hint(name, available_names)}"
        return [DocsSection(None, [fit_line(((text, "warn"),), cells)])]
    lines = _description_lines("  ", function.get("description"), cells)
    properties = read_declared_parameters(function).properties
    if properties is None:
        lines += _description_lines("  ", _json_text(function.get("parameters"), indent=2), cells)
        return [DocsSection(None, lines)]
    required, _ = required_and_optional_parameters(function)
    if not properties:
        lines.append(make_line("  no parameters", "dim"))
    shown = dict(islice(properties.items(), MAX_PARAMETERS))
    if marked_parameter in properties:
        shown[marked_parameter] = properties[marked_parameter]
    sections = [DocsSection(None, lines)]
    for key, schema in shown.items():
        parameter = str(key)
        rendered = _parameter_lines(
            parameter, schema, parameter in required, parameter == marked_parameter, cells
        )
        sections.append(DocsSection(parameter, rendered))
    if len(properties) > len(shown):
        more = f"  {symbols().ellipsis} {len(properties) - len(shown):,} more parameters"
        sections.append(DocsSection(None, [make_line(more, "dim")]))
    return sections


def _closest_name_hint(name: str, available_names: Sequence[str]) -> str:
    closest = get_close_matches(name, available_names, n=1, cutoff=0.5)
    return f" (closest: {sanitize(closest[0])})" if closest else ""


def _json_text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def _parameter_lines(
    name: str, schema: Any, is_required: bool, is_marked: bool, cells: int
) -> list[Line]:
    arrow = symbols().arrow if is_marked else " "
    head: Line = ((f"  {arrow} ", "strong"), (sanitize(name), "strong" if is_marked else ""))
    kind: Line = ((f"  {sanitize(type_name(schema))}{', required' if is_required else ''}", "dim"),)
    if line_width((*head, *kind)) <= cells:
        lines = [(*head, *kind)]
    else:
        lines = [fit_line(head, cells), fit_line((("      ", ""), *kind), cells)]
    return lines + [
        row
        for text in describe_parameter(schema)
        for row in _description_lines("        ", text, cells)
    ]


def describe_parameter(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    texts = [str(schema.get("description") or "")]
    texts += [f"{key}: {_json_text(schema[key])}" for key in ("enum", "default") if key in schema]
    if isinstance(fields := schema.get("properties"), dict):
        texts.append(
            "fields: " + ", ".join(f"{key} {type_name(inner)}" for key, inner in fields.items())
        )
    return [text for text in texts if text]


def type_name(schema: Any) -> str:
    """Return the type of a parameter, such as `string` or `array of string`; `any` if its schema
    has no type.
    """
    if not isinstance(schema, dict):
        return str(schema)
    kind = str(schema.get("type", "any"))
    items = schema.get("items")
    return (
        f"{kind} of {type_name(items)}" if isinstance(items, dict) and items.get("type") else kind
    )


def _description_lines(indent: str, text: Any, cells: int) -> list[Line]:
    if not text:
        return []
    return prefix_rows_with_label(
        indent, sanitize_and_wrap(str(text), max(cells - len(indent), 20), DESCRIPTION_ROWS), "dim"
    )


@dataclass(frozen=True, slots=True)
class RelevantFunctions:
    """Functions whose docs are relevant at the cursor.

    An instance without functions counts as false in a condition.
    """

    names: Sequence[str] = ()
    """Name from the golden call, and name from the predicted call if it differs."""
    argument: str | None = None
    """Parameter under the cursor.

    If the cursor is on a call, the first argument with a difference.
    """

    def __bool__(self) -> bool:
        return bool(self.names)


NO_FUNCTIONS = RelevantFunctions()
MAX_AVAILABLE_DOCS = 20


def functions_at_block(indexed: IndexedItem, block_key: str) -> RelevantFunctions:
    """Return the functions of the call or argument at this block key or target address."""
    part = parse_address(block_key)
    if part is None or part.call is None:
        return NO_FUNCTIONS
    pairs = indexed.pairs.get(part.turn, [])
    if part.call < len(pairs):
        pair = pairs[part.call]
        path = part.argument or next(
            (place.path for place in pair.diff if place.path and place.state != "~"), None
        )
        names = function_name_by_side(indexed, pair).values()
        return RelevantFunctions(tuple(dict.fromkeys(names)), _top_level_parameter(path))
    calls = indexed.calls_of_unpaired_turn(part.turn)
    name = calls[part.call].name if part.call < len(calls) else None
    return RelevantFunctions((name,), _top_level_parameter(part.argument)) if name else NO_FUNCTIONS


def first_available_functions(indexed: IndexedItem) -> RelevantFunctions:
    """Return the first `MAX_AVAILABLE_DOCS` available functions, for items without a call."""
    return RelevantFunctions(tuple(_function_names(indexed.item.functions[:MAX_AVAILABLE_DOCS])))


def function_name_by_side(indexed: IndexedItem, pair: CallPair) -> dict[str, str]:
    """Return `{"golden": name, "predicted": name}`.

    If one call is missing, both names are from the other call.
    """
    golden, predicted = indexed.golden_and_predicted_call(pair)
    golden_name = golden.name if golden else predicted.name if predicted else pair.name
    predicted_name = predicted.name if predicted and predicted.name else golden_name
    return {"golden": golden_name, "predicted": predicted_name}


def _top_level_parameter(argument_path: str | None) -> str | None:
    return str(split_path(argument_path)[0]) if argument_path else None


NAME_ROWS = 3


@dataclass(slots=True)
class FunctionDocsSource:
    """Function docs as the `DocumentSource` of a `DocumentLayout`, with a block for each
    function and parameter.
    """

    functions: Sequence[dict[str, object]]
    shown: RelevantFunctions
    cells: int
    _sections: list[DocsSection] = field(init=False)

    def __post_init__(self) -> None:
        self._sections = self._render_sections(self.cells)

    def __len__(self) -> int:
        return len(self._sections)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        if cells != self.cells:
            self.cells, self._sections = cells, self._render_sections(cells)
        return self._sections[index].lines

    @property
    def marked_block_index(self) -> int | None:
        argument = self.shown.argument
        return next(
            (
                at
                for at, each in enumerate(self._sections)
                if argument and each.parameter == argument
            ),
            None,
        )

    def _render_sections(self, cells: int) -> list[DocsSection]:
        sections: list[DocsSection] = []
        argument, available = self.shown.argument, _function_names(self.functions)
        for name in self.shown.names:
            title: list[Line] = [
                ((row, "strong"),) for row in wrap_sanitized(sanitize(name), cells, NAME_ROWS)
            ]
            sections.append(DocsSection(None, [*([BLANK_LINE] if sections else []), *title]))
            sections += function_docs_sections(
                name, find_function(self.functions, name), argument, cells, available
            )
        if argument and all(argument != name for name, _ in sections):
            head: Line = ((f"  {symbols().arrow} ", "strong"), (sanitize(argument), "strong"))
            sections.append(
                DocsSection(argument, [fit_line((*head, ("  no such parameter", "warn")), cells)])
            )
        return sections


DOCS_CHOICES: tuple[DocsChoice, ...] = ("golden", "predicted", "all")
"""Choices of function docs, in the order of repeated presses of the key.

After the last choice, no docs are shown.
"""


def call_docs_blocks(
    indexed: IndexedItem, pair: CallPair, address: str, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of the function docs below a call.

    Empty unless the reader chose the docs of this call.
    """
    if (
        options.unfold_all
        or options.docs_call != address
        or options.docs_choice not in ("golden", "predicted")
    ):
        return []
    name = function_name_by_side(indexed, pair)[options.docs_choice]
    return [_docs_block(indexed, f"{address}/document", name, options)]


def _docs_block(indexed: IndexedItem, key: str, name: str, options: DisplayOptions) -> Block:
    function = find_function(indexed.item.functions, name)
    available = _function_names(indexed.item.functions)
    return Block(
        key,
        lambda cells: function_docs_lines(
            name, function, options.marked_argument, cells, available
        ),
        foldable=True,
        title=f"docs of {sanitize(name)}",
        full_text=lambda: _json_text(function),
        copied_value=lambda: function,
    )


def docs_choices(indexed: IndexedItem, call_address: str | None) -> Sequence[DocsChoice]:
    """Return the `DOCS_CHOICES` that show different docs for the call at `call_address`. Without a
    call, return only `all`.
    """
    part = parse_address(call_address) if call_address else None
    pairs = indexed.pairs.get(part.turn, []) if part is not None else []
    if part is None or part.call is None or part.call >= len(pairs):
        return DOCS_CHOICES[-1:]
    names = function_name_by_side(indexed, pairs[part.call])
    of_call = DOCS_CHOICES[:2] if names["golden"] != names["predicted"] else DOCS_CHOICES[:1]
    return (*of_call, DOCS_CHOICES[-1]) if len(indexed.item.functions) > 1 else of_call


def next_docs_choice(choices: Sequence[DocsChoice], current: DocsChoice) -> DocsChoice:
    """Return the choice after `current`. The empty choice (no docs) is before the first choice and
    after the last. If `current` is not available, return the last choice.
    """
    if current in choices:
        at = choices.index(current) + 1
        return choices[at] if at < len(choices) else ""
    return choices[-1] if current in DOCS_CHOICES else choices[0]


FOOTER_DESCRIPTION_ROWS = 2
MAX_VALUE_CHARS = 200


def docs_footer_lines(
    indexed: IndexedItem,
    block_key: str,
    cells: int,
    free_rows: int,
    *,
    allow_full_docs: bool = True,
) -> list[Line]:
    """Render the docs of the function at the block. If the docs do not fit into `free_rows`, render
    only the parameter under the cursor.
    """
    here = functions_at_block(indexed, block_key)
    function = find_function(indexed.item.functions, here.names[0]) if here else None
    if function is None:
        return []
    name = here.names[0]
    if allow_full_docs and sum(map(len, required_and_optional_parameters(function))) < free_rows:
        lines = function_docs_lines(name, function, here.argument, cells)
        if len(lines) < free_rows:  # One row must stay blank.
            return lines
    has_argument = here.argument and "/arg:" in block_key
    return (
        _footer_parameter_lines(name, function, here.argument or "", cells) if has_argument else []
    )


def _footer_parameter_lines(
    name: str, function: dict[str, Any], argument: str, cells: int
) -> list[Line]:
    schema = (read_declared_parameters(function).properties or {}).get(argument)
    if schema is None:
        warning = f" · not a parameter of {sanitize(name)}"
        return [rule_line(((sanitize(argument), "strong"), (warning, "warn")), cells)]
    required, _ = required_and_optional_parameters(function)
    head = f" · {sanitize(type_name(schema))}, {'required' if argument in required else 'optional'}"
    lines = [rule_line(((sanitize(argument), "strong"), (head, "")), cells)]
    if isinstance(schema, dict):
        values = [
            f"{key}: {_json_text(schema[key])[:MAX_VALUE_CHARS]}"
            for key in ("enum", "default")
            if key in schema
        ]
        lines += (
            [fit_line((("  " + sanitize(" · ".join(values)), "dim"),), cells)] if values else []
        )
        text = schema.get("description")
        lines += (
            prefix_rows_with_label(
                "  ", sanitize_and_wrap(str(text), cells - 2, FOOTER_DESCRIPTION_ROWS), "dim"
            )
            if text
            else []
        )
    return lines


MAX_LISTED_FUNCTIONS = 8
OTHER_FUNCTIONS_KEY = "offer/others"


def available_function_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the signatures of the available functions, and their docs if the reader chose to
    see them.
    """
    functions = indexed.item.functions
    if not functions:
        return []
    states = _call_state_by_function(indexed)
    known = set(map(_dots_to_underscores, _function_names(functions)))
    predicted = dict.fromkeys(call.name for call in indexed.item.predicted if call.name)
    unavailable = [name for name in predicted if _dots_to_underscores(name) not in known]
    called_first = sorted(functions, key=lambda function: _get_call_state(function, states) == "")
    many, all_docs = len(functions) > MAX_LISTED_FUNCTIONS, options.docs_choice == "all"
    names = [sanitize(each) for each in _function_names(called_first)]
    all_folded = options.frames and not all_docs and options.is_folded("offer", True)
    folded = many and not all_docs and options.is_folded(OTHER_FUNCTIONS_KEY, True)
    shown = (
        [function for function in called_first if _get_call_state(function, states)]
        if folded
        else called_first
    )

    def heading_lines(cells: int) -> list[Line]:
        count: Line = ((format_count(len(functions), "available function"), "strong"),)
        count = (*fold_symbol(all_folded), *count) if options.frames else count
        if all_folded:
            lines = [
                fit_line(
                    (*count, ("  ", ""), (", ".join(names[:MAX_LISTED_FUNCTIONS]), "dim")), cells
                )
            ]
        else:
            lines = [rule_line((*count, (" · name(required, [optional])", "dim")), cells)]
        for name in unavailable:
            remark = (
                "  predicted but not"
                f" available{_closest_name_hint(name, _function_names(functions))}"
            )
            parts: Line = (
                ("! ", STATE_STYLES["!"]),
                (sanitize(name), "predicted"),
                (remark, "dim"),
            )
            lines.append(fit_line(parts, cells))
        return lines

    head = Block(
        "offer",
        heading_lines,
        is_heading=True,
        title="available functions",
        copied_value=lambda: functions,
    )
    head.foldable, head.folded = options.frames, all_folded
    blocks: list[Block] = []
    for at, function in enumerate([] if all_folded else shown):
        blocks.append(_signature_block(f"offer/{at}", function, _get_call_state(function, states)))
        if all_docs:
            name = str(function.get("name"))
            blocks.append(_docs_block(indexed, f"offer/{at}/document", name, options))
    if many and not all_docs and not all_folded:
        blocks.append(
            _other_functions_block(
                _function_names(called_first[len(shown) :]), options, folded=folded
            )
        )
    return [head, *(set_parent_block(blocks, "offer") if options.frames else blocks)]


def _call_state_by_function(indexed: IndexedItem) -> dict[str, str]:
    """Map each called function to `=` (both sides), `-` (golden only) or `+` (predicted only). Dots
    in names become underscores.
    """
    golden = {_dots_to_underscores(call.name) for call in indexed.item.golden}
    predicted = {_dots_to_underscores(call.name) for call in indexed.item.predicted if call.name}
    return {
        name: "=" if name in golden & predicted else "-" if name in golden else "+"
        for name in golden | predicted
    }


def _get_call_state(function: dict[str, Any], state_by_function: dict[str, str]) -> str:
    return state_by_function.get(_dots_to_underscores(str(function.get("name"))), "")


CALLERS = {"=": "golden, predicted", "-": "golden", "+": "predicted"}


def _signature_block(key: str, function: dict[str, Any], state: str) -> Block:
    name, (required, optional) = (
        str(function.get("name")),
        required_and_optional_parameters(function),
    )

    def render_lines(cells: int) -> list[Line]:
        style = {"=": "strong", "-": "golden", "+": "predicted"}.get(state, "")
        inside = [", ".join(required)] if required else []
        inside += [f"[{', '.join(optional)}]"] if optional else []
        callers = f"  {CALLERS[state]}" if state else ""
        signature: Line = (
            (f"{state or ' '} ", STATE_STYLES[state] if state else ""),
            (sanitize(name), style),
            (sanitize(f"({', '.join(inside)})"), "dim"),
        )
        return [(*fit_line(signature, max(cells - len(callers), 20)), (callers, "dim"))]

    return Block(
        key, render_lines, title=f"docs of {sanitize(name)}", copied_value=lambda: function
    )


def _other_functions_block(names: Sequence[str], options: DisplayOptions, *, folded: bool) -> Block:
    def render_lines(cells: int) -> list[Line]:
        if not folded:
            return [] if options.print_hint else [((f"  … {options.open_key} to fold", "dim"),)]
        rows = wrap_sanitized(
            f"{len(names)} more functions: {', '.join(map(sanitize, names))}",
            cells - 2,
            NAME_ROWS + 1,
        )
        if len(rows) > NAME_ROWS:
            rows = [*rows[: NAME_ROWS - 1], rows[NAME_ROWS - 1][: cells - 4].rstrip() + " …"]
        return [(("  ", ""), (row, "dim")) for row in rows]

    return Block(
        OTHER_FUNCTIONS_KEY, render_lines, foldable=True, folded=folded, title="available functions"
    )


MAX_NAME_CELLS = 30
MAX_TYPE_CELLS = 18
SUMMARY_ROWS = 3


def docs_panel_lines(
    functions: Sequence[dict[str, Any]], relevant: RelevantFunctions, cells: int, free_rows: int
) -> list[Line]:
    """Return a panel for each function at the cursor.

    Panels that do not fit into `free_rows` are omitted.
    """
    lines: list[Line] = []
    for name in relevant.names:
        function = find_function(functions, name)
        room = free_rows - len(lines)
        panel = (
            _function_panel_lines(function, relevant.argument, cells, room)
            if function is not None
            else []
        )
        lines += panel if len(panel) <= room else []
    return lines


def _function_panel_lines(
    function: dict[str, Any], argument: str | None, cells: int, free_rows: int
) -> list[Line]:
    inner = cells - FRAME_CELLS
    properties = read_declared_parameters(function).properties
    required, optional = required_and_optional_parameters(function)
    signature = ", ".join([*required, *(f"{each}?" for each in optional)])
    title = f"{sanitize(str(function.get('name')))}({sanitize(signature)})"
    summary = sanitize_and_wrap(str(function.get("description") or ""), inner, SUMMARY_ROWS)
    head = [make_line(row, "dim") for row in summary if row]
    if properties is None or len(properties) > min(free_rows - 2, MAX_PARAMETERS):
        return []
    if not properties:
        return box_lines(title, head or [make_line("no parameters", "dim")], cells)
    name_cells = min(max(display_width(sanitize(str(each))) for each in properties), MAX_NAME_CELLS)
    type_cells = min(
        max(display_width(sanitize(type_name(each))) for each in properties.values()),
        MAX_TYPE_CELLS,
    )
    rows: list[list[Line]] = []
    for name, schema in properties.items():
        is_marked, text = str(name) == argument, "  ".join(describe_parameter(schema))
        cellwise: Line = (
            (f"{symbols().path} " if is_marked else "  ", "primary"),
            pad_text(
                truncate_middle(sanitize(str(name)), name_cells),
                name_cells,
                "strong" if is_marked else "",
            ),
            ("  ", ""),
            pad_text(truncate_middle(sanitize(type_name(schema)), type_cells), type_cells, "dim"),
            ("  required  " if name in required else "  optional  ", "dim"),
        )
        indent = name_cells + type_cells + 16
        texts = sanitize_and_wrap(text, max(inner - indent, 10), SUMMARY_ROWS)
        lines: list[Line] = [(*cellwise, (texts[0].rstrip() if texts else "", "dim"))]
        lines += [((" " * indent, ""), (each.rstrip(), "dim")) for each in texts[1:]]
        rows.append(lines)
    body = [*head, *(line for lines in rows for line in lines)]
    if len(body) + 2 > free_rows:  # one row for each parameter
        more = (f" {symbols().ellipsis}", "dim")
        body = [
            fit_line((*lines[0], more), inner) if len(lines) > 1 else lines[0] for lines in rows
        ]
        body = [*head, *body] if len(head) + len(body) + 2 <= free_rows else body
    return box_lines(title, body, cells)

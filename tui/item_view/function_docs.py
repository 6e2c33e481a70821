"""Render function docs and the list of available functions.

The docs of the function under the cursor are shown in a column beside the item, or in panels or the
footer below it. The list of available functions is part of the document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
    LineBuilder,
    fit_line,
    line_width,
    make_line,
    prefix_rows_with_label,
    rule_line,
    sanitize_and_wrap,
    truncate_middle,
    wrap_sanitized,
)
from fcreview.tui.text.styles import STATE_STYLES, symbols

FUNCTIONS_KEY = "offer"
"""Key of the heading of the available functions."""
DESCRIPTION_ROWS = 12
MAX_PARAMETERS = 200
"""Maximum number of parameters that are shown. The parameter under the cursor is always shown."""


def find_function(functions: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Return the docs of a called function, or None.

    Some benchmarks replace the dots of names by underscores. So, if no function has exactly this
    name, dots and underscores are treated as equal.
    """
    for function in functions:
        if function.get("name") == name:
            return function

    plain_name = _dots_to_underscores(name)
    for function in functions:
        if _dots_to_underscores(str(function.get("name"))) == plain_name:
            return function
    return None


def _dots_to_underscores(name: str) -> str:
    return name.replace(".", "_")


def _function_names(functions: Sequence[dict[str, Any]]) -> list[str]:
    return [str(function.get("name")) for function in functions]


def required_and_optional_parameters(function: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of the (required, optional) parameters, in the order of the docs."""
    declared = read_declared_parameters(function)
    required_names = {str(name) for name in declared.required or ()}
    names = [str(name) for name in declared.properties or ()]
    required = [name for name in names if name in required_names]
    optional = [name for name in names if name not in required_names]
    return required, optional


def function_docs_lines(
    name: str,
    function: dict[str, Any] | None,
    marked_parameter: str | None,
    cells: int,
    available_names: Sequence[str] = (),
) -> list[Line]:
    """Return the docs of a function below a heading, as lines. See `function_docs_sections`."""
    lines = [rule_line((("docs of ", ""), (sanitize(name), "strong")), cells)]
    for section in function_docs_sections(name, function, marked_parameter, cells, available_names):
        lines += section.lines
    return lines


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
        name: Name as in the call.
        function: `{name, description, parameters: {properties, required}}`, or None if the function
            is not available. Other forms of `parameters` are shown as JSON.
        marked_parameter: Parameter to mark.
        cells: Width in cells.
        available_names: Names of the available functions, one of which is suggested if `function`
            is None.
    """
    if function is None:
        warning = f"  not an available function{_closest_name_hint(name, available_names)}"
        return [DocsSection(None, [fit_line(make_line(warning, "warn"), cells)])]

    properties = read_declared_parameters(function).properties
    sections = [DocsSection(None, _docs_head_lines(function, properties, cells))]
    if not properties:
        return sections
    # A function can have thousands of parameters.
    shown_properties = _choose_shown_parameters(properties, marked_parameter)
    sections += _parameter_sections(function, shown_properties, marked_parameter, cells)
    n_hidden = len(properties) - len(shown_properties)
    if n_hidden > 0:
        note = f"  {symbols().ellipsis} {n_hidden:,} more parameters"
        sections.append(DocsSection(None, [make_line(note, "dim")]))
    return sections


def _docs_head_lines(
    function: dict[str, Any], properties: Mapping[Any, Any] | None, cells: int
) -> list[Line]:
    """Return the description of a function, and a remark if it declares no parameters.

    `properties` is None without a schema of parameters, which are then shown as they are.
    """
    lines = _description_lines("  ", function.get("description"), cells)
    if properties is None:
        parameters = _json_text(function.get("parameters"), indent=2)
        return lines + _description_lines("  ", parameters, cells)
    if not properties:
        lines.append(make_line("  no parameters", "dim"))
    return lines


def _parameter_sections(
    function: dict[str, Any],
    properties: Mapping[str, Any],
    marked_parameter: str | None,
    cells: int,
) -> list[DocsSection]:
    """Return a section of the docs for each parameter. `properties`: maps parameters to their
    schemas.
    """
    required, _ = required_and_optional_parameters(function)
    sections = []
    for parameter, schema in properties.items():
        lines = _parameter_lines(
            parameter,
            schema,
            cells,
            is_required=parameter in required,
            is_marked=parameter == marked_parameter,
        )
        sections.append(DocsSection(parameter, lines))
    return sections


def _choose_shown_parameters(
    properties: Mapping[Any, Any], marked_parameter: str | None
) -> dict[str, Any]:
    """Return the first parameters with their schemas, and the marked parameter."""
    shown = {str(name): schema for name, schema in islice(properties.items(), MAX_PARAMETERS)}
    if marked_parameter is not None and marked_parameter in properties:
        shown[marked_parameter] = properties[marked_parameter]
    return shown


def _closest_name_hint(name: str, available_names: Sequence[str]) -> str:
    closest = get_close_matches(name, available_names, n=1, cutoff=0.5)
    return f" (closest: {sanitize(closest[0])})" if closest else ""


def _json_text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def _parameter_lines(
    name: str, schema: Any, cells: int, *, is_required: bool, is_marked: bool
) -> list[Line]:
    """Render a parameter: a mark if it is the searched one, name, type, and below them its
    description.

    A type that does not fit beside the name has its own line.
    """
    name_part = LineBuilder()
    name_part.add(f"  {symbols().arrow if is_marked else ' '} ", "strong")
    name_part.add(sanitize(name), "strong" if is_marked else "")
    type_text = sanitize(type_name(schema))
    if is_required:
        type_text += ", required"
    type_part = make_line(f"  {type_text}", "dim")

    if name_part.width + line_width(type_part) <= cells:
        lines = [(*name_part.build(), *type_part)]
    else:
        indented_type = (("      ", ""), *type_part)
        lines = [fit_line(name_part.build(), cells), fit_line(indented_type, cells)]
    for text in describe_parameter(schema):
        lines += _description_lines("        ", text, cells)
    return lines


def describe_parameter(schema: Any) -> list[str]:
    """Return what the schema of a parameter says: description, allowed values, default and fields.

    Each text is a paragraph of its own. Missing ones are left out.
    """
    if not isinstance(schema, dict):
        return []
    texts = []
    if schema.get("description"):
        texts.append(str(schema["description"]))
    for key in ("enum", "default"):
        if key in schema:
            texts.append(f"{key}: {_json_text(schema[key])}")

    # The parameter is an object with fields of its own.
    fields = schema.get("properties")
    if isinstance(fields, dict):
        types = [f"{name} {type_name(field_schema)}" for name, field_schema in fields.items()]
        texts.append(f"fields: {', '.join(types)}")
    return texts


def type_name(schema: Any) -> str:
    """Return the type of a parameter, such as `string` or `array of string`; `any` if its schema
    has no type.
    """
    if not isinstance(schema, dict):
        return str(schema)
    name = str(schema.get("type", "any"))
    element_schema = schema.get("items")
    if isinstance(element_schema, dict) and element_schema.get("type"):
        return f"{name} of {type_name(element_schema)}"
    return name


MIN_DESCRIPTION_CELLS = 20


def _description_lines(indent: str, text: Any, cells: int) -> list[Line]:
    """Return the first rows of a description, indented. Empty without a description."""
    if not text:
        return []
    room = max(cells - len(indent), MIN_DESCRIPTION_CELLS)
    rows = sanitize_and_wrap(str(text), room, DESCRIPTION_ROWS)
    return prefix_rows_with_label(indent, rows, "dim")


@dataclass(frozen=True, slots=True)
class RelevantFunctions:
    """Functions whose docs are relevant at the cursor.

    An instance without functions counts as false in a condition.
    """

    names: Sequence[str] = ()
    """Name from the golden call, and name from the predicted call if it is another function."""
    argument: str | None = None
    """Parameter under the cursor.

    If the cursor is on a call, the first argument with a difference.
    """

    def __bool__(self) -> bool:
        return bool(self.names)


NO_FUNCTIONS = RelevantFunctions()
MAX_AVAILABLE_DOCS = 20


def functions_at_block(indexed: IndexedItem, block_key: str) -> RelevantFunctions:
    """Return the functions of the call under the cursor, and the argument if the cursor is on one.

    `block_key`: key of the block under the cursor, which begins with the address of the call.
    """
    part = parse_address(block_key)
    if part is None or part.call is None:
        return NO_FUNCTIONS

    pairs = indexed.pairs.get(part.turn, [])
    if part.call < len(pairs):
        return _functions_of_pair(indexed, pairs[part.call], part.argument)

    # The benchmark compares the calls of this turn with nothing, so they have no pairs.
    calls = indexed.calls_of_unpaired_turn(part.turn)
    if part.call >= len(calls):
        return NO_FUNCTIONS
    name = calls[part.call].name
    if not name:
        return NO_FUNCTIONS
    return RelevantFunctions((name,), _top_level_parameter(part.argument))


def _functions_of_pair(
    indexed: IndexedItem, pair: CallPair, argument_path: str | None
) -> RelevantFunctions:
    """Return the functions whose docs to show for a pair of a golden and a predicted call.

    The two calls can have different functions. The result also names the parameter to mark in the
    docs: that of the argument at the cursor, else of the first different argument.
    """
    names = function_name_by_side(indexed, pair)
    shown_names = [names["golden"]]
    if not _is_same_function(indexed, pair):
        shown_names.append(names["predicted"])
    path = argument_path or _find_first_differing_path(pair)
    return RelevantFunctions(tuple(shown_names), _top_level_parameter(path))


def _is_same_function(indexed: IndexedItem, pair: CallPair) -> bool:
    """Whether the golden and the predicted call are of one function.

    They are also of one function if it is available only once, but the calls spell it in two ways,
    such as `math.factorial` and `math_factorial`.
    """
    names = function_name_by_side(indexed, pair)
    if names["golden"] == names["predicted"]:
        return True
    golden_function = find_function(indexed.item.functions, names["golden"])
    predicted_function = find_function(indexed.item.functions, names["predicted"])
    return golden_function is not None and golden_function is predicted_function


def _find_first_differing_path(pair: CallPair) -> str | None:
    for difference in pair.diff:
        if difference.path and difference.state != "~":
            return difference.path
    return None


def first_available_functions(indexed: IndexedItem) -> RelevantFunctions:
    """Return the first `MAX_AVAILABLE_DOCS` available functions, for items without a call."""
    return RelevantFunctions(tuple(_function_names(indexed.item.functions[:MAX_AVAILABLE_DOCS])))


def function_name_by_side(indexed: IndexedItem, pair: CallPair) -> dict[str, str]:
    """Return the function of the golden and of the predicted call: `{"golden": name, "predicted":
    name}`.

    If one call is missing, both names are from the other call.
    """
    golden, predicted = indexed.golden_and_predicted_call(pair)
    golden_name = pair.name
    if golden is not None:
        golden_name = golden.name
    elif predicted is not None:
        golden_name = predicted.name

    predicted_name = golden_name
    if predicted is not None and predicted.name:
        predicted_name = predicted.name
    return {"golden": golden_name, "predicted": predicted_name}


def _top_level_parameter(argument_path: str | None) -> str | None:
    """Return `city` for the path `city.name[0]`."""
    if not argument_path:
        return None
    return str(split_path(argument_path)[0])


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
            self.cells = cells
            self._sections = self._render_sections(cells)
        return self._sections[index].lines

    @property
    def marked_block_index(self) -> int | None:
        """Index of the block of the parameter under the cursor. None if no parameter is under the
        cursor.
        """
        if not self.shown.argument:
            return None
        for index, section in enumerate(self._sections):
            if section.parameter == self.shown.argument:
                return index
        return None

    def _render_sections(self, cells: int) -> list[DocsSection]:
        """Render the docs of the shown functions, each below its name.

        The golden and the predicted call may have different functions, so there may be two.
        """
        argument = self.shown.argument
        available_names = _function_names(self.functions)
        sections: list[DocsSection] = []
        for name in self.shown.names:
            name_rows = wrap_sanitized(sanitize(name), cells, NAME_ROWS)
            title = [make_line(row, "strong") for row in name_rows]
            if sections:
                title.insert(0, BLANK_LINE)
            sections.append(DocsSection(None, title))
            function = find_function(self.functions, name)
            sections += function_docs_sections(name, function, argument, cells, available_names)

        # No function declares the argument, so the model invented it.
        if argument and all(section.parameter != argument for section in sections):
            sections.append(_unknown_parameter_section(argument, cells))
        return sections


def _unknown_parameter_section(name: str, cells: int) -> DocsSection:
    """Return a warning in place of the docs of a parameter that the function does not have."""
    line: Line = (
        (f"  {symbols().arrow} ", "strong"),
        (sanitize(name), "strong"),
        ("  no such parameter", "warn"),
    )
    return DocsSection(name, [fit_line(line, cells)])


def call_docs_blocks(
    indexed: IndexedItem, pair: CallPair, address: str, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of the function docs below a call. Empty unless the reader chose the docs
    of this call.
    """
    if options.unfold_all or options.docs_call != address:
        return []
    if options.docs_choice not in ("golden", "predicted"):
        return []
    name = function_name_by_side(indexed, pair)[options.docs_choice]
    return [_docs_block(indexed, f"{address}/document", name, options)]


def _docs_block(indexed: IndexedItem, key: str, name: str, options: DisplayOptions) -> Block:
    """Return the block with the docs of a function. The reader can open the complete JSON in the
    pager.
    """
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
    """Return the sets of function docs that the reader can choose for the call at `call_address`.

    `golden` is the docs of the golden call. `predicted` is available if the predicted call has
    another function, and `all` if the item has several functions. Without a call, the only choice
    is `all`.
    """
    pair = _find_pair(indexed, call_address)
    if pair is None:
        return ("all",)

    choices: list[DocsChoice] = ["golden"]
    if not _is_same_function(indexed, pair):
        choices.append("predicted")
    if len(indexed.item.functions) > 1:
        choices.append("all")
    return tuple(choices)


def _find_pair(indexed: IndexedItem, call_address: str | None) -> CallPair | None:
    """Return the pair of a golden and a predicted call at an address such as `turn:0/call:1`, or
    None.
    """
    part = parse_address(call_address) if call_address else None
    if part is None or part.call is None:
        return None
    pairs = indexed.pairs.get(part.turn, [])
    if part.call >= len(pairs):
        return None
    return pairs[part.call]


def next_docs_choice(choices: Sequence[DocsChoice], current: DocsChoice) -> DocsChoice:
    """Return the choice of function docs that follows `current` when the user presses the key
    again.

    Before the first and after the last choice, no docs are shown (an empty text). If `current` is
    not available at this call, the last choice follows.
    """
    if current == "":
        return choices[0]
    if current not in choices:
        return choices[-1]
    next_index = choices.index(current) + 1
    if next_index == len(choices):
        return ""
    return choices[next_index]


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
    """Render the docs of the function at the cursor for the free rows at the bottom of the screen.

    If the docs of the function do not fit, and the cursor is on an argument, render only the docs
    of this argument. Else render nothing.

    Args:
        free_rows: Number of free rows. One of them stays blank.
        allow_full_docs: Whether to try the docs of the whole function.
    """
    relevant = functions_at_block(indexed, block_key)
    if not relevant:
        return []
    # If the golden and the predicted function differ, the golden one comes first.
    name = relevant.names[0]
    function = find_function(indexed.item.functions, name)
    if function is None:
        return []

    required, optional = required_and_optional_parameters(function)
    # A parameter needs at least one row.
    may_fit = len(required) + len(optional) < free_rows
    if allow_full_docs and may_fit:
        lines = function_docs_lines(name, function, relevant.argument, cells)
        # One row must stay blank.
        if len(lines) < free_rows:
            return lines

    is_at_argument = "/arg:" in block_key
    if relevant.argument and is_at_argument:
        return _footer_parameter_lines(name, function, relevant.argument, cells)
    return []


def _footer_parameter_lines(
    function_name: str, function: dict[str, Any], argument: str, cells: int
) -> list[Line]:
    """Render the docs of an argument: name, type, whether it is required, values and description.

    If the function has no such parameter, a warning says so.
    """
    properties = read_declared_parameters(function).properties or {}
    schema = properties.get(argument)
    if schema is None:
        warning = f" · not a parameter of {sanitize(function_name)}"
        return [rule_line(((sanitize(argument), "strong"), (warning, "warn")), cells)]

    required, _ = required_and_optional_parameters(function)
    kind = "required" if argument in required else "optional"
    facts = f" · {sanitize(type_name(schema))}, {kind}"
    lines = [rule_line(((sanitize(argument), "strong"), (facts, "")), cells)]
    if isinstance(schema, dict):
        lines += _footer_value_lines(schema, cells)
    return lines


def _footer_value_lines(schema: dict[str, Any], cells: int) -> list[Line]:
    """Render the allowed values and the default on one line, then the beginning of the
    description.
    """
    lines = []
    values = []
    for key in ("enum", "default"):
        if key in schema:
            values.append(f"{key}: {_json_text(schema[key])[:MAX_VALUE_CHARS]}")
    if values:
        text = "  " + sanitize(" · ".join(values))
        lines.append(fit_line(make_line(text, "dim"), cells))

    description = schema.get("description")
    if description:
        rows = sanitize_and_wrap(str(description), cells - 2, FOOTER_DESCRIPTION_ROWS)
        lines += prefix_rows_with_label("  ", rows, "dim")
    return lines


MAX_LISTED_FUNCTIONS = 8
OTHER_FUNCTIONS_KEY = "offer/others"


@dataclass(frozen=True, slots=True)
class _CallState:
    """Who calls an available function."""

    state: str
    """State as in `STATE_STYLES`."""
    callers: str
    style: str
    """Style of the name of the function."""


CALLED_ON_BOTH_SIDES = _CallState("=", callers="golden, predicted", style="strong")
CALLED_IN_GOLDEN = _CallState("-", callers="golden", style="golden")
CALLED_IN_PREDICTION = _CallState("+", callers="predicted", style="predicted")


@dataclass(frozen=True, slots=True)
class _AvailableFunction:
    """Function that the model could call."""

    docs: dict[str, Any]
    call_state: _CallState | None
    """None if neither the golden answer nor the prediction calls the function."""

    @property
    def name(self) -> str:
        return str(self.docs.get("name"))

    @property
    def is_called(self) -> bool:
        return self.call_state is not None


def available_function_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the section with the functions that the model could call.

    It has a heading and the signature of each function, and their docs if the reader chose to see
    them. Functions that are called come first.
    """
    functions = _list_called_functions_first(indexed)
    if not functions:
        return []

    shows_docs = options.docs_choice == "all"
    is_section_folded = (
        options.frames and not shows_docs and options.is_folded(FUNCTIONS_KEY, by_default=True)
    )
    heading = _available_functions_heading(indexed, functions, options, folded=is_section_folded)
    # On screen, the section is only a heading until the reader unfolds it.
    if is_section_folded:
        return [heading]

    is_long = len(functions) > MAX_LISTED_FUNCTIONS
    if is_long and not shows_docs:
        blocks = _long_list_blocks(indexed, functions, options)
    else:
        blocks = _function_blocks(indexed, functions, options, shows_docs=shows_docs)
    if options.frames:
        set_parent_block(blocks, FUNCTIONS_KEY)
    return [heading, *blocks]


def _long_list_blocks(
    indexed: IndexedItem, functions: Sequence[_AvailableFunction], options: DisplayOptions
) -> list[Block]:
    """Return the signatures of the functions, and a block with which the reader folds those that
    are not called. While they are folded, this block has their names.
    """
    are_others_folded = options.is_folded(OTHER_FUNCTIONS_KEY, by_default=True)
    shown_functions = list(functions)
    hidden_names: list[str] = []
    if are_others_folded:
        shown_functions = [function for function in functions if function.is_called]
        hidden_names = [function.name for function in functions if not function.is_called]

    blocks = _function_blocks(indexed, shown_functions, options, shows_docs=False)
    blocks.append(_other_functions_block(hidden_names, options, folded=are_others_folded))
    return blocks


def _function_blocks(
    indexed: IndexedItem,
    functions: Sequence[_AvailableFunction],
    options: DisplayOptions,
    *,
    shows_docs: bool,
) -> list[Block]:
    """Return the signature of each function. With `shows_docs`, its docs follow."""
    blocks = []
    for index, function in enumerate(functions):
        key = f"{FUNCTIONS_KEY}/{index}"
        blocks.append(_signature_block(key, function))
        if shows_docs:
            blocks.append(_docs_block(indexed, f"{key}/document", function.name, options))
    return blocks


def _list_called_functions_first(indexed: IndexedItem) -> list[_AvailableFunction]:
    """Return the available functions: first those that the golden answer or the model calls.

    Both parts keep the order of the benchmark.
    """
    item = indexed.item
    # Some benchmarks write a dot of a name as an underscore in calls, so names are compared without
    # dots.
    golden_names = {_dots_to_underscores(call.name) for call in item.golden}
    predicted_names = {_dots_to_underscores(call.name) for call in item.predicted if call.name}

    called = []
    others = []
    for docs in item.functions:
        name = _dots_to_underscores(str(docs.get("name")))
        call_state = _find_call_state(
            is_golden=name in golden_names, is_predicted=name in predicted_names
        )
        if call_state is not None:
            called.append(_AvailableFunction(docs, call_state))
        else:
            others.append(_AvailableFunction(docs, None))
    return called + others


def _find_call_state(*, is_golden: bool, is_predicted: bool) -> _CallState | None:
    """Return which answers call a function. None if neither does."""
    if is_golden and is_predicted:
        return CALLED_ON_BOTH_SIDES
    if is_golden:
        return CALLED_IN_GOLDEN
    if is_predicted:
        return CALLED_IN_PREDICTION
    return None


def _available_functions_heading(
    indexed: IndexedItem,
    functions: Sequence[_AvailableFunction],
    options: DisplayOptions,
    *,
    folded: bool,
) -> Block:
    """Return the heading of the available functions. Below, a warning names each predicted function
    that is not available.
    """
    unavailable_names = _find_unavailable_names(indexed)
    available_names = _function_names(indexed.item.functions)

    def render_lines(cells: int) -> list[Line]:
        lines = [_available_functions_line(functions, options, cells, folded=folded)]
        for name in unavailable_names:
            lines.append(_unavailable_function_line(name, available_names, cells))
        return lines

    return Block(
        FUNCTIONS_KEY,
        render_lines,
        is_heading=True,
        foldable=options.frames,
        folded=folded,
        title="available functions",
        copied_value=lambda: indexed.item.functions,
    )


def _available_functions_line(
    functions: Sequence[_AvailableFunction], options: DisplayOptions, cells: int, *, folded: bool
) -> Line:
    """Return the number of functions, and in a folded section the first names."""
    line = LineBuilder()
    if options.frames:
        line.add_line(fold_symbol(folded))
    line.add(format_count(len(functions), "available function"), "strong")
    if not folded:
        line.add(" · name(required, [optional])", "dim")
        return rule_line(line.build(), cells)
    line.add("  ")
    first_names = ", ".join(sanitize(each.name) for each in functions[:MAX_LISTED_FUNCTIONS])
    line.add(first_names, "dim")
    return fit_line(line.build(), cells)


def _find_unavailable_names(indexed: IndexedItem) -> list[str]:
    """Return the names of predicted functions that are not available, each once."""
    available_names = {
        _dots_to_underscores(name) for name in _function_names(indexed.item.functions)
    }
    names = []
    for call in indexed.item.predicted:
        is_available = _dots_to_underscores(call.name) in available_names
        if call.name and not is_available and call.name not in names:
            names.append(call.name)
    return names


def _unavailable_function_line(name: str, available_names: Sequence[str], cells: int) -> Line:
    """Return a warning that the model called a function that it was not offered, with a similar
    name.
    """
    hint = _closest_name_hint(name, available_names)
    line: Line = (
        ("! ", STATE_STYLES["!"]),
        (sanitize(name), "predicted"),
        (f"  predicted but not available{hint}", "dim"),
    )
    return fit_line(line, cells)


MIN_SIGNATURE_CELLS = 20


def _signature_block(key: str, function: _AvailableFunction) -> Block:
    """Return the line with the signature of a function. Copying it copies the whole docs."""

    def render_lines(cells: int) -> list[Line]:
        return [_signature_line(function, cells)]

    return Block(
        key,
        render_lines,
        title=f"docs of {sanitize(function.name)}",
        copied_value=lambda: function.docs,
    )


def _signature_line(function: _AvailableFunction, cells: int) -> Line:
    """Return `= get_weather(city, [days]) golden, predicted`.

    The symbol and the words at the end say who calls the function. They are missing if nobody does.
    The parameters are cut if the line is too long, the words are not.
    """
    signature = LineBuilder()
    callers = ""
    if function.call_state is None:
        signature.add("  ")
        signature.add(sanitize(function.name))
    else:
        state = function.call_state.state
        signature.add(f"{symbols().state_symbol(state)} ", STATE_STYLES[state])
        signature.add(sanitize(function.name), function.call_state.style)
        callers = f"  {function.call_state.callers}"
    signature.add(f"({_format_parameter_names(function.docs)})", "dim")

    signature_cells = max(cells - len(callers), MIN_SIGNATURE_CELLS)
    return (*fit_line(signature.build(), signature_cells), (callers, "dim"))


def _format_parameter_names(function: dict[str, Any]) -> str:
    """Return `city, [days, unit]`, with the optional parameters in brackets. Sanitized."""
    required, optional = required_and_optional_parameters(function)
    parts = []
    if required:
        parts.append(", ".join(required))
    if optional:
        parts.append(f"[{', '.join(optional)}]")
    return sanitize(", ".join(parts))


def _other_functions_block(names: Sequence[str], options: DisplayOptions, *, folded: bool) -> Block:
    """Return the line that stands for the functions that nobody calls. Unfolded, it says how to
    fold them.
    """

    def render_lines(cells: int) -> list[Line]:
        if folded:
            return _function_names_lines(names, cells)
        if options.print_hint:
            return []
        return [make_line(f"  … {options.open_key} to fold", "dim")]

    return Block(
        OTHER_FUNCTIONS_KEY, render_lines, foldable=True, folded=folded, title="available functions"
    )


def _function_names_lines(names: Sequence[str], cells: int) -> list[Line]:
    """Render `12 more functions: name, name, …` in at most `NAME_ROWS` rows."""
    joined_names = ", ".join(sanitize(name) for name in names)
    text = f"{len(names)} more functions: {joined_names}"
    # Without the indentation.
    text_cells = cells - 2
    # One row more than is shown tells whether the names are cut.
    rows = wrap_sanitized(text, text_cells, NAME_ROWS + 1)
    if len(rows) > NAME_ROWS:
        ending = " …"
        last_row = rows[NAME_ROWS - 1][: text_cells - len(ending)].rstrip()
        rows = [*rows[: NAME_ROWS - 1], last_row + ending]
    return [(("  ", ""), (row, "dim")) for row in rows]


MAX_NAME_CELLS = 30
MAX_TYPE_CELLS = 18
SUMMARY_ROWS = 3


def docs_panel_lines(
    functions: Sequence[dict[str, Any]], relevant: RelevantFunctions, cells: int, free_rows: int
) -> list[Line]:
    """Return a panel with the docs of each function at the cursor.

    The golden and the predicted call may have different functions. A panel that does not fit into
    the free rows is left out.
    """
    lines: list[Line] = []
    for name in relevant.names:
        function = find_function(functions, name)
        if function is None:
            continue
        n_free = free_rows - len(lines)
        panel = _function_panel_lines(function, relevant.argument, cells, free_rows=n_free)
        if len(panel) <= n_free:
            lines += panel
    return lines


def _function_panel_lines(
    function: dict[str, Any], argument: str | None, cells: int, *, free_rows: int
) -> list[Line]:
    """Return a panel with the description of a function and its parameters.

    The panel must fit into `free_rows`. If it does not, each parameter is shortened to one line,
    then the description is left out. Empty if the parameters do not fit even so.
    """
    properties = read_declared_parameters(function).properties
    max_lines = free_rows - BORDER_ROWS
    if properties is None or len(properties) > min(max_lines, MAX_PARAMETERS):
        return []

    inner_cells = cells - FRAME_CELLS
    title = _panel_title(function)
    description = _panel_description_lines(function, inner_cells)
    if not properties:
        return box_lines(title, description or [make_line("no parameters", "dim")], cells)

    all_lines = list(description)
    first_lines = []
    for lines in _panel_parameters(function, properties, argument, inner_cells):
        all_lines += lines
        first_lines.append(_first_parameter_line(lines, inner_cells))

    if len(all_lines) <= max_lines:
        return box_lines(title, all_lines, cells)
    if len(description) + len(first_lines) <= max_lines:
        return box_lines(title, description + first_lines, cells)
    return box_lines(title, first_lines, cells)


def _panel_parameters(
    function: dict[str, Any], properties: Mapping[Any, Any], argument: str | None, cells: int
) -> list[list[Line]]:
    """Return the lines of each parameter, in columns. The parameter `argument` is marked."""
    # The columns are as wide as the widest name and type.
    columns = _PanelColumns.fit_to_parameters(properties)
    required, _ = required_and_optional_parameters(function)
    parameters = []
    for key, schema in properties.items():
        name = str(key)
        lines = _panel_parameter_lines(
            name,
            schema,
            columns,
            cells,
            is_required=name in required,
            is_marked=name == argument,
        )
        parameters.append(lines)
    return parameters


BORDER_ROWS = 2


def _panel_title(function: dict[str, Any]) -> str:
    """Return the signature of a function: `get_weather(city, days?)`."""
    name = sanitize(str(function.get("name")))
    required, optional = required_and_optional_parameters(function)
    parameters = required + [f"{parameter}?" for parameter in optional]
    return f"{name}({sanitize(', '.join(parameters))})"


def _panel_description_lines(function: dict[str, Any], cells: int) -> list[Line]:
    description = str(function.get("description") or "")
    rows = sanitize_and_wrap(description, cells, SUMMARY_ROWS)
    return [make_line(row, "dim") for row in rows if row]


@dataclass(frozen=True, slots=True)
class _PanelColumns:
    """Widths, in cells, of the columns of a panel. The description takes the rest."""

    name: int
    type: int

    @classmethod
    def fit_to_parameters(cls, properties: Mapping[Any, Any]) -> _PanelColumns:
        """Choose the widths of the columns by the longest name and the longest type."""
        longest_name = max(display_width(sanitize(str(name))) for name in properties)
        longest_type = max(
            display_width(sanitize(type_name(schema))) for schema in properties.values()
        )
        return cls(name=min(longest_name, MAX_NAME_CELLS), type=min(longest_type, MAX_TYPE_CELLS))

    @property
    def before_description(self) -> int:
        """Width of the mark, the name, the type and the word `required` with their blanks."""
        return 2 + self.name + 2 + self.type + len(REQUIRED_TEXT)


REQUIRED_TEXT = "  required  "
OPTIONAL_TEXT = "  optional  "
MIN_PANEL_TEXT_CELLS = 10


def _panel_parameter_lines(
    name: str,
    schema: Any,
    columns: _PanelColumns,
    cells: int,
    *,
    is_required: bool,
    is_marked: bool,
) -> list[Line]:
    """Return the lines of a parameter: mark, name, type, whether it is required, description.

    The rows of the description form a column. Only the first one has the other columns before it.
    """
    type_text = sanitize(type_name(schema))
    head = LineBuilder()
    head.add(f"{symbols().path} " if is_marked else "  ", "primary")
    shown_name = truncate_middle(sanitize(name), columns.name)
    head.add_padded(shown_name, columns.name, "strong" if is_marked else "")
    head.add("  ")
    head.add_padded(truncate_middle(type_text, columns.type), columns.type, "dim")
    head.add(REQUIRED_TEXT if is_required else OPTIONAL_TEXT, "dim")

    lines: list[Line] = []
    start = head.build()
    for row in _panel_description_rows(schema, cells - columns.before_description):
        lines.append((*start, (row, "dim")))
        # The next rows continue the description below its beginning.
        start = make_line(" " * columns.before_description)
    return lines


def _panel_description_rows(schema: Any, cells: int) -> list[str]:
    """Return the first rows of the description of a parameter, at least one, which may be empty."""
    description = "  ".join(describe_parameter(schema))
    rows = sanitize_and_wrap(description, max(cells, MIN_PANEL_TEXT_CELLS), SUMMARY_ROWS)
    return [row.rstrip() for row in rows]


def _first_parameter_line(lines: Sequence[Line], cells: int) -> Line:
    """Return the first line of a parameter, with an ellipsis if more lines follow."""
    if len(lines) == 1:
        return lines[0]
    return fit_line((*lines[0], (f" {symbols().ellipsis}", "dim")), cells)

"""What BFCL takes for equal, and how texts and values are put into the checker's messages.

Equivalence rules in the checker: what they accept that the benchmark's own comparison does not.

A case compiled for checking: once a case, used for every run that has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.corrections.equivalence import Rule, may_be_left_out, same
from fcreview.importers.bfcl.checker import java, javascript
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.matching.diff import Rules
from fcreview.model.function_schema import declared_parameters, read_function_schema
from fcreview.model.json_value import brief

_remove_ignored = re.compile(r"[ ,./\-_*^]").sub

TYPE_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}


def normalise_string(text: str) -> str:
    """`Hangzhou, China` -> `hangzhouchina`: without a few characters, without case, with one kind of quote.

    Tabs, newlines, `:`, `$` and accents stay.
    """
    return _remove_ignored("", text).lower().replace("'", '"')


def normalise_value(value: Any) -> Any:
    """A text normalised, anything else as it is (texts inside lists too)."""
    return normalise_string(value) if type(value) is str else value


def normalise_list(values: Any) -> list[Any]:
    """A list with the texts directly in it normalised."""
    return [_remove_ignored("", value).lower().replace("'", '"') if type(value) is str else value for value in values]


def _is_same_name(golden: str, predicted: str) -> bool:
    """Native function calling cannot have dots in names, so `math.factorial` was offered as `math_factorial`."""
    return golden == predicted or golden.replace(".", "_") == predicted


COMPARISON_RULES = Rules(normalise=normalise_string, int_is_float=True, tuple_is_list=True, same_name=_is_same_name)
"""The same for the comparison engine."""


def shorten(value: Any) -> str:
    """One short piece of JSON-like text."""
    return brief(value, 80)


def list_accepted(accepted: Any) -> str:
    """The acceptable values, the mark for "may be left out" aside."""
    values = accepted if isinstance(accepted, list) else [accepted]
    texts = [shorten(value) for value in values if value != ""]
    if len(texts) > 5:
        texts[5:] = [f"{len(texts) - 5} more"]
    return ", ".join(texts) or '""'


def type_name(kind: type) -> str:
    return TYPE_NAMES.get(kind, "null" if kind is type(None) else f"a {kind.__name__}")


def is_accepted_by_rule(parameter: ExpectedArgument, value: Any) -> bool:
    """Whether a rule, and not equality alone, makes the value one of the acceptable ones."""
    if parameter.convert is not None and type(value) is str:
        value = parameter.convert(value)
    rules = parameter.equivalence_rules
    return any(same(rules, one, value) and not same((), one, value) for one in parameter.accepted if one != "")


def covering_rules(rules: Sequence[Rule], function: str, argument: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.covers(function, argument))


def omittable_parameters(
    rules: Sequence[Rule], document: Mapping[str, Any], accepted: Mapping[str, Any]
) -> frozenset[str]:
    """The parameters that rules allow to be left out of a call."""
    if not any(rule.kind == "default-omittable" for rule in rules):
        return frozenset()
    known, function = read_function_schema(document).parameters, str(document.get("name"))
    return frozenset(
        name
        for name, values in accepted.items()
        if name in known
        and isinstance(values, list)
        and may_be_left_out(covering_rules(rules, function, name), known[name], values)
    )


PYTHON_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


class UncheckableItem(ValueError):
    """The dataset's answer or function document does not have the form the rules need."""


@dataclass(slots=True)
class ExpectedArgument:
    """What one argument must be: declared type and acceptable values."""

    declared_type: str
    """The declared type's name, for messages."""
    expected_type: type
    element_type: type | None
    """Declared element type, where elements are checked."""
    accepted: list[Any]
    """As in the answer, `""` included."""
    golden_type: type | None
    """Type of the first acceptable value that is not `""`; None if there is none."""
    is_variable: bool
    """The answer's type is not the declared one: the golden value names a variable."""
    passes_if_equal: bool
    """A value of the expected type that is in `accepted` passes without more ado."""
    convert: Callable[[str], Any] | None
    """From Java or JavaScript source text; None for Python."""
    language: str
    to_float: bool
    to_list: bool
    equivalence_rules: tuple[Rule, ...] = ()
    """Equivalence rules of errata."""
    _normalised_strings: frozenset[str] | None = None
    _normalised_lists: list[list[Any]] | None = None

    @property
    def normalised_strings(self) -> frozenset[str]:
        """Acceptable texts, normalised. Made when first asked for: most values are equal as they are."""
        if self._normalised_strings is None:
            self._normalised_strings = frozenset(
                normalise_string(value) for value in self.accepted if type(value) is str
            )
        return self._normalised_strings

    @property
    def normalised_lists(self) -> list[list[Any]]:
        """Acceptable lists with their texts normalised; `""` is the empty list."""
        if self._normalised_lists is None:
            self._normalised_lists = [
                normalise_list(value) for value in self.accepted if isinstance(value, (list, str))
            ]
        return self._normalised_lists


@dataclass(slots=True)
class ExpectedCall:
    """One expected call."""

    name: str
    flat_name: str
    """With `_` for `.`: what native function calling may have been offered."""
    required: tuple[str, ...]
    parameters: dict[str, ExpectedArgument]
    """Those that are in both the document and the answer; any other is unexpected."""
    not_omittable: tuple[str, ...]
    """In the answer and not optional there."""
    undeclared: tuple[str, ...] = ()
    """In the answer and not in the document."""
    has_function_doc: bool = True
    """Whether there is a function document; without one V1 fails every answer."""


def language_of_category(category: str) -> str:
    """ "python", "java" or "javascript"."""
    if "javascript" in category:
        return "javascript"
    return "java" if "java" in category else "python"


def compile_expected_calls(case: DatasetItem, category: str, v1: bool) -> list[ExpectedCall]:
    """The expected calls of a case. Raises Unusable."""
    key = f"golden:{category}:{v1}"
    prepared: list[ExpectedCall] | UncheckableItem | None = case.expected_calls_cache.get(key)
    if prepared is None:
        try:
            prepared = _compile_expected_calls(case, category, v1)
        except UncheckableItem as error:
            prepared = error
        except (AttributeError, TypeError, KeyError, IndexError, ValueError) as error:
            prepared = UncheckableItem(f"golden answer or function document of an unknown form ({error})")
        case.expected_calls_cache[key] = prepared
    if isinstance(prepared, UncheckableItem):
        raise prepared
    return prepared


def split_ground_truth(answer: Any) -> list[tuple[str, dict[str, list[Any]]]]:
    """`ground_truth` of any generation as (name, parameters) pairs; V1's `_N` suffixes still there. Raises Unusable."""
    if isinstance(answer, dict):
        return list(answer.items())
    if isinstance(answer, list) and all(isinstance(call, dict) and call for call in answer):
        return [next(iter(call.items())) for call in answer]
    raise UncheckableItem("golden answer of an unknown form")


def _compile_expected_calls(case: DatasetItem, category: str, v1: bool) -> list[ExpectedCall]:
    expected = split_ground_truth(case.ground_truth)
    if not expected or not case.functions:
        raise UncheckableItem("no golden call or no function document")
    language = language_of_category(category)
    several = "parallel" in category or "multiple" in category
    prepared = []
    for name, parameters in expected if several else expected[:1]:
        if not several or (v1 and "multiple" not in category):
            document: dict[str, Any] | None = case.functions[0]
        else:
            document = find_function_doc(case.functions, name, v1)
        if document is None and not v1:
            raise UncheckableItem(f"no function document for {name}")
        prepared.append(
            _compile_call(document, parameters, language, case.equivalence_rules)
            if document
            else _call_without_doc(name)
        )
    return prepared


def find_function_doc(functions: list[dict[str, Any]], name: str, v1: bool) -> dict[str, Any] | None:
    """The document of a golden call; in V1 the first whose name is contained in the (suffixed) golden name."""
    for document in functions:
        if document["name"] == name or (v1 and document["name"] in name):
            return document
    return None


def _call_without_doc(name: str) -> ExpectedCall:
    return ExpectedCall(name, name, (), {}, (), has_function_doc=False)


def _compile_call(
    document: dict[str, Any], accepted: dict[str, list[Any]], language: str, rules: Sequence[Rule]
) -> ExpectedCall:
    free = omittable_parameters(rules, document, accepted)
    declared = declared_parameters(document, strict=True)
    properties = declared.properties or {}
    return ExpectedCall(
        name=document["name"],
        flat_name=document["name"].replace(".", "_"),
        required=tuple(name for name in declared.required or () if name not in free),
        parameters={
            name: _compile_argument(properties[name], values, language, covering_rules(rules, document["name"], name))
            for name, values in accepted.items()
            if name in properties
        },
        not_omittable=tuple(name for name, values in accepted.items() if "" not in values and name not in free),
        undeclared=tuple(name for name in accepted if name not in properties),
    )


def _compile_argument(
    schema: dict[str, Any], accepted: list[Any], language: str, lenient: tuple[Rule, ...]
) -> ExpectedArgument:
    kind = schema["type"]
    types = PYTHON_TYPES
    nesting: tuple[str, ...] = ("array", "tuple")
    convert: Callable[..., Any] | None = None
    if language == "java":
        types, nesting, convert = java.PYTHON_TYPES, java.TYPES_WITH_ELEMENTS, java.convert
    elif language == "javascript":
        types, nesting, convert = javascript.PYTHON_TYPES, javascript.TYPES_WITH_ELEMENTS, javascript.convert
    if kind not in types:
        raise UncheckableItem(f"parameter type {kind} is unknown to the rules")
    expected = types[kind]
    nested_kind = schema.get("items", {}).get("type") if kind in nesting else None
    nested = types.get(nested_kind) if nested_kind is not None else None
    golden_type = None
    for value in accepted:
        if value != "":
            golden_type = type(value)
            break
    variable = golden_type is not None and golden_type is not expected
    return ExpectedArgument(
        declared_type=kind,
        expected_type=expected,
        element_type=nested,
        accepted=accepted,
        golden_type=golden_type,
        is_variable=variable,
        passes_if_equal=convert is None and nested is None and expected is not dict,
        convert=None if convert is None else lambda text: convert(text, kind, nested_kind),
        language=language,
        to_float=language == "python" and kind == "float",
        to_list=kind == "tuple",
        equivalence_rules=lenient,
    )

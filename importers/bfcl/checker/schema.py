"""Compile golden answers for the checker, and normalise strings as BFCL does.

An item's golden answer and function docs are compiled to `ExpectedCall`s once, for all runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from fcreview.equivalence import EquivalenceRule, can_be_omitted, is_equivalent
from fcreview.importers.bfcl.checker.rules import CategoryRules, Language
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.java_javascript import (
    JAVA_TYPES,
    JAVASCRIPT_TYPES,
    convert_java,
    convert_javascript,
)
from fcreview.matching.diff import ComparisonRules
from fcreview.model.function_schema import read_declared_parameters, read_function_schema
from fcreview.model.json_value import abbreviate

_remove_ignored = re.compile(r"[ ,./\-_*^]").sub

TYPE_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def normalise_string(text: str) -> str:
    """Normalise a string as BFCL does: remove spaces and `,./-_*^`, convert to lower case, and
    replace `'` by `"`.
    """
    return _remove_ignored("", text).lower().replace("'", '"')


def normalise_value(value: Any) -> Any:
    return normalise_string(value) if type(value) is str else value


def normalise_list(values: Any) -> list[Any]:
    return [normalise_value(value) for value in values]


COMPARISON_RULES = ComparisonRules(
    normalise=normalise_string,
    int_is_float=True,
    tuple_is_list=True,
    is_same_name=lambda golden, predicted: predicted in (golden, golden.replace(".", "_")),
)
"""Rules of the call diff, which compares values as BFCL does. Names may have `_` for `.`, because
most native APIs forbid dots.
"""


def shorten(value: Any) -> str:
    return abbreviate(value, 80)


MAX_DESCRIBED_VALUES = 5


def describe_accepted_values(accepted: Any) -> str:
    """List the first five accepted values for a message.

    `""`, which marks an optional argument, is omitted.
    """
    values = accepted if isinstance(accepted, list) else [accepted]
    texts = [shorten(value) for value in values if value != ""]
    if not texts:
        return '""'
    listed = ", ".join(texts[:MAX_DESCRIBED_VALUES])
    n_more = len(texts) - MAX_DESCRIBED_VALUES
    return f"{listed}, {n_more} more" if n_more > 0 else listed


def describe_type(python_type: type) -> str:
    return TYPE_NAMES.get(python_type, f"a {python_type.__name__}")


def is_accepted_by_equivalence(parameter: ExpectedArgument, value: Any) -> bool:
    """Whether a value passes only because of an equivalence rule."""
    compared_value = value
    if parameter.convert is not None and type(value) is str:
        compared_value = parameter.convert(value)
    for golden in parameter.accepted:
        if golden == "" or is_equivalent((), golden, compared_value):
            continue
        if is_equivalent(parameter.equivalence_rules, golden, compared_value):
            return True
    return False


def find_omittable_parameters(
    rules: Mapping[str, tuple[EquivalenceRule, ...]],
    function_doc: Mapping[str, Any],
    accepted: Mapping[str, Any],
) -> frozenset[str]:
    """Return the golden parameters that a call may omit by the user's equivalence rules.

    A rule of the kind "default-omittable" says that a call may omit a parameter whose golden value
    is the default in the function doc.

    Args:
        rules: Parameter -> rules that apply to it.
        function_doc: The documentation of the function.
        accepted: Parameter -> accepted values of the golden call.
    """
    all_rules = chain.from_iterable(rules.values())
    if not any(rule.kind == "default-omittable" for rule in all_rules):
        return frozenset()

    parameters = read_function_schema(function_doc).parameters
    omittable = set()
    for name, values in accepted.items():
        if name not in parameters or not isinstance(values, list):
            continue
        if can_be_omitted(rules[name], parameters[name], values):
            omittable.add(name)
    return frozenset(omittable)


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
"""Declared type -> type of the Python value, for Python categories."""


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """How the arguments of calls in one programming language are checked."""

    types: Mapping[str, type]
    """Declared type -> type of the Python value."""
    types_with_elements: tuple[str, ...]
    """Declared types whose elements are checked, too."""
    convert: Callable[..., Any] | None
    """Converter of source text, given text, declared type and declared element type."""


LANGUAGE_RULES: dict[Language, LanguageRules] = {
    "python": LanguageRules(PYTHON_TYPES, ("array", "tuple"), convert=None),
    "java": LanguageRules(JAVA_TYPES, ("Array", "ArrayList"), convert=convert_java),
    "javascript": LanguageRules(JAVASCRIPT_TYPES, ("array",), convert=convert_javascript),
}


UNKNOWN_FORM = "the golden answer or the function doc has an unexpected format"
UNKNOWN_GOLDEN_FORM = "the golden answer has an unexpected format"
UNKNOWN_FORM_ERRORS = (AttributeError, TypeError, KeyError, IndexError, ValueError)
"""Errors of compiling a golden answer or a function doc of unknown form."""


class UncheckableItem(ValueError):
    """Raised if the rules cannot be applied to a golden answer or a function doc because of its
    form.
    """


@dataclass
class ExpectedArgument:
    """Declared type and accepted values of one golden argument."""

    declared_type: str
    expected_type: type
    element_type: type | None
    """Python type of the declared element type; None if elements are not checked."""
    accepted: list[Any]
    """Accepted values as in the golden answer, `""` included."""
    golden_type: type | None
    """Type of the first accepted value that is not `""`; None if there is none."""
    is_variable: bool
    """Whether the golden value is treated as the name of a variable, because its type is not the
    declared type.
    """
    passes_if_equal: bool
    """Whether a value of the expected type that is in `accepted` passes without further checks."""
    convert: Callable[[str], Any] | None
    language: Language
    to_float: bool
    to_list: bool
    is_v1: bool = False
    """Whether the rules of V1 apply."""
    equivalence_rules: tuple[EquivalenceRule, ...] = ()

    @cached_property
    def normalised_accepted_strings(self) -> frozenset[str]:
        """Accepted strings, normalised.

        Computed on first use, because most values pass without normalisation.
        """
        return frozenset(normalise_string(value) for value in self.accepted if type(value) is str)

    @cached_property
    def normalised_accepted_lists(self) -> list[list[Any]]:
        """Accepted lists with their strings normalised. `""` counts as the empty list."""
        return [normalise_list(value) for value in self.accepted if isinstance(value, (list, str))]


@dataclass(slots=True)
class ExpectedCall:
    """One golden call with the types and required parameters that its function doc declares."""

    name: str
    flat_name: str
    """Name with `_` for `.`, as most native APIs show it to the model."""
    required: tuple[str, ...]
    """Parameters that the function requires and no equivalence rule makes optional."""
    parameters: dict[str, ExpectedArgument]
    """Parameters in both the function doc and the golden answer.

    Any other argument is unexpected.
    """
    not_omittable: tuple[str, ...]
    """Golden parameters that a call must have: neither `""` in the golden answer nor an equivalence
    rule makes them optional.
    """
    undeclared: tuple[str, ...] = ()
    """Parameters in the golden answer that the function doc does not declare."""
    has_function_doc: bool = True
    """Whether the function has a doc. Without one, no call can match."""
    problem: str | None = None
    """Why no call can be checked against this golden call, if its own form or that of its
    function doc is unknown.
    """

    @property
    def is_checkable(self) -> bool:
        return self.has_function_doc and self.problem is None


def compile_expected_calls(item: DatasetItem, rules: CategoryRules) -> list[ExpectedCall]:
    """Return the golden calls of an item in the form that the checker needs.

    The result is kept in the item's cache, because many runs have the same item. Raises
    UncheckableItem if the golden answer or the function docs have an unknown form.
    """
    key = f"golden:{rules.category}:{rules.is_v1}"
    compiled: list[ExpectedCall] | UncheckableItem | None = item.expected_calls_cache.get(key)
    if compiled is None:
        try:
            compiled = _compile_golden_answer(item, rules)
        except UncheckableItem as error:
            compiled = error
        except UNKNOWN_FORM_ERRORS as error:
            compiled = UncheckableItem(f"{UNKNOWN_FORM} ({error})")
        item.expected_calls_cache[key] = compiled

    # The cache also remembers that an item cannot be checked.
    if isinstance(compiled, UncheckableItem):
        raise compiled
    return compiled


def _compile_golden_answer(item: DatasetItem, rules: CategoryRules) -> list[ExpectedCall]:
    """Convert the golden answer of an item to the calls that the checker expects. Raises
    UncheckableItem without one.
    """
    golden = _parse_ground_truth(item.ground_truth)
    if not golden:
        raise UncheckableItem("the item has no golden call")
    if not rules.has_several_golden_calls:
        golden = golden[:1]
    return [_compile_golden_call(name, accepted, item, rules) for name, accepted in golden]


def _parse_ground_truth(ground_truth: Any) -> list[tuple[str, dict[str, list[Any]]]]:
    """Return `ground_truth` of any BFCL version as (name, parameters) pairs.

    Names of V1 keep their suffix `_N`.
    """
    if isinstance(ground_truth, dict):
        return list(ground_truth.items())
    if not isinstance(ground_truth, list):
        raise UncheckableItem(UNKNOWN_GOLDEN_FORM)
    if not all(isinstance(call, dict) and call for call in ground_truth):
        raise UncheckableItem(UNKNOWN_GOLDEN_FORM)
    return [next(iter(call.items())) for call in ground_truth]


def _compile_golden_call(
    name: str, accepted: dict[str, list[Any]], item: DatasetItem, rules: CategoryRules
) -> ExpectedCall:
    """Compile one golden call.

    BFCL compares the number of calls first, so a golden call of unknown form matters only if it is
    reached. It gets a problem instead of an exception.
    """
    function_doc = _find_function_doc(item, name, rules)
    if function_doc is None:
        return _make_uncheckable_call(name, has_function_doc=False)
    try:
        return _compile_call_with_doc(function_doc, accepted, item.equivalence_rules, rules)
    except UncheckableItem as error:
        return _make_uncheckable_call(name, problem=str(error))
    except UNKNOWN_FORM_ERRORS as error:
        return _make_uncheckable_call(name, problem=f"{UNKNOWN_FORM} ({error})")


def _make_uncheckable_call(
    name: str, *, has_function_doc: bool = True, problem: str | None = None
) -> ExpectedCall:
    """Return the form of a golden call whose arguments cannot be checked."""
    return ExpectedCall(
        name,
        flat_name=name,
        required=(),
        parameters={},
        not_omittable=(),
        has_function_doc=has_function_doc,
        problem=problem,
    )


def _find_function_doc(item: DatasetItem, name: str, rules: CategoryRules) -> dict[str, Any] | None:
    """Return the documentation of the function that a golden call names. In categories with one
    function, it is the only documentation, whatever the name is.
    """
    if not rules.has_several_functions:
        return item.functions[0] if item.functions else None
    for doc in item.functions:
        if doc["name"] == name:
            return doc
        # In V1, the name in the function doc only has to be part of the golden name.
        if rules.is_v1 and doc["name"] in name:
            return doc
    return None


def _compile_call_with_doc(
    function_doc: dict[str, Any],
    accepted: dict[str, list[Any]],
    equivalence_rules: Sequence[EquivalenceRule],
    rules: CategoryRules,
) -> ExpectedCall:
    """Combine a golden call with the documentation of its function.

    Args:
        function_doc: The documentation, with types and required parameters.
        accepted: Parameter -> accepted values of the golden call, such as
            `{"unit": ["celsius", ""]}`. An empty text means that a call may omit the parameter.
        equivalence_rules: The user's rules, which accept more values or omissions.
        rules: The rules of the category.
    """
    declared = read_declared_parameters(function_doc, strict=True)
    properties = declared.properties or {}
    function = function_doc["name"]
    rules_by_parameter = _select_rules_by_parameter(equivalence_rules, function, accepted)
    # The user's rules allow omitting these, whatever the function doc and the golden answer say.
    omittable = find_omittable_parameters(rules_by_parameter, function_doc, accepted)

    # The rules of `simple_function_checker` in `ast_checker.py`: a call needs each parameter that
    # the function doc requires (even one that the golden answer does not have) ...
    required = [name for name in declared.required or () if name not in omittable]
    # ... it needs each golden parameter without "" among its accepted values ...
    not_omittable = [
        name for name, values in accepted.items() if "" not in values and name not in omittable
    ]
    # ... and it may have only the parameters that are in both.
    parameters = {
        name: _compile_expected_argument(properties[name], values, rules_by_parameter[name], rules)
        for name, values in accepted.items()
        if name in properties
    }
    return ExpectedCall(
        name=function,
        flat_name=function.replace(".", "_"),
        required=tuple(required),
        parameters=parameters,
        not_omittable=tuple(not_omittable),
        undeclared=tuple(name for name in accepted if name not in properties),
    )


def _select_rules_by_parameter(
    rules: Sequence[EquivalenceRule], function: str, parameters: Iterable[str]
) -> dict[str, tuple[EquivalenceRule, ...]]:
    """Return parameter of a function -> the user's rules that apply to it."""
    return {
        name: tuple(rule for rule in rules if rule.applies_to(function, name))
        for name in parameters
    }


def _compile_expected_argument(
    schema: dict[str, Any],
    accepted: list[Any],
    equivalence_rules: tuple[EquivalenceRule, ...],
    rules: CategoryRules,
) -> ExpectedArgument:
    """Combine the declaration of a parameter with its accepted values.

    Args:
        schema: The declaration in the function doc, such as `{"type": "array", "items": {...}}`.
        accepted: The accepted values of the golden call.
        equivalence_rules: The user's rules for the parameter.
        rules: The rules of the category.
    """
    language = LANGUAGE_RULES[rules.language]
    declared_type = schema["type"]
    if declared_type not in language.types:
        raise UncheckableItem(f"the checker does not know the parameter type {declared_type}")
    expected_type = language.types[declared_type]
    declared_element_type = _find_declared_element_type(schema, language)
    element_type = None
    if declared_element_type is not None:
        element_type = language.types.get(declared_element_type)

    golden_type = _find_golden_type(accepted)
    # A value that is converted, or checked element by element, is not compared as it is.
    is_compared_as_it_is = (
        language.convert is None and element_type is None and expected_type is not dict
    )
    return ExpectedArgument(
        declared_type=declared_type,
        expected_type=expected_type,
        element_type=element_type,
        accepted=accepted,
        golden_type=golden_type,
        # If the golden value has another type than declared, the checker takes it for the name of
        # a variable.
        is_variable=golden_type is not None and golden_type is not expected_type,
        passes_if_equal=is_compared_as_it_is,
        convert=_make_converter(language, declared_type, declared_element_type),
        language=rules.language,
        # `simple_function_checker` in `ast_checker.py` takes an integer for a declared float in
        # Python, and a tuple for a list if the declared type is tuple.
        to_float=rules.language == "python" and declared_type == "float",
        to_list=declared_type == "tuple",
        is_v1=rules.is_v1,
        equivalence_rules=equivalence_rules,
    )


def _find_declared_element_type(schema: dict[str, Any], language: LanguageRules) -> Any:
    """Return the declared type of the elements of an array. None for other types."""
    if schema["type"] not in language.types_with_elements:
        return None
    return schema.get("items", {}).get("type")


def _find_golden_type(accepted: list[Any]) -> type | None:
    """Return the type of the first accepted value that is no empty text, as in BFCL. None if there
    is none.
    """
    for value in accepted:
        if value != "":
            return type(value)
    return None


def _make_converter(
    language: LanguageRules, declared_type: str, declared_element_type: str | None
) -> Callable[[str], Any] | None:
    """Return the function that converts source text of an argument; None for Python."""
    convert = language.convert
    if convert is None:
        return None
    return lambda text: convert(text, declared_type, declared_element_type)

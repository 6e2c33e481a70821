"""The verdict of the benchmark's own rules on one record, recomputed without running anything.

How a category is scored. Tests are on parts of its name, and their order matters (`eval_runner.py`).

Predicted calls laid against golden ones, with what the function documents ask beyond the golden answer.

What a reply to a case comes to. Models repeat each other: what they say alike is decoded, judged and laid against
the golden calls once, whichever run it is of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import orjson

from fcreview.importers.bfcl.checker.schema import RULES, Golden, Unusable, language_of, prepare
from fcreview.importers.bfcl.checker.values import Failure, check_any_order, check_one
from fcreview.importers.bfcl.dataset import Case, text_of
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, How, Spelling, WrongFormat
from fcreview.importers.bfcl.decoders.registry import decode, decoder_of
from fcreview.importers.bfcl.trajectory import single_messages
from fcreview.importers.common.records import Undecodable
from fcreview.matching.align import align
from fcreview.model.item import ArgumentDiff, Call, Item, Message, Pair, Repeated
from fcreview.model.json_value import answer_hash, child, json_safe

Kind = Literal["simple", "multiple", "parallel", "irrelevance", "relevance", "unscored"]

NOTES = {
    "multi_turn": "multi-turn verdicts are imported, not recomputed: they need the benchmark's executable environments",
    "executable": "executable verdicts are imported, not recomputed: they need live functions and web services",
    "agentic": "agentic verdicts are imported, not recomputed",
    "unscored": "BFCL does not score this category",
}


@lru_cache(maxsize=1024)
def kind_of(category: str, v1: bool) -> tuple[Kind, str | None]:
    """The rule to apply, and a note where there is none."""
    if "multi_turn" in category:
        return "unscored", NOTES["multi_turn"]
    if "memory" in category or "web_search" in category:
        return "unscored", NOTES["agentic"]
    if category.startswith(("executable", "exec_", "rest")):
        return "unscored", NOTES["executable"]
    if category.startswith(("chatable", "sql")):
        return "unscored", NOTES["unscored"]
    if "irrelevance" in category or (v1 and "relevance" in category):
        return "irrelevance", None
    if "relevance" in category:
        return "relevance", None
    if "parallel" in category or (v1 and "multiple" in category):
        return "parallel", None
    return ("multiple" if "multiple" in category else "simple"), None


Shown = list[tuple[str, dict[str, Any] | None]]
SCALARS = frozenset({str, int, bool, type(None)})
REMEMBERED = 8
"""Different outputs to one case whose evaluation is kept."""
LARGE = 4096


@dataclass(slots=True)
class Evaluation:
    """What the rules say. `function` and `argument` are where the first failure lies."""

    calls: Shown | None
    """Decoded calls, arguments as JSON; None if the output is not calls."""
    decode_error: str | None = None
    valid: bool | None = None
    error_type: str | None = None
    messages: list[str] = field(default_factory=list)
    function: str | None = None
    argument: str | None = None
    note: str | None = None
    """Why there is no verdict."""
    predicted: list[Call] | None = None
    """For the caller, as `pairs`: what it made of this. Equal calls of other models are the same Evaluation."""
    pairs: list[Pair] = field(default_factory=list)


def evaluate(
    result: Any,
    case: Case,
    *,
    generation: str,
    category: str,
    config: str | None = None,
    model: str = "",
    decoder: Decoder | None = None,
) -> Evaluation:
    """Verdict and decoded calls of a record's `result`.

    `generation` is "V1" to "V4"; `config` the configuration part of a format-sensitivity id
    (`ret_fmt=json&...`); the replies are read by `decoder`, without one by that of the folder's name, `model`. Never
    raises for bad content.
    """
    if decoder is None:
        decoder, _ = decoder_of(model, generation)
    v1 = generation == "V1"
    if category == "format_sensitivity":
        category = case.category
    kind, note = kind_of(category, v1)
    language = language_of(category) if kind not in ("irrelevance", "relevance") else "python"
    try:
        calls = decode(result, decoder, How(generation, language), config)
    except (Undecodable, WrongFormat) as error:
        if not v1 or isinstance(error, Undecodable) or not error.calls:
            return _undecoded(error, kind, note, _no_golden(case, kind))
        calls = error.calls
    except (RecursionError, MemoryError) as error:
        return _undecoded(Undecodable(f"too deeply nested ({error})"), kind, note, _no_golden(case, kind))
    known, key = case.judged, _key(calls, decoder.names, category, v1)
    found = known.get(key) if key is not None else None
    if found is None:
        found = _judged(calls, decoder.names, case, category, v1)
        if key is not None and len(known) < REMEMBERED:
            known[key] = found
    return found


def _key(calls: Calls, spelling: Spelling, category: str, v1: bool) -> str | None:
    """The same for calls that are the same, types included: of 71 models, most say the same of an item. None for calls
    that are too large to be kept."""
    try:
        key = repr((calls, spelling, category, v1))
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deeply
        return None
    return key if len(key) <= LARGE else None


def _judged(calls: Calls, spelling: Spelling, case: Case, category: str, v1: bool) -> Evaluation:
    kind, note = kind_of(category, v1)
    found = Evaluation(_displayed(calls))
    if kind == "unscored":
        found.note = note
    elif kind == "irrelevance":
        _judge(found, _uncalled(calls, category) if calls else None)
    elif kind == "relevance":
        _judge(found, None if calls else Failure("relevance_error:decoder_failed", None, None, "no function is called"))
    elif note := _no_golden(case, kind):
        found.note = note
    else:
        try:
            golden = prepare(case, category, v1)
            if kind == "parallel":
                failure = check_any_order(golden, calls, spelling, v1)
            else:
                failure = check_one(golden, calls, spelling, v1, f"{kind}_function_checker")
            _judge(found, failure)
        except Unusable as error:
            found.note = str(error)
        except (RecursionError, TypeError, AttributeError, KeyError) as error:
            found.note = f"the rules cannot be applied to this call ({error})"
    return found


def decode_display(step: Any, *, decoder: Decoder, rules: str) -> Shown | None:
    """Calls of one step of a multi-turn or agentic record, or None if it is no call."""
    try:
        calls = decode(step, decoder, How(rules))
    except WrongFormat as error:
        return error.shown or None
    except (Undecodable, RecursionError, MemoryError):
        return None
    return _displayed(calls) or None


def _judge(found: Evaluation, failure: Failure | None) -> None:
    if failure is None:
        found.valid = True
        return
    found.valid = False
    found.error_type, found.function, found.argument, message = failure
    found.messages = [message]


def _uncalled(calls: Calls, category: str) -> Failure:
    kind = "irrelevance_error" if "irrelevance" in category else "relevance_error"
    name = calls[0][0]
    return Failure(f"{kind}:decoder_success", name, None, f"{name} is called though no function on offer fits")


def _no_golden(case: Case, kind: str) -> str | None:
    if kind in ("simple", "multiple", "parallel") and not case.answer:
        return "there is no golden answer to check against"
    return None


def _undecoded(error: Undecodable | WrongFormat, kind: str, note: str | None, no_golden: str | None) -> Evaluation:
    reason = str(error)
    shown = _displayed(error.shown) if isinstance(error, WrongFormat) and error.shown else None
    found = Evaluation(shown, reason)
    if kind == "unscored" or no_golden:
        found.note = note or no_golden
    elif kind == "irrelevance":
        found.valid = True
    elif kind == "relevance":
        _judge(found, Failure("relevance_error:decoder_failed", None, None, f"no function is called: {reason}"))
    else:
        failed = "decoder_failed" if isinstance(error, Undecodable) else "decoder_wrong_output_format"
        _judge(found, Failure(f"ast_decoder:{failed}", None, None, reason))
    return found


def _displayed(calls: Any) -> Any:
    """The calls, with arguments that are not plain JSON (NaN, bytes, keys that are no text) put into words."""
    for _, arguments in calls:
        if arguments is not None and not (type(arguments) is dict and _is_plain(arguments)):
            return [(name, json_safe(given) if type(given) is dict else None) for name, given in calls]
    return calls


def _is_plain(value: dict[Any, Any], depth: int = 0) -> bool:
    for key, one in value.items():
        kind = type(one)
        if type(key) is not str or not (kind in SCALARS or _is_plain_inside(one, kind, depth)):
            return False
    return True


def _is_plain_inside(value: Any, kind: type, depth: int) -> bool:
    if kind is float:
        return isfinite(value)
    if depth >= 50:
        return False
    if kind is list or kind is tuple:
        return all(type(one) in SCALARS or _is_plain_inside(one, type(one), depth + 1) for one in value)
    return kind is dict and _is_plain(value, depth + 1)


def paired(case: Case, predicted: list[Call], category: str, v1: bool, *, failed: bool) -> list[Pair]:
    """`failed`: by the rules, which look at the function's document before they look at the golden answer."""
    pairs = align(case.golden, predicted, RULES)
    if failed:
        try:
            described = prepare(case, case.category if category == "format_sensitivity" else category, v1)
        except Unusable:
            return pairs
        for pair in pairs:
            if pair.golden is not None and pair.predicted is not None and pair.golden < len(described):
                _describe(pair, described[pair.golden], predicted[pair.predicted])
    return pairs


def _describe(pair: Pair, golden: Golden, predicted: Call) -> None:
    """An argument may be left out by the golden answer and required by the function, or be golden and not among its
    parameters: the checker fails both (`ast_checker.py`, simple_function_checker)."""
    given = predicted.arguments
    if given is None or not golden.described:
        return
    listed = {place.path for place in pair.diff}
    missing = [name for name in golden.required if name not in given]
    strange = [name for name in given if name in golden.stray]
    found = [ArgumentDiff(child("", name), "-", "required by the function, though not by golden") for name in missing]
    found += [ArgumentDiff(child("", name), "!", "golden, but no parameter of the function") for name in strange]
    found = [place for place in found if place.path not in listed]
    if found:
        pair.diff, pair.state = [*pair.diff, *found], "!"


@dataclass(frozen=True, slots=True)
class Reading:
    """How replies are read and judged."""

    generation: str
    """Whose rules are applied, "V1" to "V4"."""
    category: str
    decoder: Decoder
    config: str | None = None
    """The configuration part of a format-sensitivity id."""


@dataclass(slots=True)
class Reply:
    """Shared by all items that are the same reply to the same case: never changed."""

    hash: str
    """Of the raw result."""
    found: Evaluation
    messages: list[Message]
    predicted: list[Call]
    pairs: list[Pair]
    kept: bool = False
    """Whether it will be seen again."""
    items: dict[tuple[str, str, bool | None], Item] = field(default_factory=dict)
    """For the caller: what it made of it, by id, score file and official verdict."""


def reply_to(case: Case, record: dict[str, Any], opening: list[Message], reading: Reading) -> Reply:
    """The reply in a result record, behind the messages that open the case's turns."""
    key = _replies_key(record, reading)
    reply = case.replies.get(key) if key is not None else None
    if reply is None:
        reply = _made(case, record, opening, reading)
        if key is not None and len(case.replies) < REMEMBERED:
            if reply.messages is not opening:
                reply.messages = Repeated(reply.messages)
            reply.kept = True
            case.replies[key] = reply
    return reply


def _replies_key(record: dict[str, Any], reading: Reading) -> tuple[str, bool, Any] | None:
    """The same for replies that are the same. None for what is not kept: the large, those with reasoning, which is
    never the same, and those of several configurations."""
    result = record["result"]
    if record.get("reasoning_content") or reading.config is not None:
        return None
    if type(result) is not str:
        try:
            result = bytes(memoryview(orjson.dumps(result)))  # as orjson has it, it holds on to kilobytes
        except TypeError:
            return None
        if b"null" in result:  # or NaN, which is written so
            return None
    if len(result) > LARGE:
        return None
    return reading.decoder.name, reading.decoder.as_text, result


def _made(case: Case, record: dict[str, Any], opening: list[Message], reading: Reading) -> Reply:
    result = record["result"]
    found = evaluate(
        result,
        case,
        generation=reading.generation,
        category=reading.category,
        config=reading.config,
        decoder=reading.decoder,
    )
    if found.predicted is None:
        found.predicted = Repeated(_predicted(found, result, case))
        if case.golden or found.predicted:
            failed, v1 = found.valid is False, reading.generation == "V1"
            found.pairs = Repeated(paired(case, found.predicted, reading.category, v1, failed=failed))
    return Reply(answer_hash(result), found, single_messages(record, opening), found.predicted, found.pairs)


def _predicted(found: Evaluation, result: Any, case: Case) -> list[Call]:
    if found.calls:
        return [
            Call("predicted", name, arguments, 0, 0, index, None, None if arguments is not None else found.decode_error)
            for index, (name, arguments) in enumerate(found.calls)
        ]
    if found.calls is None and _attempted(result, case):
        return [Call("predicted", "", None, 0, 0, 0, text_of(result), found.decode_error)]
    return []


def _attempted(result: Any, case: Case) -> bool:
    """Whether a text that could not be decoded names a function on offer, or a list was not prose."""
    if isinstance(result, str):
        return any(
            name in result or name.replace(".", "_") in result
            for name in (document.get("name") for document in case.functions)
            if isinstance(name, str) and name
        )
    return isinstance(result, (list, dict)) and bool(result) and not all(isinstance(part, str) for part in result)

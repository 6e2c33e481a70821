"""The verdict of the benchmark's own rules on one record, recomputed without running anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.check.call import Failure, check_any_order, check_one
from fcreview.importers.bfcl.check.kinds import kind_of
from fcreview.importers.bfcl.check.prepare import Unusable, language_of, prepare
from fcreview.importers.bfcl.decode.choose import decode
from fcreview.importers.bfcl.decode.decoder import Decoder, How, Spelling
from fcreview.importers.bfcl.decode.decoders import decoder_of
from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, WrongFormat
from fcreview.model import Call, Pair
from fcreview.values import json_safe

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

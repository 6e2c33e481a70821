"""Call records: binary verdict, soft score by argument, the parameter-hallucination judge, and the place in the
chain."""

from __future__ import annotations

from typing import Any

from fcreview.calls.align import align
from fcreview.calls.first_difference import blame, first_difference
from fcreview.calls.paths import child
from fcreview.importers.bfcl.check.texts import RULES
from fcreview.importers.confetti.binary import check, golden_call, make_case
from fcreview.importers.confetti.soft import DIGITS, STAYS, parameter_scores, soft_score
from fcreview.importers.confetti.sources import Sources
from fcreview.model import ArgumentDiff, Call, Item, Verdict
from fcreview.targets import argument_address, call_address
from fcreview.values import to_json_text


def fill(item: Item, result: Any, answer: dict[str, Any] | None, known: str, sources: Sources) -> None:
    turn = item.n_turns - 1
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    golden = answer.get("ground_truth") if answer else None
    outcome = check(result, make_case(known, item.functions, golden))
    raw = result if isinstance(result, str) else str(result)
    if outcome.calls is None:
        item.predicted = [Call("predicted", "", None, turn, step, 0, raw, outcome.decode_error)] if raw.strip() else []
    else:
        item.predicted = [
            Call("predicted", name, given, turn, step, at) for at, (name, given) in enumerate(outcome.calls)
        ]
    link = sources.links.get(known)
    if link:
        item.extra.more["chain"] = {"turn": link.turn, "position": link.index + 1, "length": link.length}
    if golden is None:
        item.rule_note = "no golden answer: nothing to compare with"
        item.pairs = align([], item.predicted)
        return
    item.golden = golden_call(golden, turn)
    item.pairs = align(item.golden, item.predicted, RULES)
    _lists(item)
    first_difference(item.pairs, item.golden, item.predicted).put(item)
    if item.functions:
        item.rule, item.rule_error_type = outcome.valid, outcome.error_type
        text = "; ".join(outcome.messages) or None
        item.verdicts.append(
            Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=text, by="BFCL v2 rules, adapted")
        )
        if outcome.valid is False:
            blame(item, outcome.function or item.diff_function, outcome.argument or item.diff_argument)
    else:
        item.rule_note = "no question file: functions are unknown"
    _soft(item, golden, sources.soft.get(known))
    _hallucination(item, sources.hallucination.get(known))


def _lists(item: Item) -> None:
    """Says of a golden argument with several values how it is stored: it may be meant as one list, of which the rules
    take any element."""
    for pair in item.pairs:
        golden = item.golden[pair.golden].arguments if pair.golden is not None else None
        given = item.predicted[pair.predicted].arguments if pair.predicted is not None else None
        for name, accept in (golden or {}).items():
            if len(accept.any_of) < 2 or name not in (given or {}):
                continue
            path, stored = child("", name), f"stored as {to_json_text(accept.any_of)}"
            known = next((place for place in pair.diff if place.path == path), None)
            if known is None:
                pair.diff.append(ArgumentDiff(path, "~", f"{stored}: the rules take any one value of it"))
                pair.state = "~" if pair.state == "=" else pair.state
            else:
                known.reason = f"{known.reason}; {stored}"


def _soft(item: Item, golden: Any, given: dict[str, Any] | None) -> None:
    turn = item.n_turns - 1
    name, accepted = next(iter(golden[0].items())) if golden else ("", {})
    call = item.predicted[0] if len(item.predicted) == 1 and item.predicted[0].arguments is not None else None
    matches = call is not None and call.name == name
    ours = parameter_scores(accepted, call.arguments or {}) if call is not None and matches else {}
    item.verdicts.append(Verdict("rule", soft_score(matches, ours), criterion="soft_score", by="token F1"))
    item.verdicts += [Verdict("rule", s, _argument(turn, 0, n), "soft_score", by="token F1") for n, s in ours.items()]
    if given is not None:
        item.verdicts.append(Verdict("official", given.get("soft_score"), criterion="soft_score", by="soft score file"))
        scores = given.get("param_scores")
        scores = scores if isinstance(scores, dict) else {}
        matches = bool(given.get("function_match", matches))
        if matches and not _as_defined(given.get("soft_score"), scores):
            item.extra.more[STAYS] = "the file's score is not the mean over its arguments"
        for parameter, score in scores.items():
            item.verdicts.append(
                Verdict("official", score, _argument(turn, 0, parameter), "soft_score", by="soft score file")
            )
    if not matches:
        item.extra.more[STAYS] = "not exactly one call of the golden function"


def _as_defined(score: Any, scores: dict[str, Any]) -> bool:
    numbers = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return isinstance(score, (int, float)) and abs(score - soft_score(True, numbers)) < 10**-DIGITS


def _argument(turn: int, position: int, name: str) -> str:
    return argument_address(turn, position, child("", name))


def _hallucination(item: Item, judged: dict[str, Any] | None) -> None:
    """The judge's flags, one verdict an argument of every predicted call; flags without such an argument stay in
    the raw reply."""
    if judged is None:
        return
    by, reason = str(judged.get("judge_model") or "judge"), judged.get("rationale")
    text = str(reason) if reason is not None else None
    flags = judged.get("hallucinated_parameters")
    lists = (
        [[str(name) for name in one] if isinstance(one, list) else [] for one in flags]
        if isinstance(flags, list)
        else []
    )
    every = [name for one in lists for name in one]
    item.verdicts.append(Verdict("judge", every, criterion="hallucinated", rationale=text, by=by))
    golden = item.golden[0].name if item.golden else None
    turn = item.n_turns - 1
    positions = {pair.predicted: position for position, pair in enumerate(item.pairs)}
    strays = set(every)
    for call, flagged in zip(item.predicted, lists, strict=False):
        position = positions.get(call.index, call.index)
        names = list(call.arguments or {})
        strays -= set(names)
        matches = Verdict("judge", call.name == golden, call_address(turn, position), "name_matches", by=by)
        item.verdicts.append(matches)
        item.verdicts += [
            Verdict("judge", name in flagged, _argument(turn, position, name), "hallucinated", None, text, by)
            for name in names
        ]
    if strays or len(lists) != len(item.predicted):
        item.extra.more["judge's raw reply"] = judged.get("response")

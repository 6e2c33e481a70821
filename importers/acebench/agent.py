"""Items of ACEBench's agent categories: the conversation, milestones beside the executed calls, and the end state.

ACEBench's dialogue-history tables: fixed-width text, one file an agent item, the only record of tool outcomes.

Long content runs on over rows whose first columns are blank; it was cut at a fixed width, so pieces are joined as
they are. A tool error that the runner broke into single characters is put together again.

Milestones beside the calls that were made: which were met as the process scorer counts, what stands for the rest.

Source of the rule: the released process scorer (revision e6db74b): milestones are looked for one after the other, each
behind the one before it; the first that is not found ends the count.

ACEBench's end states side by side: attribute by attribute down to the value that differs, as BFCL's are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.acebench.checker import COMPARISON_RULES, check_end_state, attribute_differences, leading_milestone_share, compute_process_accuracy
from fcreview.importers.acebench.decode import decode_for_display
from fcreview.importers.acebench.leaderboard import MILESTONES_MET, PROCESS_ACCURACY
from fcreview.importers.common.jsonl import MAX_FILE_BYTES
from fcreview.importers.common.records import Undecodable, shorten_question
from fcreview.matching.align import align
from fcreview.matching.first_difference import set_difference_location, find_first_difference
from fcreview.model.item import ABSENT, AcceptedValues, Call, ImportIssue, Item, Message, CallPair, StateDifference, Verdict
from fcreview.model.json_value import to_plain_json
from fcreview.safe_files import read_file

_SPELLED_ERROR = re.compile(r"E r r o r   d u r i n g|E r r o r\s+d u r i n g")


@dataclass(slots=True)
class HistoryMessage:
    index: int
    sender: str
    recipient: str
    content: str


def parse_history(text: str) -> tuple[list[HistoryMessage], list[int]]:
    """The messages of a table, and the numbers of lines (from 1) that are no row of it."""
    said: list[HistoryMessage] = []
    odd: list[int] = []
    bounds: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith("|-"):
            bounds = [position for position, character in enumerate(line) if character == "|"]
            continue
        cells = _split_row(line, bounds)
        if cells is None:
            if not line.startswith("| message_index"):
                odd.append(number)
        elif cells[0].strip().isdigit():
            said.append(HistoryMessage(int(cells[0]), cells[1].strip(), cells[2].strip(), cells[3].rstrip()))
        elif said and not any(cell.strip() for cell in cells[:3]):
            said[-1].content += cells[3].rstrip("\n")
        else:
            odd.append(number)
    for one in said:
        one.content = _join_spelled_error(one.content.rstrip())
    return said, odd


def _split_row(line: str, bounds: list[int]) -> list[str] | None:
    """The four cells of a row. Widths are counted in characters where they fit the rule above, else split at bars."""
    if not line.startswith("|") or not bounds:
        return None
    parts = line.strip().split("|")
    if len(parts) < 6:
        return None
    content = "|".join(parts[4:-1])
    return [parts[1], parts[2], parts[3], content.removeprefix(" ")]


def _join_spelled_error(content: str) -> str:
    if _SPELLED_ERROR.match(content):
        return re.sub(r"(.) ", r"\1", content + " ").rstrip()
    return content


def choose_milestone_sequence(made: Sequence[Any], milestones: Any) -> tuple[list[str], list[Any]]:
    """Of alternative sequences the one that counts, and the others."""
    if not isinstance(milestones, list) or not milestones:
        return [], []
    if not isinstance(milestones[0], list):
        return [str(one) for one in milestones], []
    shares = [leading_milestone_share(list(made), sequence) for sequence in milestones]
    best = shares.index(max(shares))
    return [str(one) for one in milestones[best]], [each for at, each in enumerate(milestones) if at != best]


def find_met_milestones(made: Sequence[Any], milestones: Sequence[str]) -> list[int]:
    """Places of the calls that meet the leading milestones, in their order."""
    found: list[int] = []
    position = 0
    for milestone in milestones:
        wanted = milestone.strip()
        at = next((n for n in range(position, len(made)) if str(made[n]).strip() == wanted), None)
        if at is None:
            break
        found.append(at)
        position = at + 1
    return found


def pair_milestones(golden: Sequence[Call], predicted: Sequence[Call], places: Sequence[int]) -> list[CallPair]:
    """Milestones that were met beside the calls that met them; those behind are held against what was done after."""
    start = places[-1] + 1 if places else 0
    made = [align([one], [predicted[at]], COMPARISON_RULES)[0] for one, at in zip(golden, places, strict=False)]
    rest = align(golden[len(places) :], predicted[start:], COMPARISON_RULES, ordered=True)
    before = [CallPair(call.turn, None, call.index, call.name, "+") for call in predicted[:start]]
    extra = [one for one in before if one.predicted not in places]
    wanted = [pair for pair in rest if pair.golden is not None]
    return made + wanted + extra + [pair for pair in rest if pair.golden is None]


def describe_milestones(milestones: Sequence[str], count: int) -> str:
    """`1 of 3 met: turn_on_wifi; not login`: the count ends at the first that is not met."""
    names = [one.strip("[ ").partition("(")[0] for one in milestones]
    said = f"{count} of {len(milestones)} met"
    said += f": {', '.join(names[:count])}" if count else ""
    return said + (f"; not {names[count]}" if count < len(names) else "")


MAX_STATE_DIFFERENCES = 40
"""Values listed; the rest is counted."""
MAX_DEPTH = 12


def find_state_differences(states: Any, golden: Any) -> dict[str, StateDifference] | None:
    """`{"FoodPlatform.users.Eve.balance": golden 412.0, predicted 500.0}` of what the evaluator objects to, and classes
    of one side only, but for those that golden spells in another case: they are never compared. None if nothing
    differs or no side can be read."""
    if not isinstance(states, list) or not isinstance(golden, list):
        return None
    found: dict[str, StateDifference] = {}
    wanted, recorded = _attributes_by_class(golden), _attributes_by_class(states)
    spelt = {name.casefold() for name in wanted} & {name.casefold() for name in recorded}
    for name, expected in wanted.items():
        ours = recorded.get(name)
        if ours is None:
            if name.casefold() not in spelt:
                found[name] = StateDifference(expected, ABSENT)
            continue
        for attribute, _ in attribute_differences(ours, expected):
            for path, one in _find_value_differences(f"{name}.{attribute}", expected.get(attribute, ABSENT), ours[attribute], 0):
                found[path] = one
    for name, ours in recorded.items():
        if name.casefold() not in spelt:
            found[name] = StateDifference(ABSENT, ours)
    if len(found) > MAX_STATE_DIFFERENCES:
        kept = dict(list(found.items())[:MAX_STATE_DIFFERENCES])
        return kept | {f"({len(found) - MAX_STATE_DIFFERENCES} more)": StateDifference("", "")}
    return found or None


def _attributes_by_class(states: list[Any]) -> dict[str, dict[str, Any]]:
    """The attributes of every class; a list of one-key objects."""
    found: dict[str, dict[str, Any]] = {}
    for state in states:
        if isinstance(state, dict):
            found |= {str(name): one for name, one in state.items() if isinstance(one, dict)}
    return found


def _find_value_differences(path: str, golden: Any, ours: Any, depth: int) -> Iterator[tuple[str, StateDifference]]:
    """Where in the two values something differs; objects by name, lists of one length by place."""
    if golden == ours:
        return
    if depth < MAX_DEPTH and isinstance(golden, dict) and isinstance(ours, dict):
        for name in {**golden, **ours}:
            yield from _find_value_differences(f"{path}.{name}", golden.get(name, ABSENT), ours.get(name, ABSENT), depth + 1)
    elif depth < MAX_DEPTH and isinstance(golden, list) and isinstance(ours, list) and len(golden) == len(ours):
        for at, (one, other) in enumerate(zip(golden, ours, strict=True)):
            yield from _find_value_differences(f"{path}[{at}]", one, other, depth + 1)
    else:
        yield path, StateDifference(golden, ours)


SIMULATED_USER_INSTRUCTION = "instruction to the simulated user"
"""`Message.name` of what the model did not see."""


def fill_item(
    item: Item,
    record: dict[str, Any],
    question: dict[str, Any] | None,
    answer: dict[str, Any] | None,
    history: Path | None,
) -> None:
    text = str((question or {}).get("question", ""))
    item.question = shorten_question(text)
    simulated = item.category == "agent_multi_turn"
    item.messages = [Message(0, -1, "system", text, SIMULATED_USER_INSTRUCTION) if simulated else Message(0, -1, "user", text)]
    if initial := (question or {}).get("initial_config"):
        item.messages.append(Message(0, -1, "state", orjson.dumps(to_plain_json(initial)).decode(), "at the start"))
    process = [str(part) for part in record.get("process") or []] if isinstance(record.get("process"), list) else []
    steps = _add_conversation(item, history) if history is not None else []
    if len(steps) != len(process):
        steps = list(range(len(process)))
    item.predicted = _decode_calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is None:
        return
    milestones = answer.get("mile_stone") or []
    sequence, others = choose_milestone_sequence(process, milestones)
    item.golden = _decode_calls("golden", sequence, range(len(sequence)))
    if others:
        item.extra.metadata["other milestone sequences"] = others
    places = find_met_milestones(process, sequence)
    if len(item.golden) == len(sequence) and len(item.predicted) == len(process):
        item.pairs = pair_milestones(item.golden, item.predicted, places)
    else:  # a text that holds several calls
        item.pairs = align(item.golden, item.predicted, COMPARISON_RULES, ordered=True)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    outcome = check_end_state(record.get("result"), answer.get("ground_truth"))
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="end state")
    )
    counted, _ = compute_process_accuracy(record.get("process"), milestones, outcome.valid)
    item.verdicts.append(Verdict("rule", counted, criterion=PROCESS_ACCURACY, by="milestones"))
    if sequence:
        item.extra.metadata["milestones"] = describe_milestones(sequence, len(places))
    item.extra.metadata[MILESTONES_MET], _ = compute_process_accuracy(record.get("process"), milestones, False)
    if not outcome.valid:
        set_difference_location(item, outcome.function, outcome.argument)
    if not outcome.valid:
        item.extra.state_differences = find_state_differences(record.get("result"), answer.get("ground_truth"))
    item.extra.metadata |= {"end state": record.get("result"), "golden end state": answer.get("ground_truth")}


def _decode_calls(side: Any, texts: list[str], steps: Sequence[int]) -> list[Call]:
    """Calls of agent messages or milestones, decoded leniently as at run time: brackets are added where they are
    missing."""
    calls: list[Call] = []
    for step, text in zip(steps, texts, strict=True):
        inner = text.strip()
        try:
            decoded = (
                decode_for_display(inner if inner.startswith("[") else f"[{inner}]") if side == "golden" else _decode_leniently(inner)
            )
        except Undecodable as error:
            name = inner.strip("[ ").partition("(")[0]
            calls.append(Call(side, name, None, 0, step, len(calls), raw=text, decode_error=str(error)))
            continue
        for name, arguments in decoded:
            given = {key: AcceptedValues([value]) for key, value in arguments.items()} if side == "golden" else arguments
            calls.append(Call(side, name, given, 0, step, len(calls), raw=text))
    return calls


def _decode_leniently(text: str) -> list[tuple[str, dict[Any, Any]]]:
    start, end = text.find("["), text.rfind("]")
    return decode_for_display(text[start : end + 1] if 0 <= start < end else f"[{text}]")


def _add_conversation(item: Item, history: Path) -> list[int]:
    """Adds what was said; the steps at which the agent spoke to the execution role, whose texts stand as calls.

    A step is something the agent did. What the user says before the first opens the turn; that the table repeats the
    question there is left out.
    """
    try:
        said, odd = parse_history(read_file(history, MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        item.issues.append(ImportIssue(str(history), None, f"cannot be read: {error.strerror}", item=item.id))
        return []
    item.issues += [ImportIssue(str(history), line, "not a row of the table", item=item.id) for line in odd]
    known = {"".join(message.content.split()) for message in item.messages if message.role == "user"}
    calls: list[int] = []
    step = -1
    for one in said:
        if one.sender == "execution":
            item.messages.append(Message(0, calls[-1] if calls else max(step, 0), "tool", one.content))
        elif one.sender == "user":
            if step >= 0 or "".join(one.content.split()) not in known:
                item.messages.append(Message(0, step, "user", one.content))
        else:
            step += 1
            if one.recipient == "execution":
                calls.append(step)
            else:
                item.messages.append(Message(0, step, "assistant", one.content))
    return calls

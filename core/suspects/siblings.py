"""What golden answers of other items do with the same argument: whether it may be left out, which shape it has, what
else is accepted with a value; and the same question with another golden answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fcreview.model import Accept, Call
from fcreview.suspects.case import Case, CaseKey, Reason
from fcreview.suspects.document import kind_of
from fcreview.suspects.evidence import Evidence
from fcreview.suspects.facts.notation import plain
from fcreview.values import brief, to_json_text

FEWEST = 3
"""Other items that must do alike before one that does not stands out."""
MOSTLY = 0.75


@dataclass(slots=True)
class Uses:
    """How golden answers use one argument of one function, each item counted once."""

    optional: Counter[bool] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


class Siblings:
    """An index over the golden answers of all cases of one dataset."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._uses: defaultdict[tuple[str, str], Uses] = defaultdict(Uses)
        self._together: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        """(argument, value) -> other values accepted with it, in plain form, and an item where they are."""
        self._asked: defaultdict[tuple[str, ...], dict[str, CaseKey]] = defaultdict(dict)
        """Question and functions -> golden answers, in plain form, and the item that has it. Not of conversations."""
        self._plain: dict[CaseKey, tuple[tuple[str, ...], str]] = {}
        """What is asked and golden, of each case that can be compared."""
        for case in cases:
            self._add(case)

    def _add(self, case: Case) -> None:
        seen: set[tuple[str, str, str]] = set()
        for call in case.golden:
            for name, accept in (call.arguments or {}).items():
                if isinstance(accept, Accept):
                    self._use(case.key.id, call.name, name, accept, seen)
        if _comparable(case):
            self._plain[case.key] = (_asked(case), _plain_golden(case.golden))
            asked, golden = self._plain[case.key]
            self._asked[asked].setdefault(golden, case.key)

    def _use(self, item: str, function: str, name: str, accept: Accept, seen: set[tuple[str, str, str]]) -> None:
        uses = self._uses[function, name]
        for what in (str(accept.optional), _kind(accept)):
            if (function, name, what) not in seen:
                seen.add((function, name, what))
                if what in ("True", "False"):
                    uses.optional[accept.optional] += 1
                elif what:
                    uses.kinds[what] += 1
        texts = [plain(value) for value in accept.any_of if isinstance(value, str) and value]
        if 1 < len(texts) <= 20:
            for one in texts:
                together = self._together[name, one]
                for other in texts:
                    together.setdefault(other, item)

    def accepted_with(self, name: str, golden: Iterable[Any], given: Any) -> str | None:
        """An item whose golden answer accepts both the given text and one of golden's, for an argument of this name."""
        if not isinstance(given, str):
            return None
        like = plain(given)
        for value in golden:
            if isinstance(value, str) and (found := self._together.get((name, plain(value)), {}).get(like)):
                return found
        return None

    def uses(self, function: str, name: str) -> Uses:
        return self._uses[function, name]

    def other_answer(self, case: Case) -> str | None:
        """An item with the same question and functions, and another golden answer."""
        if case.key not in self._plain:
            return None
        asked, own = self._plain[case.key]
        return next((key.id for golden, key in self._asked[asked].items() if golden != own), None)


def siblings_of(seen: Evidence, siblings: Siblings) -> list[Reason]:
    found: list[Reason] = []
    for call in seen.case.golden:
        for name, accept in (call.arguments or {}).items():
            if isinstance(accept, Accept):
                found += _apart(call, name, accept, siblings.uses(call.name, name), seen)
    other = siblings.other_answer(seen.case)
    if other:
        found.append(Reason("siblings", 1.0, f"{other} asks the same and has another golden answer"))
    return found


def _apart(call: Call, name: str, accept: Accept, uses: Uses, seen: Evidence) -> Iterable[Reason]:
    words = f"{name} of {call.name}"
    parameter = seen.parameter(call.name, name)
    leaves = uses.optional[True]
    free = not accept.optional and not (parameter and parameter.required)
    if free and leaves >= max(FEWEST, MOSTLY * uses.optional.total()):
        yield Reason("siblings", 0.7, f"golden demands {words}, {leaves} other items let it be left out")
    kind = _kind(accept)
    if kind and uses.kinds.total() > FEWEST:
        usual, count = uses.kinds.most_common(1)[0]
        if usual != kind and count >= MOSTLY * uses.kinds.total() and {usual, kind} != {"integer", "number"}:
            text = (
                f"golden's {words} is of kind {kind}, {brief(accept.any_of[0], 40)}; {count} other items have {usual}"
            )
            yield Reason("siblings", 1.0, text)


def _comparable(case: Case) -> bool:
    """A question of its own: in a conversation the same words may stand for another step of it."""
    return bool(case.golden and case.complete and case.group is None and plain(case.question))


def _kind(accept: Accept) -> str:
    return kind_of(accept.any_of[0]) if accept.any_of else ""


def _asked(case: Case) -> tuple[str, ...]:
    return (plain(case.question), *sorted(str(raw.get("name")) for raw in case.functions))


def _plain_golden(golden: Iterable[Call]) -> str:
    """Names and values as text: order of calls and alternatives does not matter."""
    parts = []
    for call in golden:
        arguments = {
            name: [*sorted(plain(to_json_text(value)) for value in accept.any_of), str(accept.optional)]
            for name, accept in (call.arguments or {}).items()
            if isinstance(accept, Accept)
        }
        parts.append(to_json_text({call.name: dict(sorted(arguments.items()))}))
    return "\n".join(sorted(parts))

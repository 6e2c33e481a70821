"""Failures for which the golden answer or the checker is to blame rather than the model: a default left out or given, a
notation, a unit, a short name, a value that the golden answer of another item accepts."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fcreview.calls.paths import steps
from fcreview.calls.table import NOTHING
from fcreview.model import Accept
from fcreview.suspects.case import Reason
from fcreview.suspects.evidence import Evidence
from fcreview.suspects.facts.documents import MISSING
from fcreview.suspects.facts.notation import same_meaning
from fcreview.suspects.facts.places import Place
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.suspects.siblings import Siblings

EMPTY: tuple[Any, ...] = ("", [], {}, None)


def explained(seen: Evidence, siblings: Siblings) -> list[Reason]:
    """Of answers every difference of which is explained."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    examples: dict[str, Place] = {}
    whole: list[int] = []
    for answer, places in seen.differences:
        words = [(explain(seen, siblings, place), place) for place in places]
        why = [(word, place) for word, place in words if word]
        if len(why) == len(words):
            whole += answer.runs
            for word, place in why:
                found[word] += answer.runs
                examples.setdefault(word, place)
    if not whole:
        return []
    word, runs = max(found.items(), key=lambda each: seen.voices.share(set(each[1])))
    runs = sorted(set(runs))
    text = f"{count_of(len(runs), 'failing answer')} may be right: {examples[word].words} is {word}"
    return [Reason("explained", seen.voices.share(whole), text, seen.alternative(examples[word], runs))]


def explain(seen: Evidence, siblings: Siblings, place: Place) -> str | None:
    """Why the difference may be none, in words."""
    if not place.path:
        return None
    parameter = seen.parameter(place.function, str(steps(place.path)[0]))
    default = parameter.default if parameter else MISSING
    top = len(steps(place.path)) == 1
    if place.given is NOTHING:
        if top and default is not MISSING and any(is_default(value, default) for value in values(place.golden)):
            return "leaving it at its documented default, which golden demands"
        return None
    if place.golden is NOTHING:
        if top and default is not MISSING and is_default(place.given, default):
            return "its documented default, which golden leaves out"
        return "empty, where golden leaves it out" if place.given in EMPTY else None
    for value in values(place.golden):
        if word := same_meaning(value, place.given):
            return f"{place.wanted}: {word}"
    other = siblings.accepted_with(str(steps(place.path)[0]), values(place.golden), place.given)
    return f"accepted beside {place.wanted} in {other}" if other and other != seen.case.key.id else None


def values(golden: Any) -> list[Any]:
    return golden.any_of if isinstance(golden, Accept) else [golden]


def is_default(value: Any, default: Any) -> bool:
    """Whether a value is what the document states as default, which may be a text in a description."""
    if type(value) is type(default) and value == default:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return str(value).lower() == str(default).lower()
    if same_meaning(value, default) in _SAME:
        return True
    return (
        isinstance(value, list)
        and isinstance(default, str)
        and default.startswith("[")
        and (_listed(default) == [str(one) for one in value])
    )


_SAME = (
    "only case, blanks or marks differ",
    "the same number, written otherwise",
    "one value, in a list or bare",
    "the same words in another form",
    "the same unit",
)


def _listed(text: str) -> list[str]:
    return [part.strip().strip("'\"") for part in text.strip("[]").split(",") if part.strip()]

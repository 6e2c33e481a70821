"""Ids that stand several times: a dataset's own records that share one id, or one record that was written twice.

V3's `live_relevance_3-3-0` names two questions. Such records are items each, `live_relevance_3-3-0` and
`live_relevance_3-3-0#2`, in the dataset's order; results and score entries are told apart by what they say. Where the
dataset has an id once, a later result takes the place of an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.dataset import Dataset, as_json, name_of
from fcreview.importers.bfcl.joining.questions import same_question, same_reply

MOST = 4
"""Records with one id that are told apart by what they say; of more, the order decides."""


def in_order(replies: Sequence[Any], cases: Sequence[Case]) -> list[int]:
    """For each reply the place of the case that it answers: as they stand, unless the functions that the replies name
    say otherwise."""
    places = list(range(len(replies)))
    if len(replies) != len(cases) or len(replies) > MOST:
        return places
    texts = [as_json(reply) for reply in replies]

    def answered(order: tuple[int, ...]) -> int:
        return sum(_names(texts[place], cases[order[place]]) for place in places)

    best: tuple[int, ...] = max(permutations(places), key=answered)  # of equal ones the first: as they stand
    return list(best)


def _names(text: str, case: Case) -> bool:
    """Whether a reply names a function of the case."""
    names = [document.get("name") for document in case.functions]
    return any(isinstance(name, str) and (name in text or name.replace(".", "_") in text) for name in names)


def names_of(item: str, replies: Sequence[Any], data: Dataset, *, all_scored: bool) -> list[str] | None:
    """The names of results that share an id; None where they are one record that was written several times.

    Without a dataset that knows, `all_scored` says whether the score file counted every one of them.
    """
    names = data.repeated.get(item)
    if names is None:
        return [name_of(item, n) for n in range(len(replies))] if all_scored and not data.cases else None
    if len(replies) == 1:
        text = as_json(replies[0])
        return [next((name for name in names if _names(text, data.cases[name])), names[0])]
    if len(names) != len(replies):
        return None
    return [names[place] for place in in_order(replies, [data.cases[name] for name in names])]


def scored_one(names: Sequence[str], entry: Mapping[str, Any], data: Dataset, replies: Mapping[str, Any]) -> str:
    """Which of the records with one id a score entry is about: by the question it repeats, else by the reply."""
    prompt = entry.get("prompt")
    question = prompt.get("question") if isinstance(prompt, dict) else prompt
    copy = entry.get("model_result_raw", entry.get("model_result"))
    asked = [name for name in names if name in data.cases and same_question(data.cases[name].turns, question)]
    said = [name for name in asked or names if name in replies and same_reply(copy, replies[name])]
    return (said or asked or list(names))[0]

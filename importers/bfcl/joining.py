"""Whether two files mean the same question, golden answer or reply.

Ids that stand several times: a dataset's own records that share one id, or one record that was written twice.

V3's `live_relevance_3-3-0` names two questions. Such records are items each, `live_relevance_3-3-0` and
`live_relevance_3-3-0#2`, in the dataset's order; results and score entries are told apart by what they say. Where the
dataset has an id once, a later result takes the place of an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from fcreview.importers.bfcl.dataset import Dataset, DatasetItem, content_text, json_text, parse_turns, repeated_id

API_KEY = re.compile(r"\[redacted\]|<?\b(?:YOUR|MY|INSERT|THE)?[-_ ]?(?:RAPID|X)?[-_ ]?API[-_ ]?KEY\b>?", re.IGNORECASE)
"""What stands for a key that is not published: it differs between versions of a dataset, and says nothing."""


def is_same_question(turns: list[list[dict[str, Any]]], question: Any) -> bool:
    """Whether a dataset's question and an embedded one end in the same user messages, turn by turn.

    System messages are left out: runners prepend their own. A turn that reveals functions is empty in the dataset.
    """
    asked = parse_turns(question)
    if asked == turns:
        return True
    ours, theirs = _last_user_messages(turns), _last_user_messages(asked)
    return len(ours) == len(theirs) and all(
        not a or a == b or mask_api_keys(a) == mask_api_keys(b) for a, b in zip(ours, theirs, strict=True)
    )


def is_same_answer(ours: Any, theirs: Any) -> bool:
    """Whether two golden answers are the same but for keys."""
    return bool(ours == theirs) or mask_api_keys(json_text(ours)) == mask_api_keys(json_text(theirs))


def is_same_reply(copy: Any, result: Any) -> bool:
    """Whether a score entry quotes this result: as it is, or, where it had the wrong format, Python's text of it."""
    if copy == result:
        return True
    if isinstance(copy, str) and not isinstance(result, str):
        return copy == str(result)
    return mask_api_keys(json_text(copy)) == mask_api_keys(json_text(result))


def mask_api_keys(text: str) -> str:
    """The text without keys and what stands for them."""
    return API_KEY.sub("KEY", text) if "key" in text.lower() or "[redacted]" in text else text


def _last_user_messages(turns: list[list[dict[str, Any]]]) -> list[str]:
    found = []
    for turn in turns:
        texts = [content_text(part.get("content")) for part in turn if part.get("role") == "user"]
        found.append(texts[-1] if texts else "")
    return found


MAX_PERMUTED_REPLIES = 4
"""Records with one id that are told apart by what they say; of more, the order decides."""


def match_replies(replies: Sequence[Any], cases: Sequence[DatasetItem]) -> list[int]:
    """For each reply the place of the case that it answers: as they stand, unless the functions that the replies name
    say otherwise."""
    places = list(range(len(replies)))
    if len(replies) != len(cases) or len(replies) > MAX_PERMUTED_REPLIES:
        return places
    texts = [json_text(reply) for reply in replies]

    def answered(order: tuple[int, ...]) -> int:
        return sum(_mentions_function(texts[place], cases[order[place]]) for place in places)

    best: tuple[int, ...] = max(permutations(places), key=answered)  # of equal ones the first: as they stand
    return list(best)


def _mentions_function(text: str, case: DatasetItem) -> bool:
    """Whether a reply names a function of the case."""
    names = [document.get("name") for document in case.functions]
    return any(isinstance(name, str) and (name in text or name.replace(".", "_") in text) for name in names)


def split_repeated_id(item: str, replies: Sequence[Any], data: Dataset, *, all_scored: bool) -> list[str] | None:
    """The names of results that share an id; None where they are one record that was written several times.

    Without a dataset that knows, `all_scored` says whether the score file counted every one of them.
    """
    names = data.repeated_ids.get(item)
    if names is None:
        return [repeated_id(item, n) for n in range(len(replies))] if all_scored and not data.items else None
    if len(replies) == 1:
        text = json_text(replies[0])
        return [next((name for name in names if _mentions_function(text, data.items[name])), names[0])]
    if len(names) != len(replies):
        return None
    return [names[place] for place in match_replies(replies, [data.items[name] for name in names])]


def find_scored_item(names: Sequence[str], entry: Mapping[str, Any], data: Dataset, replies: Mapping[str, Any]) -> str:
    """Which of the records with one id a score entry is about: by the question it repeats, else by the reply."""
    prompt = entry.get("prompt")
    question = prompt.get("question") if isinstance(prompt, dict) else prompt
    copy = entry.get("model_result_raw", entry.get("model_result"))
    asked = [name for name in names if name in data.items and is_same_question(data.items[name].turns, question)]
    said = [name for name in asked or names if name in replies and is_same_reply(copy, replies[name])]
    return (said or asked or list(names))[0]

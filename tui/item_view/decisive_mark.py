"""Find the decisive step that the annotator may see: the message, the annotators who chose it, and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.model.item import Item
from fcreview.model.review import Opinion
from fcreview.model.verdict import DECISIVE_STEP, agreed_verdict


@dataclass(frozen=True, slots=True)
class DecisiveStepMark:
    """Decisive step, chosen by annotators or guessed by fcreview."""

    message: int
    """Number of the message, from 1."""
    people: tuple[str, ...]
    """Annotators who chose this message. The annotator of the session is `you`."""
    guess: int | None = None
    """Number of the message that fcreview guessed, from 1. None if there is no guess or if it is hidden."""
    kind: str = ""
    """Kind of the guessed step, such as `wrong_write`."""
    reason: str = ""
    """Sentence that explains the guess."""


def find_mark(
    item: Item, opinions: Sequence[Opinion], annotator: str, *, hide_verdicts: bool
) -> DecisiveStepMark | None:
    """Return the adjudicated decisive step, else the annotator's own, else the agreed step, else the guessed step.

    `opinions`: reviews that the annotator may see. `hide_verdicts`: whether the guess is hidden.
    """
    verdicts = [] if hide_verdicts else [v for v in item.verdicts if v.criterion == DECISIVE_STEP]
    guess = next((v for v in verdicts if isinstance(v.value, (int, float))), None)
    given = [o for o in opinions if o.criterion == DECISIVE_STEP and not o.stale and _is_number(o.verdict)]
    chosen = [o.verdict for o in given if o.is_adjudication] or [o.verdict for o in given if o.annotator == annotator]
    message = chosen[0] if chosen else agreed_verdict(o.verdict for o in given)
    if not _is_number(message):
        message = guess.value if guess else None
    if message is None:
        return None
    people = tuple("you" if o.annotator == annotator else o.annotator for o in given if o.verdict == message)
    if guess is None:
        return DecisiveStepMark(int(message), people)
    return DecisiveStepMark(int(message), people, int(guess.value), guess.error_type or "", guess.rationale or "")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

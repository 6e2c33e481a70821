"""What a reviewer says of the item on screen, and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fcreview.review import Event, Opinion, Said
from fcreview.sanitise import visible
from fcreview.store.rows import ItemDetail
from fcreview.tui.document.scene import words
from fcreview.tui.queue.walk import MOST_LEFT
from fcreview.tui.screens.fault import FaultScreen
from fcreview.tui.screens.item_view import ItemView
from fcreview.tui.screens.note import NoteScreen
from fcreview.tui.screens.tags import TagsScreen, tag_choices
from fcreview.words import word

VERDICTS: dict[str, tuple[Any, str | None]] = {
    "pass": (True, None),
    "fail": (False, None),
    "golden": (True, "golden"),
    "unsure": ("unsure", None),
}
"""Verdict and fault by key. A wrong golden answer means that the prediction was right."""


class ItemReviews(ItemView):
    """The half of the item screen that writes reviews."""

    def action_verdict(self, word: str) -> None:
        verdict, fault = VERDICTS[word]
        said = "golden wrong, so pass" if word == "golden" else word
        self._judge(said, verdict=verdict, fault=fault)

    def action_score(self, value: int) -> None:
        criteria = score_criteria(self.detail)
        if not criteria:
            self.say("items of this benchmark pass or fail: p or f", "warn")
            return
        target, criterion = self._unscored(criteria)
        if self._save(f"{criterion} {value}", target=target, criterion=criterion, verdict=value):
            left = self._unscored_left(criteria, criterion)
            if left:
                self.reload(f"saved: {criterion} {value} · now {left[0]}")
            else:
                self._next(f"saved: {criterion} {value}", self.following())

    def _mine(self, target: str, criterion: str = "correct") -> Opinion | None:
        me = self.reviewer.annotator
        return next(
            (o for o in self.detail.opinions if (o.annotator, o.target, o.criterion) == (me, target, criterion)), None
        )

    def _unscored(self, criteria: list[tuple[str, str]]) -> tuple[str, str]:
        return next((c for c in criteria if (mine := self._mine(*c)) is None or mine.verdict is None), criteria[0])

    def _unscored_left(self, criteria: list[tuple[str, str]], done: str) -> list[str]:
        return [c[1] for c in criteria if c[1] != done and self._mine(*c) is None]

    def _judge(self, said: str, **fields: Any) -> None:
        target = self.target()
        following = self.following() if target == "item" else None
        mine = self._mine(target)
        if mine is not None and mine.verdict is None and not mine.stale and fields.get("fault") is None:
            fields["fault"] = mine.fault  # named before the verdict, which would take it back
        if not self._save(said, target=target, **fields):
            return
        if target == "item":
            self._next(f"saved: {said}", following)
        else:
            self.reload(f"saved: {said} · {visible(words(target))}")

    def _next(self, message: str, following: int | None) -> None:
        if following is None:
            self.reload(f"{message} · {self._end()}")
        else:
            self.show_item(following, f"{message} · {visible(self.detail.row.id)}")

    def _end(self) -> str:
        """What is said behind the last item."""
        left, _ = self.walk.left(self.item)
        if not left:
            return "none left to review"
        more = f"{left:,} or more" if left >= MOST_LEFT else f"{left:,}"
        return f"end of the queue, {more} left unreviewed: ] goes there"

    def _save(self, said: str, **fields: Any) -> bool:
        """Whether it is on disk; says so if not."""
        try:
            self.reviewer.review(self.item, Said(**fields))
        except Exception as error:  # a review that is not saved must be told, whatever the reason
            self.say(f"NOT SAVED ({said}): {visible(str(error) or type(error).__name__)}", "bad")
            self.app.bell()
            return False
        return True

    def _saved(self, said: str, **fields: Any) -> None:
        target = self.target()
        if self._save(said, target=target, **fields):
            self.reload(f"saved: {said} · {visible(words(target) if target != 'item' else self.detail.row.id)}")

    def action_fault(self) -> None:
        def take(fault: str | None) -> None:
            if fault is not None:
                mine = self._mine(self.target())
                open_ = mine is None or mine.verdict is None
                self._saved(f"{fault} is wrong" + (" (no verdict yet: p f u)" if open_ else ""), fault=fault)

        self.app.push_screen(FaultScreen(), take)

    def action_tag(self) -> None:
        mine = self._mine(self.target())
        chosen = (mine.tags if mine else None) or []

        def take(tags: list[str] | None) -> None:
            if tags is not None and tags != chosen:
                self._saved(f"tags {visible(', '.join(tags))}" if tags else "no tags", tags=tags)

        row = self.detail.row
        errors = [] if self.hidden else [row.error_type, row.rule_error_type]
        self.app.push_screen(TagsScreen(tag_choices(errors, chosen, self.used_tags()), chosen), take)

    def used_tags(self) -> list[str]:
        """Tags of earlier reviews, most used first."""
        known = self.store.facets(self.walk.view).get("tag", [])
        return [tag for tag, _ in known]

    def action_note(self) -> None:
        mine = self._mine(self.target())
        before = (mine.note if mine else None) or ""

        def take(note: str | None) -> None:
            if note is not None and note != before:
                self._saved("note", note=note)

        self.app.push_screen(NoteScreen(visible(words(self.target())), before), take)

    def action_undo(self) -> None:
        try:
            event = self.reviewer.undo()
        except Exception as error:  # as in _save
            self.say(f"NOT UNDONE: {visible(str(error) or type(error).__name__)}", "bad")
            return
        if event is None:
            self.say("nothing to undo", "warn")
            return
        self.forget_ahead()
        said = f"undone: {event_words(event)} · {visible(event.key.id)}"
        item = self.seen.get(event.key)
        if item is None:
            item = find_item(self.store.find, self.store.detail, event)
        if item == self.item:
            self.reload(said)
        elif item is None:
            self.reload(f"{said} (an item that is not in this workspace)")
        else:
            self.show_item(item, said)


def score_criteria(detail: ItemDetail) -> list[tuple[str, str]]:
    """(target, criterion) of what is scored 0 to 2 in this item, in the order the benchmark gives it."""
    scored = [
        (v.target, v.criterion) for v in detail.item.verdicts if type(v.value) is int and v.criterion != "correct"
    ]
    return list(dict.fromkeys(scored))


def event_words(event: Event) -> str:
    """`fail, golden is wrong, on turn 2 call 1`: what an event had set."""
    parts = [word(event.verdict, event.criterion)] if event.verdict is not None else []
    parts += [f"{event.fault} is wrong"] if event.fault else []
    parts += [f"tags {visible(', '.join(event.tags))}"] if event.tags is not None else []
    parts += ["note"] if event.note is not None else []
    parts += ["golden fix"] if event.golden_fix is not None else []
    parts += [f"on {visible(words(event.target))}"] if event.target != "item" else []
    return ", ".join(parts) or "review"


def find_item(find: Callable[[str], list[int]], detail: Callable[[int], ItemDetail], event: Event) -> int | None:
    """The item an event was about, by its full key: one id may occur in many runs."""
    return next((item for item in find(event.key.id) if detail(item).key == event.key), None)

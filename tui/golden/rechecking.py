"""What another golden answer would change: of this prediction, and of those of other runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fcreview.store.alike.elsewhere import same_question
from fcreview.store.connecting import StoreError
from fcreview.store.queues.presentations import item_of
from fcreview.text.words import count_of
from fcreview.tui.golden.checking import Golden

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


@dataclass(frozen=True, slots=True)
class Regraded:
    """What is known so far."""

    here: bool | None = None
    """This prediction's rule verdict with the other golden answer; None where it is not recomputed."""
    runs: int = 0
    """Of how many runs it is known, this one among them."""
    to_pass: int = 0
    to_fail: int = 0
    """How many verdicts change, and to what."""
    left: int = 0
    """Runs that were not looked at yet."""

    def words(self) -> str:
        """`this prediction would pass · 3 of 12 runs change: 2 to pass, 1 to fail`."""
        if self.here is None:
            said = "well formed · this prediction's verdict cannot be recomputed"
        else:
            said = f"well formed · this prediction would {'pass' if self.here else 'fail'}"
        if not self.runs:
            return said
        change = self.to_pass + self.to_fail
        detail = ", ".join(
            f"{count} to {what}" for count, what in ((self.to_pass, "pass"), (self.to_fail, "fail")) if count
        )
        rest = f", {self.left} to go" if self.left else ""
        runs = count_of(self.runs, "run")
        return f"{said} · {change} of {runs} {'changes' if change == 1 else 'change'}{detail and ': ' + detail}{rest}"


async def regraded(session: Session, golden: Golden, item: int, fix: dict[str, Any]) -> AsyncIterator[Regraded]:
    """First of this item, then run by run: other questions of the store's come in between."""
    own = item_of(item)
    known = await _counted(session, golden, own, fix, Regraded())
    yield known
    others = [other for other in await session.ask(lambda store: same_question(store, own)) if other != own]
    for at, other in enumerate(others, 1):
        counted = await _counted(session, golden, other, fix, known)
        known = replace(counted, here=known.here, left=len(others) - at)
        yield known


async def _counted(session: Session, golden: Golden, item: int, fix: dict[str, Any], known: Regraded) -> Regraded:
    before, after = await session.ask(partial(_verdicts, golden, item, fix))
    if after is None:
        return known
    return replace(
        known,
        here=after,
        runs=known.runs + 1,
        to_pass=known.to_pass + (after and before is False),
        to_fail=known.to_fail + (not after and before is True),
    )


def _verdicts(golden: Golden, item: int, fix: dict[str, Any], store: Store) -> tuple[bool | None, bool | None]:
    """The rule verdict that stands, and the one with the other golden answer."""
    detail = store.detail(item)
    return detail.item.rule, golden.regraded(detail.run, detail.item, fix, _record(item, store))


def _record(item: int, store: Store) -> Any:
    try:
        return json.loads(store.raw(item))
    except (StoreError, ValueError, RecursionError):
        return None

"""What the queue's keys let a person choose: order, run, a group of failures, an import issue. A part of the queue
screen: the screens to choose from, and how an answer changes the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from textual.screen import ModalScreen, Screen

from fcreview.calls.clusters import Cluster
from fcreview.store.rows import RunRow
from fcreview.tui.queue.choices import issue_choices, order_choices, run_choices
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.clusters import ClustersScreen
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.session import Session
from fcreview.tui.text.choices import Choices


@dataclass(frozen=True, slots=True)
class Choice:
    ask: Callable[[], ModalScreen[Any]]
    take: Callable[[Any], None]
    """Changes the state; not called if nothing was chosen."""
    offered: Callable[[], bool] = lambda: True
    """Whether there is anything to choose."""


class Choosing:
    def __init__(self, session: Session, state: QueueState) -> None:
        self._session, self._state = session, state
        self.runs: Sequence[RunRow] | None = None
        """Those that were opened, once they are known."""
        self.choices = {
            "order": Choice(lambda: PickScreen(order_choices(state)), state.take_order),
            "clusters": Choice(lambda: ClustersScreen(self._clusters), state.take_terms, lambda: not state.blind),
            "agreement": Choice(self._ask_agreement, state.take_items, lambda: not state.blind),
            "issues": Choice(lambda: PickScreen(load=self._issues), state.take_issue, lambda: not state.blind),
            "runs": Choice(self._ask_run, state.take_run, lambda: len(self.runs or ()) > 1),
        }
        """By the names that the key table has for them."""

    async def _clusters(self) -> Sequence[Cluster]:
        return await self._session.ask(lambda store: store.clusters(self._state.view))

    def _ask_agreement(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.annotators.agreement import AgreementScreen

        return AgreementScreen(self._session, self._state.view)

    async def _issues(self) -> Choices[str]:
        return issue_choices(await self._session.ask(lambda store: store.issues()))

    def _ask_run(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.comparing.runs import RunsScreen

        choices = run_choices(self.runs or [], self._state.run, self._state.blind)
        return RunsScreen(choices, None if self._state.blind else self._compare)

    def _compare(self, a: int, b: int) -> Screen[Any]:
        """Of the items that the queue's filter selects."""
        from fcreview.tui.screens.comparing.compare import CompareScreen

        rows = {row.run: row for row in self.runs or ()}
        return CompareScreen(self._session, self._state.view, (rows[a], rows[b]))

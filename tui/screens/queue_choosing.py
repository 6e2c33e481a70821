"""Filter, search, order and the lists to choose from: the half of the queue screen that sets what is shown."""

from __future__ import annotations

from collections.abc import Sequence

from textual.screen import Screen

from fcreview.clusters import Cluster
from fcreview.store.filters.language import FilterError
from fcreview.store.filters.narrowing import FAILING, narrowed
from fcreview.store.rows import RunRow
from fcreview.tui import keys
from fcreview.tui.queue.choices import ALL_RUNS, issue_choices, order_choices, run_choices
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.clusters import ClustersScreen
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.session import Session
from fcreview.tui.text.choices import Choices
from fcreview.tui.widgets.filter_line import FilterLine
from fcreview.tui.widgets.queue_list import QueueList

FILTER_HINT = ' such as  official:fail -reviewed error:value_error text:"celsius"  (? lists all)'
SEARCH_HINT = " items whose texts contain these words"
QUEUE_ACTIONS = {binding.action for binding in keys.QUEUE}


class QueueChoosing(Screen[None]):
    session: Session
    state: QueueState
    runs: Sequence[RunRow] | None = None
    """All runs of the store, once they are known."""

    @property
    def list(self) -> QueueList:
        return self.query_one("#list", QueueList)

    @property
    def _filter_line(self) -> FilterLine:
        return self.query_one(FilterLine)

    def load(self, item: int | None = None) -> None:
        raise NotImplementedError

    def action_filter(self) -> None:
        self._filter_line.open("filter", self.state.where, FILTER_HINT)

    def action_search(self) -> None:
        self._filter_line.open("search", self.state.search, SEARCH_HINT)

    def on_filter_line_submitted(self, typed: FilterLine.Submitted) -> None:
        line = self._filter_line
        if typed.kind == "search":
            self.state.search = typed.text
        else:
            try:
                self.state.check(typed.text)
            except FilterError as error:
                line.complain(error.message, error.position)
                return
            self.state.where = typed.text
        line.close()
        self._show_view()

    def on_filter_line_cancelled(self) -> None:
        self.list.focus()

    def action_clear_filter(self) -> None:
        self.state.where = self.state.search = ""
        self._show_view()

    def _show_view(self) -> None:
        """After the view was changed: the cursor stays on its item if that is still in it."""
        self.list.focus()
        row = self.list.row_at(self.list.cursor) if self.list.total else None
        self.load(row.item if row else None)

    def action_order(self) -> None:
        self.app.push_screen(PickScreen(order_choices(self.state)), self._take_order)

    def _take_order(self, queue: str | None) -> None:
        if queue is not None:
            self.state.take_order(queue)
            self.load()

    def action_clusters(self) -> None:
        async def load() -> Sequence[Cluster]:
            return await self.session.ask(lambda store: store.clusters(self.state.view))

        self.app.push_screen(ClustersScreen(load), self._take_terms)

    def _take_terms(self, terms: Sequence[str] | None) -> None:
        if terms:
            self.state.where = narrowed(self.state.where, FAILING, *terms)
            self.load()

    def action_issues(self) -> None:
        async def load() -> Choices[str]:
            return issue_choices(await self.session.ask(lambda store: store.issues()))

        self.app.push_screen(PickScreen(load=load), self._take_filter)

    def _take_filter(self, where: str | None) -> None:
        if where:
            self.state.where, self.state.search = where, ""
            self.load()

    def action_runs(self) -> None:
        self.app.push_screen(PickScreen(run_choices(self.runs or [], self.state.run, self.state.blind)), self._take_run)

    def _take_run(self, run: int | None) -> None:
        if run is not None:
            self.state.run = None if run == ALL_RUNS else run
            self.load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Keys that would do nothing here are not shown."""
        if self.is_mounted and self._filter_line.display:
            return action not in QUEUE_ACTIONS
        match action:
            case "clear_filter":
                return bool(self.state.where or self.state.search)
            case "clusters":
                return not self.state.blind
            case "runs":
                return len(self.runs or ()) > 1
            case _:
                return True

"""Show the import issues of the runs, and one issue whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.model.item import ImportIssue
from fcreview.tui.actions import ISSUE_ACTIONS, MODAL_HELP_ACTIONS, PICKER_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.choices import (
    build_issue_choices,
    explain_issue,
    format_issue_text,
    list_import_issues,
    make_issue_filter,
)
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import ChoiceTable
from fcreview.tui.widgets.document_view import LineBlock


class IssuesScreen(PickerScreen[str], inherit_bindings=False):
    """Table of import issues, with the text of the issue under the cursor below it. `enter` shows
    the issue whole. The result is the filter that selects the item of the chosen issue.
    """

    place_name = "issues"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(self, session: Session, runs: Sequence[int], last_filter: str) -> None:
        """Create the screen.

        Args:
            runs: Numbers of the runs with the issues.
            last_filter: Last result of the screen, empty for none. The cursor starts on its issue.
        """
        super().__init__(load=self._load_issues)
        self._session = session
        self._runs = runs
        self._last_filter = last_filter
        self._issues: list[ImportIssue] = []

    def on_mount(self) -> None:
        self.watch(self.list, "cursor", self._draw_explanation, init=False)
        super().on_mount()

    def compose_below_list(self) -> Iterable[Widget]:
        yield LineBlock(id="means")

    async def _load_issues(self) -> ChoiceTable[str]:
        """Read the import issues, and the reasons why items have no recomputed verdict, as a table.

        The cursor is on the issue that was chosen last.
        """
        issues = await self._session.read(lambda store: store.fetch_issues(runs=self._runs))
        missing_verdict_counts = await self._session.read(
            lambda store: store.count_missing_recomputed_by_reason(self._runs)
        )
        self._issues = list_import_issues(issues, missing_verdict_counts)

        choices = build_issue_choices(self._issues, self.table_width)
        if self._last_filter and self._last_filter in choices.values:
            choices.cursor = choices.values.index(self._last_filter)
        return choices

    def on_resize(self) -> None:
        # The columns depend on the width of the screen.
        if self._choices is not None:
            self._choices = build_issue_choices(self._issues, self.table_width)
        super().on_resize()

    def _draw(self) -> None:
        super()._draw()
        self._draw_explanation()

    def _draw_explanation(self) -> None:
        if self._issues:
            issue = self._issues[self.list.cursor]
            self.query_one("#means", LineBlock).show(explain_issue(issue, self.table_width))

    def action_choose_row(self) -> None:
        """Explain the issue under the cursor, and offer to list its items."""
        if not self._issues:
            return
        issue = self._issues[self.list.cursor]

        def show_item_if_chosen(is_chosen: bool | None) -> None:
            if is_chosen:
                self.dismiss(make_issue_filter(issue))

        self.app.push_screen(IssueScreen(issue), show_item_if_chosen)


class IssueScreen(PagerScreen, inherit_bindings=False):
    """Import issue with its complete text, its place and its record. The result is True if the user
    wants to see its item.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ISSUE_ACTIONS)

    def __init__(self, issue: ImportIssue) -> None:
        super().__init__("import issue", format_issue_text(issue))
        self._issue = issue

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that have no effect. The key line and the help omit them."""
        return frozenset() if self._issue.item else frozenset({"issue.open"})

    def action_show_item(self) -> None:
        if self._issue.item:
            self.dismiss(True)
        else:
            self._draw_bars("this issue belongs to no item")

"""Define every action that has a key, in one table for each screen or widget.

The module does not import Textual, so that a configuration file can be checked against the tables
quickly:

    [keys]
    "queue.open" = "enter,l"
    "item.pass" = "y"

Few default keys use Ctrl or Alt, because these conflict with tmux or with the flow control of the
terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True, slots=True)
class Action:
    """Action that the user starts with one or more keys."""

    id: str
    """`group.name`, as in a configuration file. The help screen has one section for each group."""
    keys: str
    """Default keys in Textual's notation, separated by commas: `p`, `j,down`."""
    action: str
    """Textual action that the keys run: a method name, with arguments if needed, such as
    `verdict('pass')`.
    """
    label: str
    """Label of the action in the key line and in the command palette."""
    has_hint: bool = True
    """Whether the key line shows the action. The help screen shows every action."""
    help: str = ""
    """Text on the help screen. If empty, the help screen shows the label."""
    priority: bool = False
    """Whether the app handles the key before the focused widget and before waiting keys."""


hidden = partial(Action, has_hint=False)
"""Makes an action that the key line does not show."""


def make_scroll_actions(id_group: str) -> list[Action]:
    """Return the actions that scroll the text of a screen."""
    return [
        hidden(f"{id_group}.down", "j,down", "scroll(1)", "scroll down"),
        hidden(f"{id_group}.up", "k,up", "scroll(-1)", "scroll up"),
        hidden(f"{id_group}.page_down", "space,pagedown", "page(1)", "page down"),
        hidden(f"{id_group}.page_up", "pageup", "page(-1)", "page up"),
    ]


COMMAND_PALETTE_ACTIONS = [
    Action("palette.take", "enter", "submit", "choose"),
    Action("palette.complete", "tab", "screen.complete", "complete"),
    hidden("palette.down", "down", "screen.move(1)", "move down"),
    hidden("palette.up", "up", "screen.move(-1)", "move up"),
    hidden("palette.page_down", "pagedown", "screen.page(1)", "page down"),
    hidden("palette.page_up", "pageup", "screen.page(-1)", "page up"),
    Action("palette.close", "escape", "screen.escape", "back"),
]
"""Keys of the command palette. All other keys type text into its input."""

PICKER_ACTIONS = [
    Action("picker.take", "enter", "choose_row", "show"),
    Action("picker.close", "q,escape", "close", "back"),
]

RUN_LIST_ACTIONS = [
    *PICKER_ACTIONS,
    Action("runs.order", "s", "next_order", "sort"),
    hidden("runs.reverse", "S", "reverse_order", "reverse the order"),
    Action("runs.grouping", "tab", "next_grouping", "group"),
    Action("runs.find", "slash", "open_search", "find"),
    Action("runs.compare", "x", "mark_run", "compare", help="mark two runs to compare them"),
    hidden("runs.unfold", "right,l", "unfold(True)", "unfold"),
    hidden("runs.refold", "left,h", "unfold(False)", "fold"),
]

RUN_SEARCH_ACTIONS = [
    Action("find.done", "enter", "screen.end_search(True)", "apply"),
    hidden("find.down", "down", "screen.move(1)", "move down"),
    hidden("find.up", "up", "screen.move(-1)", "move up"),
    Action("find.cancel", "escape", "screen.end_search(False)", "show all runs"),
]
"""Keys of the search box of the list of runs. All other keys type text into the box."""

APP_ACTIONS = [
    Action("app.help", "question_mark", "app.help", "help"),
    Action("app.palette", "colon", "app.palette", "palette", priority=True),
    hidden(
        "app.annotator",
        "A",
        "app.annotator",
        "review as another annotator",
        help="switch to another annotator",
    ),
    hidden("app.redraw", "ctrl+l", "app.redraw", "redraw the screen", priority=True),
    hidden("app.quit", "ctrl+q,ctrl+c", "app.quit", "quit", priority=True),
]

MODAL_HELP_ACTIONS = APP_ACTIONS[:1]
"""The help action, for the bindings of modal lists, because Textual disables keys of the app
without priority there.
"""
PROMPT_HELP_ACTIONS = [replace(MODAL_HELP_ACTIONS[0], has_hint=False)]
"""The help action, for prompts, whose key line has little room."""

LIST_ACTIONS = [
    hidden("list.down", "j,down", "move(1)", "move to the next line"),
    hidden("list.up", "k,up", "move(-1)", "move to the previous line"),
    hidden("list.page_down", "pagedown,space", "move_page(1)", "page down"),
    hidden("list.page_up", "pageup", "move_page(-1)", "page up"),
    hidden("list.half_down", "d", "move_half(1)", "scroll half a page down"),
    hidden("list.half_up", "u", "move_half(-1)", "scroll half a page up"),
    hidden("list.first", "g,home", "move_to(0)", "go to the first line"),
    hidden("list.last", "G,end", "move_to(-1)", "go to the last line"),
]

QUEUE_ACTIONS = [
    Action("queue.open", "enter", "open", "open"),
    Action(
        "queue.overview",
        "v",
        "overview",
        "overview",
        help="overview: pass rates, failures, progress and scores",
    ),
    Action("queue.search", "slash", "open_search", "search"),
    Action("queue.filter", "f", "open_filter", "filter"),
    Action("queue.clear", "F,backspace", "clear_filter", "show all"),
    Action(
        "queue.clusters",
        "c",
        "show_list('clusters')",
        "clusters",
        help="clusters: group failures by cause, or suspects by reason",
    ),
    Action(
        "queue.suspects", "s", "suspects", "suspects", help="show golden answers that look wrong"
    ),
    Action("queue.order", "o", "show_list('order')", "sort"),
    Action("queue.runs", "r", "show_list('runs')", "runs"),
    Action(
        "queue.issues",
        "i",
        "show_list('issues')",
        "issues",
        help="issues: list problems in the imported files",
    ),
    Action(
        "queue.agreement",
        "a",
        "show_list('agreement')",
        "agreement",
        help="agreement: compare the annotators",
    ),
    hidden(
        "queue.calibration",
        "C",
        "show_list('calibration')",
        "calibration",
        help="calibration: measure checkers and judges against human labels",
    ),
    hidden(
        "queue.conventions",
        "K",
        "show_list('conventions')",
        "conventions",
        help="conventions: compare how official programs count errors and trials",
    ),
    hidden(
        "queue.check", "t", "show_list('check')", "check", help="check whether the scores are real"
    ),
    Action(
        "queue.adjudicate",
        "x",
        "adjudicate",
        "adjudicate",
        help="adjudicate: resolve annotator disagreements",
    ),
    Action("queue.item", "tab", "focus_item", "go to item"),
    hidden("queue.back", "escape", "back(False)", "back"),
    Action("queue.quit", "q", "back(True)", "quit"),
]

OVERVIEW_ACTIONS = [
    Action("overview.open", "enter", "open_entry", "open"),
    Action("overview.next_panel", "tab", "step_panel(1)", "panel"),
    hidden("overview.previous_panel", "shift+tab", "step_panel(-1)", "previous panel"),
    *(
        hidden(f"overview.panel_{at}", str(at), f"focus_panel({at})", f"go to panel {at}")
        for at in range(1, 6)
    ),
    Action(
        "overview.failures", "f", "show_list('failures')", "failures", help="show the failing items"
    ),
    Action(
        "overview.adjudicate",
        "x",
        "show_list('adjudicate')",
        "adjudicate",
        help="resolve annotator disagreements",
    ),
    Action(
        "overview.suspects",
        "s",
        "show_list('suspects')",
        "suspects",
        help="show golden answers that look wrong",
    ),
    Action(
        "overview.queue",
        "r",
        "show_list('queue')",
        "review",
        help="open your first unreviewed item of a queue file",
    ),
    hidden(
        "overview.check",
        "t",
        "show_list('check')",
        "check",
        help="check whether the scores are real",
    ),
    Action(
        "overview.compare",
        "c",
        "show_list('runs')",
        "compare",
        help="list the runs; mark two to compare them",
    ),
    Action(
        "overview.estimates",
        "n",
        "show_estimates",
        "estimate",
        help="draw a sample and estimate the accuracy",
    ),
    Action(
        "overview.export",
        "e",
        "open_form('export')",
        "export",
        help="export labels, corrected runs or patches",
    ),
    hidden(
        "overview.report", "H", "open_form('report')", "HTML report", help="write the HTML report"
    ),
    Action(
        "overview.find",
        "slash",
        "open_search",
        "find",
        help="find runs by model, benchmark, version or path",
    ),
    Action("overview.order", "o", "next_order", "sort", help="sort the runs"),
    hidden(
        "overview.right", "right,l", "scroll_categories(1)", "scroll to the categories on the right"
    ),
    hidden(
        "overview.left", "left,h", "scroll_categories(-1)", "scroll to the categories on the left"
    ),
    Action("overview.close", "escape,v", "close", "queue"),
    Action("overview.quit", "q", "app.quit", "quit"),
]

ESTIMATE_ACTIONS = [
    Action(
        "estimates.draw", "enter", "focus_form", "draw", help="go to the form that draws a sample"
    ),
    Action(
        "estimates.review",
        "r",
        "review_sample",
        "review",
        help="open your first unreviewed item of the sample",
    ),
    Action("estimates.adjudicate", "x", "adjudicate", "resolve disagreements"),
    hidden("estimates.overview", "v", "overview", "overview", help="show the overview"),
    hidden(
        "estimates.suspects",
        "s",
        "suspects",
        "suspects",
        help="show golden answers that look wrong",
    ),
    Action(
        "estimates.metrics",
        "m",
        "open_form('estimate')",
        "all metrics",
        help="estimate every metric of the run",
    ),
    Action("estimates.report", "h", "open_form('report')", "HTML report"),
    Action(
        "estimates.export",
        "e",
        "open_form('export')",
        "export",
        help="export labels, corrected runs or patches",
    ),
    Action("estimates.close", "escape,q", "close", "back"),
]

COMPARISON_ACTIONS = [
    Action("compare.take", "enter", "choose_row", "open"),
    Action("compare.panel", "tab", "switch_panel", "panel", help="go to the other panel"),
    Action(
        "compare.only",
        "o",
        "next_side",
        "only A / only B",
        help="show items that only A passes, only B passes, or all",
    ),
    Action(
        "compare.source",
        "v",
        "next_source",
        "verdict source",
        help="select the verdicts: official, recomputed, ...",
    ),
    Action(
        "compare.export", "e", "export", "export", help="export labels, corrected runs or patches"
    ),
    Action("compare.close", "q,escape", "close", "back"),
]

FLIP_ACTIONS = [
    Action(
        "flip.next",
        "right_curly_bracket",
        "step_flip(1)",
        "next flip",
        help="show the next item that only one run passes",
    ),
    Action(
        "flip.previous",
        "left_curly_bracket",
        "step_flip(-1)",
        "previous flip",
        help="show the previous item that only one run passes",
    ),
    *make_scroll_actions("flip"),
    Action("flip.close", "q,escape,enter", "close", "back"),
]

CLUSTER_ACTIONS = [
    Action("clusters.take", "enter", "choose_row", "show items"),
    Action("clusters.unfold", "right,l", "unfold(True)", "unfold"),
    hidden("clusters.refold", "left,h", "unfold(False)", "fold"),
    Action("clusters.grouping", "tab", "next_grouping", "grouping", help="change the grouping"),
    Action(
        "clusters.review",
        "B",
        "review_cluster",
        "review all",
        help="review all items of the cluster at once",
    ),
    hidden("clusters.undo_review", "z", "undo", "undo", help="undo your last review"),
    Action("clusters.close", "q,escape", "close", "back"),
]

CONFIRM_ACTIONS = [
    Action("confirm.yes", "y", "answer(True)", "yes"),
    Action("confirm.no", "n,q,escape", "answer(False)", "no"),
]

AGREEMENT_ACTIONS = [
    Action("agreement.take", "enter", "choose_row", "show items"),
    Action("agreement.scope", "tab", "next_table", "next table"),
    Action("agreement.close", "q,escape", "close", "back"),
]

CALIBRATION_ACTIONS = [
    Action("calibration.take", "enter", "choose_row", "show items"),
    Action("calibration.scope", "tab", "next_table", "next table"),
    Action("calibration.close", "q,escape", "close", "back"),
]

CONVENTION_ACTIONS = [
    Action("conventions.take", "enter", "choose_row", "show items"),
    Action("conventions.close", "q,escape", "close", "back"),
]

HELP_ACTIONS = [Action("help.close", "q,escape,enter,question_mark", "close", "back")]

FILTER_INPUT_ACTIONS = [Action("filter.apply", "enter", "submit", "apply")]

FILTER_LINE_ACTIONS = [
    Action("filter.complete", "tab", "complete", "complete"),
    Action("filter.older", "up", "history(-1)", "previous filter"),
    hidden("filter.newer", "down", "history(1)", "next filter"),
    Action("filter.save", "ctrl+s", "save", "save as @name"),
    Action("filter.cancel", "escape", "cancel", "cancel"),
]

ITEM_ACTIONS = [
    Action("item.pass", "p", "verdict('pass')", "pass"),
    Action("item.fail", "f", "verdict('fail')", "fail"),
    Action("item.golden_wrong", "g", "verdict('golden')", "golden wrong"),
    Action("item.unsure", "u", "verdict('unsure')", "unsure"),
    Action("item.fault", "w", "ask_fault", "fault"),
    Action("item.tag", "e", "edit_tags", "tag"),
    Action("item.note", "n", "edit_note", "note"),
    Action("item.undo", "z", "undo", "undo"),
    hidden(
        "item.last_fault",
        "W",
        "prompt_for_last_item('fault')",
        "set the fault of the last reviewed item",
    ),
    hidden("item.last_tag", "E", "prompt_for_last_item('tag')", "tag the last reviewed item"),
    hidden(
        "item.last_note",
        "N",
        "prompt_for_last_item('note')",
        "add a note to the last reviewed item",
    ),
    hidden(
        "item.why",
        "O",
        "give_override_reason",
        "give a reason for the last override",
        help="say why your last verdict contradicts an automatic verdict",
    ),
    hidden("item.golden", "G", "edit_golden", "correct the golden answer"),
    hidden("item.score", "0", "score(0)", "give score 0"),
    *(
        hidden(
            f"item.score_{at}",
            str(at),
            f"score({at})",
            f"give score {at}",
            help=f"give score {at}, or override reason {at} if there are no scores",
        )
        for at in (1, 2)
    ),
    hidden(
        "item.reason_3",
        "3",
        "score(3)",
        "give override reason 3",
        help="give override reason 3 if there are no scores",
    ),
    hidden(
        "item.decisive_step",
        "D",
        "mark_decisive_step",
        "mark the decisive step",
        help="decisive step: confirm it, or mark the message under the cursor",
    ),
    hidden(
        "item.incident",
        "I",
        "toggle_incident",
        "set or clear the mark of an incident",
        help="incident: mark that the item has no answer for a reason outside the question, or"
        " clear the mark",
    ),
    hidden("item.labels", "l", "choose_labels", "choose the response labels"),
    hidden("item.target", "T", "switch_target", "review the item, or the part under the cursor"),
    Action("item.next", "right_square_bracket", "step_item(1)", "next"),
    Action("item.previous", "left_square_bracket", "step_item(-1)", "previous"),
    hidden(
        "item.group_next", "right_curly_bracket", "step_in_group(1)", "show the group's next item"
    ),
    hidden(
        "item.group_previous",
        "left_curly_bracket",
        "step_in_group(-1)",
        "show the group's previous item",
    ),
    hidden("item.elsewhere", "m", "show_other_runs", "show the item in other runs"),
    hidden("item.search", "slash", "search", "search in the item"),
    hidden("item.raw", "R", "show_records", "show raw records"),
    hidden("item.copy", "y", "copy", "copy"),
    hidden("item.overview", "v", "app.overview", "show the overview"),
    hidden("item.back", "q,escape,backspace", "back", "go back to the queue"),
]

ITEM_TEXT_ACTIONS = [
    hidden("item.down", "j", "move(1)", "move to the next call or text"),
    hidden("item.up", "k", "move(-1)", "move to the previous call or text"),
    hidden("item.line_down", "down", "scroll(1)", "scroll down a line"),
    hidden("item.line_up", "up", "scroll(-1)", "scroll up a line"),
    hidden("item.next_turn", "J", "step_turn(1)", "move to the next turn"),
    hidden("item.previous_turn", "K", "step_turn(-1)", "move to the previous turn"),
    hidden("item.arguments", "a", "toggle_arguments", "move to the arguments of the call"),
    hidden(
        "item.aside", "tab", "focus_list", "go to the list, or to the arguments if there is no list"
    ),
    hidden("item.page_down", "pagedown", "page(1)", "page down"),
    hidden("item.page_up", "pageup", "page(-1)", "page up"),
    hidden("item.top", "home", "scroll_to_edge(-1)", "go to the top"),
    hidden("item.bottom", "end", "scroll_to_edge(1)", "go to the end"),
    hidden(
        "item.difference",
        "full_stop",
        "next_difference",
        "move to the first difference",
        help="move to the decisive step, then to the first difference",
    ),
    hidden("item.fold", "enter,space", "toggle_fold", "fold, unfold or open long text"),
    hidden("item.again", "s", "search_again(1)", "find the next match"),
    hidden("item.before", "S", "search_again(-1)", "find the previous match"),
    hidden("item.dialogue", "t", "toggle_dialogue", "show the full or the short dialogue"),
    hidden("item.document", "d", "next_docs", "show function docs: golden, predicted, all, none"),
]

BULK_ITEM_ACTIONS = (
    "item.pass",
    "item.fail",
    "item.golden_wrong",
    "item.unsure",
    "item.fault",
    "item.tag",
)
BULK_REVIEW_ACTIONS = [
    *(action for action in ITEM_ACTIONS if action.id in BULK_ITEM_ACTIONS),
    Action("bulk.record", "enter", "record", "record"),
    *make_scroll_actions("bulk"),
    Action("bulk.cancel", "q,escape", "cancel", "cancel"),
]
"""Keys of the bulk review screen."""

_SHARED_ITEM_ACTIONS = (
    *("pass", "fail", "golden_wrong", "unsure", "fault", "note", "undo", "target"),
    *("next", "previous", "search", "raw", "copy", "back"),
)
ADJUDICATION_ACTIONS = [
    *(
        Action(
            f"adjudication.take_{at}",
            str(at),
            f"accept_answer({at})",
            f"accept {chr(ord('A') + at - 1)}",
            has_hint=at < 4,
        )
        for at in range(1, 10)
    ),
    *(action for action in ITEM_ACTIONS if action.id.partition(".")[2] in _SHARED_ITEM_ACTIONS),
    Action("adjudication.other", "o", "enter_value", "enter value"),
    hidden("adjudication.answers", "v", "show_answers", "show the answers in full"),
]
"""Keys of the adjudication screen."""

PAGER_ACTIONS = [
    Action("pager.close", "q,escape", "close", "back"),
    Action("pager.search", "slash", "search", "search"),
    Action("pager.again", "s,n,enter", "search_again(1)", "next match"),
    Action("pager.before", "S", "search_again(-1)", "previous match"),
    Action("pager.raw", "r", "toggle_raw", "raw text"),
    hidden("pager.fold", "left,h", "change_depth(-1)", "fold JSON by one level"),
    hidden("pager.unfold", "right,l", "change_depth(1)", "unfold JSON by one level"),
    *make_scroll_actions("pager"),
    hidden("pager.top", "home", "scroll_to_edge(-1)", "go to the top"),
    hidden("pager.bottom", "end", "scroll_to_edge(1)", "go to the end"),
    hidden("pager.copy", "y", "copy", "copy"),
]

GOLDEN_EDITOR_ACTIONS = [
    Action("golden.save", "enter", "save", "save"),
    Action("golden.edit", "tab,i", "edit_text", "edit text"),
    Action("golden.editor", "v", "open_editor", "open $EDITOR"),
    Action("golden.reason", "n", "edit_reason", "reason"),
    Action("golden.start", "o", "restore_original", "restore original"),
    Action("golden.cancel", "escape,q", "cancel", "cancel"),
]

GOLDEN_TEXT_ACTIONS = [
    Action(
        "golden.keys",
        "tab,escape",
        "screen.leave_text",
        "leave the text box, then save, open $EDITOR, give a reason or cancel",
    )
]
"""Keys of the text box with the golden answer. All other keys type text into the box."""

COPY_ACTIONS = [
    Action("copy.this", "y,enter", "answer('this')", "selection"),
    Action("copy.call", "c", "answer('call')", "call"),
    Action("copy.diff", "d", "answer('diff')", "diff"),
    Action("copy.markdown", "m", "answer('markdown')", "Markdown"),
    Action("copy.json", "j", "answer('json')", "item as JSON"),
    Action("copy.command", "l", "answer('command')", "fcreview command"),
    Action("copy.cancel", "escape,q", "cancel", "back"),
]

NOTE_ACTIONS = [
    Action("note.save", "enter", "screen.save", "save"),
    Action("note.line", "down", "new_line", "move down, or add a line at the end"),
    Action("note.cancel", "escape", "screen.cancel", "cancel"),
]

PROMPT_ACTIONS = [Action("ask.cancel", "escape", "cancel", "cancel")]

FORM_ACTIONS = [
    Action("form.submit", "enter", "screen.submit", "submit"),
    Action("form.next", "tab,down", "screen.move(1)", "next field"),
    Action("form.previous", "shift+tab,up", "screen.move(-1)", "previous field"),
    Action("form.clear", "ctrl+u", "clear_text", "clear field"),
    Action("form.cancel", "escape", "screen.cancel", "cancel"),
]
"""Keys of a form. All other keys type text into its fields."""

FAULT_ACTIONS = [
    Action("fault.model", "m", "answer('model')", "model"),
    Action("fault.golden", "g", "answer('golden')", "golden"),
    Action("fault.checker", "c", "answer('checker')", "checker"),
    Action("fault.judge", "j", "answer('judge')", "judge"),
    Action("fault.simulator", "s", "answer('simulator')", "simulator"),
    Action("fault.question", "q", "answer('question')", "question"),
    Action("fault.cancel", "escape", "cancel", "back"),
]

OVERRIDE_REASON_ACTIONS = [
    *(
        hidden(f"why.take_{at}", str(at), f"answer({at})", f"choose reason {at}")
        for at in range(1, 10)
    ),
    Action("why.cancel", "escape,q", "cancel", "back"),
]

TAG_ACTIONS = [
    Action("tags.save", "enter", "save", "save"),
    Action("tags.toggle", "space", "toggle_tag", "set or clear"),
    Action("tags.new", "n,slash", "enter_new_tag", "new tag"),
    *(
        hidden(f"tags.set_{at}", str(at), f"toggle_number({at})", f"set or clear tag {at}")
        for at in range(1, 10)
    ),
    hidden("tags.down", "j,down", "move(1)", "move down"),
    hidden("tags.up", "k,up", "move(-1)", "move up"),
    Action("tags.cancel", "q,escape", "cancel", "cancel"),
]

_LIST_SCREENS = (
    *(
        QUEUE_ACTIONS,
        PICKER_ACTIONS,
        RUN_LIST_ACTIONS,
        COMPARISON_ACTIONS,
        CLUSTER_ACTIONS,
        OVERVIEW_ACTIONS,
    ),
    *(ESTIMATE_ACTIONS, AGREEMENT_ACTIONS, CALIBRATION_ACTIONS, CONVENTION_ACTIONS, HELP_ACTIONS),
)
_DIALOGS = (
    *(
        FAULT_ACTIONS,
        OVERRIDE_REASON_ACTIONS,
        TAG_ACTIONS,
        COPY_ACTIONS,
        GOLDEN_EDITOR_ACTIONS,
        GOLDEN_TEXT_ACTIONS,
    ),
    *(NOTE_ACTIONS, PROMPT_ACTIONS, FORM_ACTIONS, PAGER_ACTIONS, FLIP_ACTIONS, RUN_SEARCH_ACTIONS),
    *(BULK_REVIEW_ACTIONS, CONFIRM_ACTIONS),
)
KEY_SCOPES: tuple[Sequence[Action], ...] = (
    *([*table, *LIST_ACTIONS, *APP_ACTIONS] for table in _LIST_SCREENS),
    [*FILTER_LINE_ACTIONS, *FILTER_INPUT_ACTIONS, *APP_ACTIONS],
    [*ITEM_ACTIONS, *ITEM_TEXT_ACTIONS, *APP_ACTIONS],
    [*ADJUDICATION_ACTIONS, *ITEM_TEXT_ACTIONS, *APP_ACTIONS],
    *([*table, *APP_ACTIONS] for table in _DIALOGS),
    COMMAND_PALETTE_ACTIONS,
)
"""Sets of actions that are active at the same time.

Within a set, no two actions may have the same key.
"""
ACTIONS: dict[str, Action] = {action.id: action for scope in KEY_SCOPES for action in scope}
SHARED_GROUPS = ("list", "app")
"""Groups of actions that many screens share."""

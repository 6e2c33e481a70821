"""Define every action that has a key, in one table for each screen or widget.

The module does not import Textual, so that a configuration file can be checked against the tables
quickly:

    [keys]
    "queue.open" = "enter,O"
    "item.pass" = "y"

Few default keys use Ctrl or Alt, because these conflict with tmux or with the flow control of the
terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial

from fcreview.tui.verdict_keys import VERDICT_KEYS


@dataclass(frozen=True, slots=True)
class Action:
    """Action that the user starts with one or more keys."""

    id: str
    """`group.name`, as in a configuration file. The help screen has one section for each group."""
    keys: str
    """Default keys in Textual's notation, separated by commas: `p`, `j,down`."""
    _: KW_ONLY
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


NO_KEY = "no_key"
"""Key name for an action without a key. No terminal sends this key."""

hidden = partial(Action, has_hint=False)
"""Makes an action that the key line does not show."""


def make_scroll_actions(id_group: str) -> list[Action]:
    """Return the actions that scroll the text of a screen."""
    return [
        hidden(f"{id_group}.down", "j,down", action="scroll(1)", label="scroll down"),
        hidden(f"{id_group}.up", "k,up", action="scroll(-1)", label="scroll up"),
        hidden(f"{id_group}.page_down", "space,pagedown", action="page(1)", label="page down"),
        hidden(f"{id_group}.page_up", "pageup", action="page(-1)", label="page up"),
    ]


def make_verdict_actions() -> list[Action]:
    """Return the actions that give a verdict."""
    return [
        Action(key.action_id, key.default_key, action=f"verdict('{key.name}')", label=key.label)
        for key in VERDICT_KEYS
    ]


def make_question_action(id_group: str) -> Action:
    """Return the action that shows the question under the cursor across all runs."""
    return hidden(
        f"{id_group}.elsewhere",
        "m",
        action="show_question",
        label="question in all runs",
        help="compare the answers of all runs to this question",
    )


COMMAND_PALETTE_ACTIONS = [
    Action("palette.take", "enter", action="submit", label="choose"),
    Action("palette.complete", "tab", action="screen.complete", label="complete"),
    hidden("palette.down", "down", action="screen.move(1)", label="move down"),
    hidden("palette.up", "up", action="screen.move(-1)", label="move up"),
    hidden("palette.page_down", "pagedown", action="screen.page(1)", label="page down"),
    hidden("palette.page_up", "pageup", action="screen.page(-1)", label="page up"),
    Action("palette.close", "escape", action="screen.escape", label="back"),
]
"""Keys of the command palette. All other keys type text into its input."""

PICKER_ACTIONS = [
    Action("picker.take", "enter", action="choose_row", label="show"),
    Action("picker.close", "q,escape", action="close", label="back"),
]

ANNOTATOR_PICKER_ACTIONS = [replace(PICKER_ACTIONS[0], label="review as"), *PICKER_ACTIONS[1:]]
"""Keys of the list of annotators. Its Enter key says what choosing a row does."""

RUN_LIST_ACTIONS = [
    *PICKER_ACTIONS,
    Action("runs.order", "o", action="next_order", label="sort"),
    hidden("runs.reverse", "S", action="reverse_order", label="reverse the order"),
    Action("runs.grouping", "tab", action="next_grouping", label="group"),
    Action("runs.find", "slash", action="open_search", label="find"),
    Action(
        "runs.compare",
        "equals_sign",
        action="mark_run",
        label="mark to compare",
        help="mark a run; the second mark opens the comparison of both",
    ),
    hidden("runs.unfold", "right", action="unfold(True)", label="unfold"),
    hidden("runs.refold", "left", action="unfold(False)", label="fold"),
]

RUN_SEARCH_ACTIONS = [
    Action("find.done", "enter", action="screen.end_search(True)", label="apply"),
    hidden("find.down", "down", action="screen.move(1)", label="move down"),
    hidden("find.up", "up", action="screen.move(-1)", label="move up"),
    Action("find.cancel", "escape", action="screen.end_search(False)", label="show all runs"),
]
"""Keys of the search box of the list of runs. All other keys type text into the box."""

APP_ACTIONS = [
    Action("app.help", "question_mark", action="app.help", label="help"),
    Action("app.palette", "colon", action="app.palette", label="palette", priority=True),
    hidden(
        "app.annotator",
        "A",
        action="app.annotator",
        label="review as another annotator",
        help="switch to another annotator",
    ),
    hidden(
        "app.hide_models",
        "asterisk",
        action="app.hide_models",
        label="hide model names",
        help="hide the names of models, or show them again",
    ),
    hidden("app.redraw", "ctrl+l", action="app.redraw", label="redraw the screen", priority=True),
    hidden(
        "app.suspend",
        "ctrl+z",
        action="app.suspend_process",
        label="suspend",
        help="give the terminal back to the shell; fg continues",
        priority=True,
    ),
    hidden("app.quit", "ctrl+q", action="app.quit", label="quit", priority=True),
    hidden(
        "app.copy",
        "ctrl+c",
        action="app.copy_or_quit",
        label="quit",
        help="copy the text that is selected with the mouse; without a selection, quit",
        priority=True,
    ),
]

MODAL_HELP_ACTIONS = APP_ACTIONS[:1]
"""The help action, for the bindings of modal lists, because Textual disables keys of the app
without priority there.
"""
PROMPT_HELP_ACTIONS = [replace(MODAL_HELP_ACTIONS[0], has_hint=False)]
"""The help action, for prompts, whose key line has little room."""

LIST_ACTIONS = [
    hidden("list.down", "j,down", action="move(1)", label="move to the next line"),
    hidden("list.up", "k,up", action="move(-1)", label="move to the previous line"),
    hidden("list.page_down", "pagedown,space", action="move_page(1)", label="page down"),
    hidden("list.page_up", "pageup", action="move_page(-1)", label="page up"),
    hidden("list.half_down", NO_KEY, action="move_half(1)", label="scroll half a page down"),
    hidden("list.half_up", NO_KEY, action="move_half(-1)", label="scroll half a page up"),
    hidden("list.first", "home", action="move_to(0)", label="go to the first line"),
    hidden("list.last", "end", action="move_to(-1)", label="go to the last line"),
]

QUEUE_ACTIONS = [
    Action("queue.open", "enter", action="open", label="open"),
    Action(
        "queue.overview",
        "v",
        action="overview",
        label="overview",
        help="overview: pass rates, failures, progress and scores",
    ),
    Action("queue.search", "slash", action="open_search", label="search"),
    Action("queue.filter", "F", action="open_filter", label="filter"),
    Action("queue.clear", "backspace", action="clear_filter", label="show all"),
    Action(
        "queue.clusters",
        "c",
        action="show_list('clusters')",
        label="clusters",
        help="clusters: group failures by cause, or suspects by reason",
    ),
    Action(
        "queue.suspects",
        "s",
        action="suspects",
        label="suspects",
        help="show golden answers that look wrong",
    ),
    Action("queue.order", "o", action="show_list('order')", label="sort"),
    Action("queue.runs", "r", action="show_list('runs')", label="runs"),
    Action(
        "queue.issues",
        "i",
        action="show_list('issues')",
        label="issues",
        help="issues: list problems in the imported files",
    ),
    Action(
        "queue.agreement",
        "percent_sign",
        action="show_list('agreement')",
        label="agreement",
        help="agreement: compare the annotators",
    ),
    hidden(
        "queue.calibration",
        "C",
        action="show_list('calibration')",
        label="calibration",
        help="calibration: measure checkers and judges against human labels",
    ),
    hidden(
        "queue.conventions",
        "number_sign",
        action="show_list('conventions')",
        label="conventions",
        help="conventions: compare how official programs count errors and trials",
    ),
    hidden(
        "queue.ranking",
        "Z",
        action="show_list('ranking')",
        label="ranking",
        help="ranking: rank the runs, with the interval of each rank",
    ),
    hidden(
        "queue.check",
        "exclamation_mark",
        action="show_list('check')",
        label="check",
        help="check whether the scores are real",
    ),
    Action(
        "queue.adjudicate",
        "x",
        action="adjudicate",
        label="adjudicate",
        help="adjudicate: resolve annotator disagreements",
    ),
    make_question_action("queue"),
    Action("queue.item", "tab", action="focus_item", label="go to item"),
    hidden("queue.back", "escape", action="back(False)", label="back"),
    Action("queue.quit", "q", action="back(True)", label="quit"),
]

OVERVIEW_ACTIONS = [
    Action("overview.open", "enter", action="open_entry", label="open"),
    Action("overview.next_panel", "tab", action="step_panel(1)", label="panel"),
    hidden("overview.previous_panel", "shift+tab", action="step_panel(-1)", label="previous panel"),
    *(
        hidden(
            f"overview.panel_{at}", str(at), action=f"focus_panel({at})", label=f"go to panel {at}"
        )
        for at in range(1, 6)
    ),
    Action(
        "overview.failures",
        "L",
        action="show_list('failures')",
        label="failures",
        help="show the failing items",
    ),
    Action(
        "overview.adjudicate",
        "x",
        action="show_list('adjudicate')",
        label="adjudicate",
        help="resolve annotator disagreements",
    ),
    Action(
        "overview.suspects",
        "s",
        action="show_list('suspects')",
        label="suspects",
        help="show golden answers that look wrong",
    ),
    Action(
        "overview.queue",
        "b",
        action="show_list('queue')",
        label="review",
        help="open your first unreviewed item of a queue file",
    ),
    hidden(
        "overview.check",
        "exclamation_mark",
        action="show_list('check')",
        label="check",
        help="check whether the scores are real",
    ),
    Action(
        "overview.run_list",
        "r",
        action="show_list('runs')",
        label="runs",
        help="list the runs; mark two to compare them",
    ),
    hidden(
        "overview.ranking",
        "Z",
        action="show_list('ranking')",
        label="ranking",
        help="rank the runs, with the interval of each rank",
    ),
    Action(
        "overview.estimates",
        "M",
        action="show_estimates",
        label="estimate",
        help="draw a sample and estimate the accuracy",
    ),
    Action(
        "overview.export",
        "X",
        action="open_form('export')",
        label="export",
        help="export labels, corrected runs or patches",
    ),
    hidden(
        "overview.report",
        "H",
        action="open_form('report')",
        label="HTML report",
        help="write the HTML report",
    ),
    Action(
        "overview.find",
        "slash",
        action="open_search",
        label="find",
        help="find runs by model, benchmark, version or path",
    ),
    Action("overview.order", "o", action="next_order", label="sort", help="sort the runs"),
    hidden(
        "overview.right",
        "right",
        action="scroll_categories(1)",
        label="scroll to the categories on the right",
    ),
    hidden(
        "overview.left",
        "left",
        action="scroll_categories(-1)",
        label="scroll to the categories on the left",
    ),
    Action("overview.close", "escape,v", action="close", label="back"),
    Action("overview.quit", "q", action="app.quit", label="quit"),
]

ESTIMATE_ACTIONS = [
    Action(
        "estimates.draw",
        "enter",
        action="focus_form",
        label="draw",
        help="go to the form that draws a sample",
    ),
    Action(
        "estimates.review",
        "b",
        action="review_sample",
        label="review",
        help="open your first unreviewed item of the sample",
    ),
    Action("estimates.adjudicate", "x", action="adjudicate", label="resolve disagreements"),
    hidden(
        "estimates.overview", "v", action="overview", label="overview", help="show the overview"
    ),
    hidden(
        "estimates.suspects",
        "s",
        action="suspects",
        label="suspects",
        help="show golden answers that look wrong",
    ),
    Action(
        "estimates.metrics",
        "M",
        action="open_form('estimate')",
        label="all metrics",
        help="estimate every metric of the run",
    ),
    Action("estimates.report", "H", action="open_form('report')", label="HTML report"),
    Action(
        "estimates.export",
        "X",
        action="open_form('export')",
        label="export",
        help="export labels, corrected runs or patches",
    ),
    Action("estimates.close", "escape,q", action="close", label="back"),
]

COMPARISON_ACTIONS = [
    Action("compare.take", "enter", action="choose_row", label="open"),
    Action(
        "compare.panel", "tab", action="switch_panel", label="panel", help="go to the other panel"
    ),
    Action(
        "compare.only",
        "right",
        action="step_side(1)",
        label="only A / only B",
        help="show items that only A passes, only B passes, or all",
    ),
    hidden(
        "compare.only_before",
        "left",
        action="step_side(-1)",
        label="only B / only A",
        help="show all items, items that only B passes, or items that only A passes",
    ),
    Action(
        "compare.source",
        "V",
        action="next_source",
        label="verdict source",
        help="select the verdicts: official, recomputed, ...",
    ),
    make_question_action("compare"),
    Action(
        "compare.export",
        "X",
        action="export",
        label="export",
        help="export labels, corrected runs or patches",
    ),
    Action("compare.close", "q,escape", action="close", label="back"),
]

FLIP_ACTIONS = [
    Action(
        "flip.next",
        "right_square_bracket",
        action="step_flip(1)",
        label="next flip",
        help="show the next item that only one run passes",
    ),
    Action(
        "flip.previous",
        "left_square_bracket",
        action="step_flip(-1)",
        label="previous flip",
        help="show the previous item that only one run passes",
    ),
    make_question_action("flip"),
    *make_scroll_actions("flip"),
    Action("flip.close", "q,escape,enter", action="close", label="back"),
]

CLEAR_SCOPE_ACTION = Action(
    "scope.clear",
    "backspace",
    action="clear_scope",
    label="all items",
    help="compute the figures of all items of the runs",
)
"""Action of the screens that name the items of their figures on a chip in the top line."""

CLUSTER_ACTIONS = [
    Action("clusters.take", "enter", action="choose_row", label="show items"),
    Action("clusters.unfold", "right", action="unfold(True)", label="unfold"),
    hidden("clusters.refold", "left", action="unfold(False)", label="fold"),
    Action(
        "clusters.grouping",
        "tab",
        action="next_grouping",
        label="grouping",
        help="change the grouping",
    ),
    Action(
        "clusters.review",
        "B",
        action="review_cluster",
        label="review all",
        help="review all items of the cluster at once",
    ),
    make_question_action("clusters"),
    hidden("clusters.undo_review", "z", action="undo", label="undo", help="undo your last review"),
    CLEAR_SCOPE_ACTION,
    Action("clusters.close", "q,escape", action="close", label="back"),
]

CONFIRM_ACTIONS = [
    Action("confirm.yes", "y", action="answer(True)", label="yes"),
    Action("confirm.no", "n,q,escape", action="answer(False)", label="no"),
]

AGREEMENT_ACTIONS = [
    Action("agreement.take", "enter", action="choose_row", label="show items"),
    Action("agreement.scope", "tab", action="next_table", label="next table"),
    CLEAR_SCOPE_ACTION,
    Action("agreement.close", "q,escape", action="close", label="back"),
]

CALIBRATION_ACTIONS = [
    Action("calibration.take", "enter", action="choose_row", label="show items"),
    Action("calibration.scope", "tab", action="next_table", label="next table"),
    CLEAR_SCOPE_ACTION,
    Action("calibration.close", "q,escape", action="close", label="back"),
]

CONVENTION_ACTIONS = [
    Action("conventions.take", "enter", action="choose_row", label="show items"),
    CLEAR_SCOPE_ACTION,
    Action("conventions.close", "q,escape", action="close", label="back"),
]

RANKING_ACTIONS = [
    Action("ranking.take", "enter", action="choose_row", label="deciding items"),
    CLEAR_SCOPE_ACTION,
    Action("ranking.close", "q,escape", action="close", label="back"),
]

HELP_ACTIONS = [Action("help.close", "q,escape,enter,question_mark", action="close", label="back")]

FILTER_INPUT_ACTIONS = [Action("filter.apply", "enter", action="submit", label="apply")]

FILTER_LINE_ACTIONS = [
    Action("filter.complete", "tab", action="complete", label="complete"),
    Action("filter.older", "up", action="history(-1)", label="previous filter"),
    hidden("filter.newer", "down", action="history(1)", label="next filter"),
    Action("filter.save", "ctrl+s", action="save", label="save as @name"),
    Action("filter.cancel", "escape", action="cancel", label="cancel"),
]

ITEM_ACTIONS = [
    *make_verdict_actions(),
    Action("item.fault", "w", action="ask_fault", label="fault"),
    Action("item.tag", "e", action="edit_tags", label="tag"),
    Action("item.note", "n", action="edit_note", label="note"),
    Action("item.undo", "z", action="undo", label="undo"),
    hidden(
        "item.last_fault",
        "W",
        action="prompt_for_last_item('fault')",
        label="set the fault of the last reviewed item",
    ),
    hidden(
        "item.last_tag",
        "E",
        action="prompt_for_last_item('tag')",
        label="tag the last reviewed item",
    ),
    hidden(
        "item.last_note",
        "N",
        action="prompt_for_last_item('note')",
        label="add a note to the last reviewed item",
    ),
    hidden(
        "item.why",
        "O",
        action="give_override_reason",
        label="give a reason for the last override",
        help="say why your last verdict contradicts an automatic verdict",
    ),
    hidden("item.golden", "G", action="edit_golden", label="correct the golden answer"),
    hidden("item.score", "0", action="score(0)", label="give score 0"),
    *(
        hidden(
            f"item.score_{at}",
            str(at),
            action=f"score({at})",
            label=f"give score {at}",
            help=f"give answer or score {at}, or override reason {at} if there are none",
        )
        for at in (1, 2)
    ),
    hidden(
        "item.reason_3",
        "3",
        action="score(3)",
        label="give override reason 3",
        help="give override reason 3 if there are no answers and no scores",
    ),
    hidden(
        "item.decisive_step",
        "D",
        action="mark_decisive_step",
        label="mark the decisive step",
        help="decisive step: confirm it, or mark the message under the cursor",
    ),
    hidden(
        "item.incident",
        "I",
        action="toggle_incident",
        label="set or clear the mark of an incident",
        help="incident: mark that the item has no answer for a reason outside the question, or"
        " clear the mark",
    ),
    hidden("item.labels", "l", action="choose_labels", label="choose the response labels"),
    hidden(
        "item.target",
        "T",
        action="switch_target",
        label="review the item, or the part under the cursor",
    ),
    Action("item.next", "right_square_bracket", action="step_item(1)", label="next"),
    Action("item.previous", "left_square_bracket", action="step_item(-1)", label="previous"),
    hidden(
        "item.group_next",
        "right_curly_bracket",
        action="step_in_group(1)",
        label="show the group's next item",
    ),
    hidden(
        "item.group_previous",
        "left_curly_bracket",
        action="step_in_group(-1)",
        label="show the group's previous item",
    ),
    make_question_action("item"),
    hidden("item.search", "slash", action="search", label="search in the item"),
    hidden("item.raw", "R", action="show_records", label="show raw records"),
    hidden(
        "item.guidelines", "h", action="show_guidelines", label="show the annotation guidelines"
    ),
    hidden("item.copy", "y", action="copy", label="copy"),
    hidden("item.overview", "v", action="app.overview", label="show the overview"),
    hidden("item.back", "q,escape", action="back", label="go back to the list"),
]

ITEM_TEXT_ACTIONS = [
    hidden("item.down", "j", action="move(1)", label="move to the next call or text"),
    hidden("item.up", "k", action="move(-1)", label="move to the previous call or text"),
    hidden("item.line_down", "down", action="scroll(1)", label="scroll down a line"),
    hidden("item.line_up", "up", action="scroll(-1)", label="scroll up a line"),
    hidden("item.next_turn", "J", action="step_turn(1)", label="move to the next turn"),
    hidden("item.previous_turn", "K", action="step_turn(-1)", label="move to the previous turn"),
    hidden(
        "item.arguments", "a", action="toggle_arguments", label="move to the arguments of the call"
    ),
    hidden(
        "item.aside",
        "tab",
        action="focus_list",
        label="go to the list, or to the arguments if there is no list",
    ),
    hidden("item.page_down", "space,pagedown", action="page(1)", label="page down"),
    hidden("item.page_up", "pageup", action="page(-1)", label="page up"),
    hidden("item.top", "home", action="scroll_to_edge(-1)", label="go to the top"),
    hidden("item.bottom", "end", action="scroll_to_edge(1)", label="go to the end"),
    hidden(
        "item.difference",
        "full_stop",
        action="next_difference",
        label="move to the first difference",
        help="move to the decisive step, then to the first difference",
    ),
    hidden("item.fold", "enter", action="toggle_fold", label="fold, unfold or open long text"),
    hidden(
        "item.again", "greater_than_sign", action="search_again(1)", label="find the next match"
    ),
    hidden(
        "item.before", "less_than_sign", action="search_again(-1)", label="find the previous match"
    ),
    hidden(
        "item.dialogue", "t", action="toggle_dialogue", label="show the full or the short dialogue"
    ),
    hidden("item.fold_all", "left_parenthesis", action="fold_all(True)", label="fold all"),
    hidden("item.unfold_all", "right_parenthesis", action="fold_all(False)", label="unfold all"),
    hidden(
        "item.document",
        "d",
        action="next_docs",
        label="show function docs: golden, predicted, all, none",
    ),
]

BULK_ITEM_ACTIONS = (*(key.action_id for key in VERDICT_KEYS), "item.fault", "item.tag")
BULK_REVIEW_ACTIONS = [
    *(action for action in ITEM_ACTIONS if action.id in BULK_ITEM_ACTIONS),
    Action("bulk.record", "enter", action="record", label="record"),
    *make_scroll_actions("bulk"),
    Action("bulk.cancel", "q,escape", action="cancel", label="cancel"),
]
"""Keys of the bulk review screen."""

_SHARED_ITEM_ACTIONS = (
    *(key.action_id for key in VERDICT_KEYS),
    "item.fault",
    "item.note",
    "item.undo",
    "item.target",
    "item.next",
    "item.previous",
    "item.search",
    "item.raw",
    "item.guidelines",
    "item.copy",
    "item.back",
)
ADJUDICATION_ACTIONS = [
    *(
        Action(
            f"adjudication.take_{at}",
            str(at),
            action=f"accept_answer({at})",
            label=f"accept {chr(ord('A') + at - 1)}",
            has_hint=at < 4,
        )
        for at in range(1, 10)
    ),
    *(action for action in ITEM_ACTIONS if action.id in _SHARED_ITEM_ACTIONS),
    Action("adjudication.other", "0", action="enter_value", label="enter value"),
    CLEAR_SCOPE_ACTION,
    hidden("adjudication.answers", "plus", action="show_answers", label="show the answers in full"),
]
"""Keys of the adjudication screen."""

QUESTION_ACTIONS = [
    *make_verdict_actions(),
    next(action for action in ITEM_ACTIONS if action.id == "item.undo"),
    Action(
        "question.open",
        "enter",
        action="open_item",
        label="open",
        help="open the item of a run with this answer",
    ),
    Action(
        "question.next",
        "right_square_bracket",
        action="step_question(1)",
        label="next",
        help="show the next question",
    ),
    hidden(
        "question.previous",
        "left_square_bracket",
        action="step_question(-1)",
        label="show the previous question",
    ),
    hidden(
        "question.guidelines", "h", action="show_guidelines", label="show the annotation guidelines"
    ),
    hidden("question.down", "j,down", action="move(1)", label="move to the next answer"),
    hidden("question.up", "k,up", action="move(-1)", label="move to the previous answer"),
    hidden("question.page_down", "space,pagedown", action="page(1)", label="page down"),
    hidden("question.page_up", "pageup", action="page(-1)", label="page up"),
    hidden("question.first", "home", action="move_to(0)", label="go to the first answer"),
    hidden("question.last", "end", action="move_to(-1)", label="go to the last answer"),
    Action("question.close", "q,escape", action="close", label="back"),
]
"""Keys of the screen with one question and the answers of all runs."""

PAGER_ACTIONS = [
    Action("pager.close", "q,escape", action="close", label="back"),
    Action("pager.search", "slash", action="search", label="search"),
    Action("pager.again", "greater_than_sign,enter", action="search_again(1)", label="next match"),
    Action("pager.before", "less_than_sign", action="search_again(-1)", label="previous match"),
    Action("pager.raw", "R", action="toggle_raw", label="raw text"),
    hidden("pager.fold", "left", action="change_depth(-1)", label="fold JSON by one level"),
    hidden("pager.unfold", "right", action="change_depth(1)", label="unfold JSON by one level"),
    *make_scroll_actions("pager"),
    hidden("pager.top", "home", action="scroll_to_edge(-1)", label="go to the top"),
    hidden("pager.bottom", "end", action="scroll_to_edge(1)", label="go to the end"),
    hidden("pager.copy", "y", action="copy", label="copy"),
]

ISSUE_ACTIONS = [
    Action("issue.open", "enter", action="show_item", label="show the item"),
    *(
        replace(action, keys="greater_than_sign") if action.id == "pager.again" else action
        for action in PAGER_ACTIONS
    ),
]
"""Keys of a whole import issue. Enter opens its item, so that only `>` goes to the next match."""

GOLDEN_EDITOR_ACTIONS = [
    Action("golden.save", "enter", action="save", label="save"),
    Action("golden.edit", "tab,i", action="edit_text", label="edit text"),
    Action("golden.take_this", "t", action="take_this_answer", label="take this answer"),
    Action("golden.take_most", "m", action="take_most_given_answer", label="take most given"),
    Action("golden.start", "o", action="restore_original", label="restore original"),
    Action("golden.reason", "n", action="edit_reason", label="reason"),
    Action("golden.editor", "v", action="open_editor", label="open $EDITOR"),
    *make_scroll_actions("golden"),
    Action("golden.cancel", "escape,q", action="cancel", label="cancel"),
]

GOLDEN_TEXT_ACTIONS = [
    Action(
        "golden.keys",
        "tab,escape",
        action="screen.leave_text",
        label="leave the text box, then save, open $EDITOR, give a reason or cancel",
    )
]
"""Keys of the text box with the golden answer. All other keys type text into the box."""

GOLDEN_EFFECT_ACTIONS = [
    *(action for action in ITEM_ACTIONS if action.id in {key.action_id for key in VERDICT_KEYS}),
    Action(
        "golden_effect.siblings",
        "s",
        action="toggle_siblings",
        label="siblings too",
        help="correct the siblings of the question in the same save, or leave them",
    ),
    *make_scroll_actions("golden_effect"),
    Action("golden_effect.cancel", "escape,q", action="cancel", label="back to the text"),
]
"""Keys of the screen that shows what a golden fix changes. A verdict saves the fix."""

COPY_ACTIONS = [
    Action("copy.this", "y,enter", action="answer('this')", label="selection"),
    Action("copy.call", "c", action="answer('call')", label="call"),
    Action("copy.diff", "d", action="answer('diff')", label="diff"),
    Action("copy.markdown", "m", action="answer('markdown')", label="Markdown"),
    Action("copy.json", "j", action="answer('json')", label="item as JSON"),
    Action("copy.command", "l", action="answer('command')", label="fcreview command"),
    Action("copy.cancel", "escape,q", action="cancel", label="back"),
]

NOTE_ACTIONS = [
    Action("note.save", "enter", action="screen.save", label="save"),
    Action("note.line", "down", action="new_line", label="move down, or add a line at the end"),
    Action("note.cancel", "escape", action="screen.cancel", label="cancel"),
]

PROMPT_ACTIONS = [Action("ask.cancel", "escape", action="cancel", label="cancel")]

FORM_ACTIONS = [
    Action("form.submit", "enter", action="screen.submit", label="submit"),
    Action("form.next", "tab,down", action="screen.move(1)", label="next field"),
    Action("form.previous", "shift+tab,up", action="screen.move(-1)", label="previous field"),
    Action("form.clear", "ctrl+u", action="clear_text", label="clear field"),
    hidden(
        "form.clear_scope",
        "ctrl+x",
        action="screen.clear_scope",
        label="all items",
        help="clear the fields that limit the items",
    ),
    Action(
        "form.copy",
        "ctrl+y",
        action="screen.copy_command",
        label="copy command",
        help="copy the command that the form stands for",
    ),
    Action("form.cancel", "escape", action="screen.cancel", label="cancel"),
]
"""Keys of a form. All other keys type text into its fields."""

FAULT_ACTIONS = [
    Action("fault.model", "m", action="answer('model')", label="model"),
    Action("fault.golden", "g", action="answer('golden')", label="golden"),
    Action("fault.checker", "c", action="answer('checker')", label="checker"),
    Action("fault.judge", "j", action="answer('judge')", label="judge"),
    Action("fault.simulator", "s", action="answer('simulator')", label="simulator"),
    Action("fault.question", "q", action="answer('question')", label="question"),
    Action("fault.cancel", "escape", action="cancel", label="back"),
]

OVERRIDE_REASON_ACTIONS = [
    *(
        hidden(f"why.take_{at}", str(at), action=f"answer({at})", label=f"choose reason {at}")
        for at in range(1, 10)
    ),
    Action("why.cancel", "escape,q", action="cancel", label="back"),
]

TAG_ACTIONS = [
    Action("tags.save", "enter", action="save", label="save"),
    Action("tags.toggle", "space", action="toggle_tag", label="set or clear"),
    Action("tags.new", "n,slash", action="enter_new_tag", label="new tag"),
    *(
        hidden(
            f"tags.set_{at}", str(at), action=f"toggle_number({at})", label=f"set or clear tag {at}"
        )
        for at in range(1, 10)
    ),
    hidden("tags.down", "j,down", action="move(1)", label="move down"),
    hidden("tags.up", "k,up", action="move(-1)", label="move up"),
    Action("tags.cancel", "q,escape", action="cancel", label="cancel"),
]

PLACES: dict[str, Sequence[Action]] = {
    "list": [*QUEUE_ACTIONS, *LIST_ACTIONS],
    "item": [*ITEM_ACTIONS, *ITEM_TEXT_ACTIONS],
    "overview": [*OVERVIEW_ACTIONS, *LIST_ACTIONS],
    "runs": [*RUN_LIST_ACTIONS, *LIST_ACTIONS],
    "compare": [*COMPARISON_ACTIONS, *LIST_ACTIONS],
    "flip": FLIP_ACTIONS,
    "clusters": [*CLUSTER_ACTIONS, *LIST_ACTIONS],
    "bulk review": BULK_REVIEW_ACTIONS,
    "estimates": [*ESTIMATE_ACTIONS, *LIST_ACTIONS],
    "agreement": [*AGREEMENT_ACTIONS, *LIST_ACTIONS],
    "calibration": [*CALIBRATION_ACTIONS, *LIST_ACTIONS],
    "conventions": [*CONVENTION_ACTIONS, *LIST_ACTIONS],
    "ranking": [*RANKING_ACTIONS, *LIST_ACTIONS],
    "question": QUESTION_ACTIONS,
    "adjudication": [*ADJUDICATION_ACTIONS, *ITEM_TEXT_ACTIONS],
    "long text": PAGER_ACTIONS,
    "import issue": ISSUE_ACTIONS,
    "menu": [*PICKER_ACTIONS, *LIST_ACTIONS],
    "help": [*HELP_ACTIONS, *LIST_ACTIONS],
}
"""Actions of each screen and pane, by the name that docs/keys.md uses.

A key has the same meaning in all of them, and a verdict key gives a verdict or nothing.
"""
DIALOGS: dict[str, Sequence[Action]] = {
    "fault": FAULT_ACTIONS,
    "override reason": OVERRIDE_REASON_ACTIONS,
    "tags": TAG_ACTIONS,
    "copy": COPY_ACTIONS,
    "golden editor": GOLDEN_EDITOR_ACTIONS,
    "golden text": GOLDEN_TEXT_ACTIONS,
    "golden effect": GOLDEN_EFFECT_ACTIONS,
    "note": NOTE_ACTIONS,
    "prompt": PROMPT_ACTIONS,
    "form": FORM_ACTIONS,
    "run search": RUN_SEARCH_ACTIONS,
    "confirmation": CONFIRM_ACTIONS,
    "filter line": [*FILTER_LINE_ACTIONS, *FILTER_INPUT_ACTIONS],
}
"""Actions of dialogs and text boxes. Their keys have meanings of their own, because a dialog shows
all its keys and Esc leaves it.
"""
KEY_SCOPES: tuple[Sequence[Action], ...] = (
    *([*actions, *APP_ACTIONS] for actions in (*PLACES.values(), *DIALOGS.values())),
    COMMAND_PALETTE_ACTIONS,
)
"""Sets of actions that are active at the same time.

Within a set, no two actions may have the same key.
"""
ACTIONS: dict[str, Action] = {action.id: action for scope in KEY_SCOPES for action in scope}
RENAMED_ACTIONS = {"overview.compare": "overview.run_list"}
"""Maps an earlier id of an action to its id. A configuration may use both."""
SHARED_GROUPS = ("scope", "list", "app")
"""Groups of actions that many screens share."""

"""What an action is, and the keys of lists that are searched by typing; `keytable` has all others.

Every action that has a key, by its id: tables without Textual, so that a configuration can be checked against them.

    [keys]
    "queue.open" = "enter,l"
    "item.pass" = "y"

Keys are letters, digits, arrows, Enter, Space and Tab: with Ctrl and Alt many clash with tmux, flow control or the
terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ACTIONS", "FIND", "PALETTE", "PICKER", "RUNS", "TOGETHER", "Action"]


@dataclass(frozen=True, slots=True)
class Action:
    id: str
    """`room.name`: what a configuration file calls it. The help shows rooms one below the other."""
    keys: str
    """Unless others are given: `p` or `j,down`, as Textual names them."""
    does: str
    """The action method with its arguments: `verdict('pass')`."""
    says: str
    shown: bool = True
    """In the key line; the help shows all."""
    helps: str = ""
    """What the help says of it, where one word does not tell."""
    priority: bool = False
    """At once, whatever has the focus; other keys pressed before may still be on their way."""


PALETTE = [
    Action("palette.take", "enter", "screen.take", "choose"),
    Action("palette.complete", "tab", "screen.complete", "complete"),
    Action("palette.down", "down", "screen.move(1)", "down", shown=False),
    Action("palette.up", "up", "screen.move(-1)", "up", shown=False),
    Action("palette.page_down", "pagedown", "screen.page(1)", "page down", shown=False),
    Action("palette.page_up", "pageup", "screen.page(-1)", "page up", shown=False),
    Action("palette.close", "escape", "screen.close", "back"),
]
"""All other keys type."""

PICKER = [
    Action("picker.take", "enter", "take", "show"),
    Action("picker.close", "q,escape", "close", "back"),
]

RUNS = [
    *PICKER,
    Action("runs.order", "s", "order", "order"),
    Action("runs.reverse", "S", "reverse", "reverse", shown=False),
    Action("runs.grouping", "tab", "grouping", "group"),
    Action("runs.find", "slash", "find", "find"),
    Action("runs.compare", "x", "mark", "compare", helps="compare two runs: mark one, then another"),
    Action("runs.unfold", "right,l", "unfold(True)", "unfold", shown=False),
    Action("runs.refold", "left,h", "unfold(False)", "fold", shown=False),
]

FIND = [
    Action("find.done", "enter", "screen.found(True)", "done"),
    Action("find.down", "down", "screen.move(1)", "down", shown=False),
    Action("find.up", "up", "screen.move(-1)", "up", shown=False),
    Action("find.cancel", "escape", "screen.found(False)", "all runs"),
]
"""All other keys type."""


APP = [
    Action("app.help", "question_mark", "app.help", "help"),
    Action("app.palette", "colon", "app.palette", "palette", priority=True),
    Action("app.quit", "ctrl+q,ctrl+c", "app.quit", "quit", shown=False, priority=True),
]

IN_FRONT = APP[:1]
"""What holds in lists that lie over a screen, too: Textual keeps all other keys of the app from them."""

MOVE = [
    Action("list.down", "j,down", "move(1)", "next line", shown=False),
    Action("list.up", "k,up", "move(-1)", "previous line", shown=False),
    Action("list.page_down", "pagedown,space", "move_page(1)", "page down", shown=False),
    Action("list.page_up", "pageup", "move_page(-1)", "page up", shown=False),
    Action("list.half_down", "d", "move_half(1)", "half a page down", shown=False),
    Action("list.half_up", "u", "move_half(-1)", "half a page up", shown=False),
    Action("list.first", "g,home", "move_to(0)", "first line", shown=False),
    Action("list.last", "G,end", "move_to(-1)", "last line", shown=False),
]

QUEUE = [
    Action("queue.open", "enter", "open", "open"),
    Action("queue.search", "slash", "search", "search"),
    Action("queue.filter", "f", "filter", "filter"),
    Action("queue.clear", "F,backspace", "clear_filter", "all items"),
    Action("queue.order", "o", "choose('order')", "order"),
    Action("queue.clusters", "c", "choose('clusters')", "clusters", helps="clusters: failures in groups"),
    Action("queue.runs", "r", "choose('runs')", "runs"),
    Action("queue.issues", "i", "choose('issues')", "issues", helps="issues: what was wrong in the files"),
    Action("queue.agreement", "a", "choose('agreement')", "agreement", helps="agreement: how far annotators agree"),
    Action(
        "queue.calibration",
        "C",
        "choose('calibration')",
        "calibration",
        shown=False,
        helps="calibration: how often people say the same as the checker or judge",
    ),
    Action("queue.adjudicate", "x", "adjudicate", "adjudicate", helps="adjudicate: settle what annotators differ on"),
    Action("queue.item", "tab", "to_item", "to the item"),
    Action("queue.back", "escape", "back(False)", "back", shown=False),
    Action("queue.quit", "q", "back(True)", "quit"),
]

COMPARE = [
    Action("compare.take", "enter", "take", "look at it"),
    Action("compare.source", "tab", "source", "other verdicts"),
    Action("compare.close", "q,escape", "close", "back"),
]

FLIP = [
    Action("flip.next", "right_curly_bracket", "step(1)", "next flip"),
    Action("flip.previous", "left_curly_bracket", "step(-1)", "previous flip"),
    Action("flip.down", "j,down", "scroll(1)", "line down", shown=False),
    Action("flip.up", "k,up", "scroll(-1)", "line up", shown=False),
    Action("flip.page_down", "space,pagedown", "page(1)", "page down", shown=False),
    Action("flip.page_up", "pageup", "page(-1)", "page up", shown=False),
    Action("flip.close", "q,escape,enter", "close", "back"),
]

CLUSTERS = [
    Action("clusters.take", "enter", "take", "show its items"),
    Action("clusters.unfold", "right,l", "unfold(True)", "unfold"),
    Action("clusters.refold", "left,h", "unfold(False)", "fold"),
    Action("clusters.grouping", "tab", "grouping", "other grouping"),
    Action("clusters.close", "q,escape", "close", "back"),
]

AGREEMENT = [
    Action("agreement.take", "enter", "take", "show its items"),
    Action("agreement.scope", "tab", "scope", "other table"),
    Action("agreement.close", "q,escape", "close", "back"),
]

CALIBRATION = [
    Action("calibration.take", "enter", "take", "show its items"),
    Action("calibration.scope", "tab", "scope", "other table"),
    Action("calibration.close", "q,escape", "close", "back"),
]

HELP = [
    Action("help.close", "q,escape,enter,question_mark", "close", "back"),
]

FILTER_INPUT = [
    Action("filter.apply", "enter", "submit", "apply"),
]

FILTER = [
    Action("filter.complete", "tab", "complete", "complete"),
    Action("filter.older", "up", "history(-1)", "earlier ones"),
    Action("filter.newer", "down", "history(1)", "later ones", shown=False),
    Action("filter.save", "ctrl+s", "save", "save as @name"),
    Action("filter.cancel", "escape", "cancel", "cancel"),
]

ITEM = [
    Action("item.pass", "p", "verdict('pass')", "pass"),
    Action("item.fail", "f", "verdict('fail')", "fail"),
    Action("item.golden_wrong", "g", "verdict('golden')", "golden wrong"),
    Action("item.unsure", "u", "verdict('unsure')", "unsure"),
    Action("item.fault", "w", "fault", "who's wrong"),
    Action("item.tag", "e", "tag", "tag"),
    Action("item.note", "n", "note", "note"),
    Action("item.undo", "z", "undo", "undo"),
    Action("item.last_fault", "W", "last('fault')", "who's wrong in the item just judged", shown=False),
    Action("item.last_tag", "E", "last('tag')", "tag the item just judged", shown=False),
    Action("item.last_note", "N", "last('note')", "note on the item just judged", shown=False),
    Action("item.why", "O", "why", "why the verdict just given overrules the benchmark's", shown=False),
    Action("item.reason_3", "3", "score(3)", "why it overrules; 1 and 2 too, where no score is asked", shown=False),
    Action("item.golden", "G", "golden", "correct the golden answer", shown=False),
    Action("item.score", "0", "score(0)", "score 0", shown=False),
    Action("item.score_1", "1", "score(1)", "score 1", shown=False),
    Action("item.score_2", "2", "score(2)", "score 2", shown=False),
    Action("item.labels", "l", "labels", "labels of the response, where it has some", shown=False),
    Action("item.target", "T", "target", "verdict on the item, or on what the cursor is on", shown=False),
    Action("item.next", "right_square_bracket", "step(1)", "next"),
    Action("item.previous", "left_square_bracket", "step(-1)", "previous"),
    Action("item.group_next", "right_curly_bracket", "in_group(1)", "next item of its group", shown=False),
    Action("item.group_previous", "left_curly_bracket", "in_group(-1)", "previous item of its group", shown=False),
    Action("item.elsewhere", "m", "elsewhere", "the same item in other runs", shown=False),
    Action("item.search", "slash", "search", "search in the item", shown=False),
    Action("item.raw", "R", "raw", "raw records", shown=False),
    Action("item.copy", "y", "copy", "copy", shown=False),
    Action("item.back", "q,escape,backspace", "back", "back to the queue", shown=False),
]

ITEM_TEXT = [
    Action("item.down", "j", "move(1)", "next call or text", shown=False),
    Action("item.up", "k", "move(-1)", "previous call or text", shown=False),
    Action("item.line_down", "down", "scroll(1)", "scroll down a line", shown=False),
    Action("item.line_up", "up", "scroll(-1)", "scroll up a line", shown=False),
    Action("item.next_turn", "J", "turn(1)", "next turn", shown=False),
    Action("item.previous_turn", "K", "turn(-1)", "previous turn", shown=False),
    Action("item.arguments", "a", "arguments", "move among arguments", shown=False),
    Action("item.aside", "tab", "aside", "to the list beside it; without one, among arguments", shown=False),
    Action("item.page_down", "pagedown", "page(1)", "page down", shown=False),
    Action("item.page_up", "pageup", "page(-1)", "page up", shown=False),
    Action("item.top", "home", "edge(-1)", "to the top", shown=False),
    Action("item.bottom", "end", "edge(1)", "to the end", shown=False),
    Action("item.difference", "full_stop", "difference", "first difference", shown=False),
    Action("item.fold", "enter,space", "fold", "fold, unfold or open long text", shown=False),
    Action("item.again", "s", "search_again(1)", "next match", shown=False),
    Action("item.before", "S", "search_again(-1)", "previous match", shown=False),
    Action("item.dialogue", "t", "dialogue", "full dialogue", shown=False),
    Action("item.document", "d", "document", "function documents: golden's, predicted's, all", shown=False),
]

_SHARED = (
    *("pass", "fail", "golden_wrong", "unsure", "fault", "note", "undo", "target"),
    *("next", "previous", "search", "raw", "copy", "back"),
)
ADJUDICATION = [
    *(
        Action(f"adjudication.take_{at}", str(at), f"take({at})", f"take {chr(ord('A') + at - 1)}", shown=at < 4)
        for at in range(1, 10)
    ),
    *(action for action in ITEM if action.id.partition(".")[2] in _SHARED),
    Action("adjudication.other", "o", "other", "other value"),
    Action("adjudication.answers", "v", "answers", "answers whole", shown=False),
]
"""What an item's keys mean is theirs here too."""

PAGER = [
    Action("pager.close", "q,escape", "close", "back"),
    Action("pager.search", "slash", "search", "search"),
    Action("pager.again", "s,n,enter", "search_again(1)", "next match"),
    Action("pager.before", "S", "search_again(-1)", "previous match"),
    Action("pager.raw", "r", "raw", "as it came"),
    Action("pager.fold", "left,h", "fold(-1)", "fold JSON a level", shown=False),
    Action("pager.unfold", "right,l", "fold(1)", "unfold", shown=False),
    Action("pager.down", "j,down", "scroll(1)", "line down", shown=False),
    Action("pager.up", "k,up", "scroll(-1)", "line up", shown=False),
    Action("pager.page_down", "space,pagedown", "page(1)", "page down", shown=False),
    Action("pager.page_up", "pageup", "page(-1)", "page up", shown=False),
    Action("pager.top", "home", "edge(-1)", "to the top", shown=False),
    Action("pager.bottom", "end", "edge(1)", "to the end", shown=False),
    Action("pager.copy", "y", "copy", "copy", shown=False),
]

GOLDEN = [
    Action("golden.save", "enter", "save", "save"),
    Action("golden.edit", "tab,i", "edit", "to the text"),
    Action("golden.editor", "v", "editor", "$EDITOR"),
    Action("golden.reason", "n", "reason", "reason"),
    Action("golden.start", "o", "start", "as in the dataset"),
    Action("golden.cancel", "escape,q", "cancel", "cancel"),
]

GOLDEN_TEXT = [
    Action("golden.keys", "tab,escape", "screen.keys", "to the keys: save, $EDITOR, reason, cancel"),
]
"""All other keys type."""

COPY = [
    Action("copy.this", "y,enter", "take('this')", "this"),
    Action("copy.call", "c", "take('call')", "call"),
    Action("copy.diff", "d", "take('diff')", "diff"),
    Action("copy.markdown", "m", "take('markdown')", "Markdown"),
    Action("copy.json", "j", "take('json')", "reproduction JSON"),
    Action("copy.command", "l", "take('command')", "command that opens it"),
    Action("copy.cancel", "escape,q", "cancel", "back"),
]

NOTE = [
    Action("note.save", "enter", "screen.save", "save"),
    Action("note.line", "down", "line", "new line, at the end"),
    Action("note.cancel", "escape", "screen.cancel", "cancel"),
]

ASK = [
    Action("ask.cancel", "escape", "cancel", "cancel"),
]

FAULT = [
    Action("fault.model", "m", "take('model')", "model"),
    Action("fault.golden", "g", "take('golden')", "golden"),
    Action("fault.checker", "c", "take('checker')", "checker"),
    Action("fault.judge", "j", "take('judge')", "judge"),
    Action("fault.simulator", "s", "take('simulator')", "simulator"),
    Action("fault.question", "q", "take('question')", "question"),
    Action("fault.cancel", "escape", "cancel", "back"),
]

WHY = [
    *(Action(f"why.take_{at}", str(at), f"take({at})", f"reason {at}", shown=False) for at in range(1, 10)),
    Action("why.cancel", "escape,q", "cancel", "back"),
]

TAGS = [
    Action("tags.save", "enter", "save", "save"),
    Action("tags.toggle", "space", "set", "set or clear"),
    Action("tags.new", "n,slash", "new", "new tag"),
    *(Action(f"tags.set_{at}", str(at), f"number({at})", f"set or clear tag {at}", shown=False) for at in range(1, 10)),
    Action("tags.down", "j,down", "move(1)", "down", shown=False),
    Action("tags.up", "k,up", "move(-1)", "up", shown=False),
    Action("tags.cancel", "q,escape", "cancel", "cancel"),
]

TABLES = (
    *(APP, MOVE, QUEUE, FILTER, FILTER_INPUT, PICKER, RUNS, COMPARE, FLIP, CLUSTERS, AGREEMENT, CALIBRATION, ITEM),
    *(ITEM_TEXT, ADJUDICATION, FAULT, WHY, TAGS, GOLDEN, GOLDEN_TEXT, COPY, NOTE, ASK, PAGER, HELP, PALETTE, FIND),
)
ACTIONS: dict[str, Action] = {action.id: action for table in TABLES for action in table}
TOGETHER: tuple[Sequence[Action], ...] = (
    [*QUEUE, *MOVE, *APP],
    [*FILTER, *FILTER_INPUT, *APP],
    [*PICKER, *MOVE, *APP],
    [*RUNS, *MOVE, *APP],
    [*COMPARE, *MOVE, *APP],
    [*FLIP, *APP],
    [*CLUSTERS, *MOVE, *APP],
    [*AGREEMENT, *MOVE, *APP],
    [*CALIBRATION, *MOVE, *APP],
    [*ITEM, *ITEM_TEXT, *APP],
    [*ADJUDICATION, *ITEM_TEXT, *APP],
    [*PAGER, *APP],
    [*FAULT, *APP],
    [*WHY, *APP],
    [*TAGS, *APP],
    [*GOLDEN, *APP],
    [*GOLDEN_TEXT, *APP],
    [*COPY, *APP],
    [*NOTE, *APP],
    [*ASK, *APP],
    [*HELP, *MOVE, *APP],
    PALETTE,
    [*FIND, *APP],
)
"""Actions that are in force at the same time: a key can mean one of them."""
COMMON = ("list", "app")
"""Rooms of keys that many screens share: they come last in the help."""

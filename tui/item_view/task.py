"""Show the task of an item: what the agent and the simulated user were told, the initial state
and the assertions.
"""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.item import SIMULATED_USER_INSTRUCTION, Item, Message, TaskSection
from fcreview.tui.item_view.blocks import (
    Block,
    DisplayOptions,
    fold_symbol,
    set_parent_block,
    text_block,
)
from fcreview.tui.text.lines import Line, fit_line, rule_line

TASK_KEY = "task"
SECTION_ROWS = 2
"""Number of rows of a section that are shown until the reader unfolds it."""


def task_blocks(item: Item, options: DisplayOptions) -> list[Block]:
    """Return the section with the task of an agent: a heading, and a block for each part, such as
    policy.

    Only some importers read a task. Without one, the result is empty.
    """
    sections = _list_sections(item)
    if not sections:
        return []

    folded = options.frames and options.is_folded(TASK_KEY, by_default=True)
    heading = _task_heading(sections, options, folded=folded)
    if folded:
        return [heading]

    blocks = []
    for index, section in enumerate(sections):
        block = _section_block(f"{TASK_KEY}/{index}", section, options)
        blocks.append(block)
    if options.frames:
        set_parent_block(blocks, TASK_KEY)
    return [heading, *blocks]


def _list_sections(item: Item) -> list[TaskSection]:
    """Return the parts of the task: purpose, instruction and policy, then the others.

    Instruction and policy are messages of the item. The other parts are fields of the benchmark.
    """
    if not item.task_sections:
        return []

    from_messages = []
    for message in item.messages:
        if is_task_message(item, message) and message.content:
            title = "user scenario" if message.name == SIMULATED_USER_INSTRUCTION else "policy"
            from_messages.append(TaskSection(title, message.content))

    purpose = [section for section in item.task_sections if section.title == "purpose"]
    others = [section for section in item.task_sections if section.title != "purpose"]
    return purpose + from_messages + others


def is_task_message(item: Item, message: Message) -> bool:
    """Whether a section of the task shows the message: the instruction to the simulated user, or
    the policy.
    """
    is_before_conversation = message.turn == 0 and message.step < 0
    return bool(item.task_sections) and message.role == "system" and is_before_conversation


def _task_heading(
    sections: Sequence[TaskSection], options: DisplayOptions, *, folded: bool
) -> Block:
    """Return the heading of the task. If it is folded, the titles of the parts follow."""
    titles = ", ".join(section.title for section in sections)

    def render_lines(cells: int) -> list[Line]:
        symbol = fold_symbol(folded) if options.frames else ()
        if folded:
            return [fit_line((*symbol, ("task", "strong"), ("  ", ""), (titles, "dim")), cells)]
        return [rule_line((*symbol, ("task", "strong")), cells)]

    return Block(
        TASK_KEY,
        render_lines,
        is_heading=True,
        foldable=options.frames,
        folded=folded,
        title="task",
    )


def _section_block(key: str, section: TaskSection, options: DisplayOptions) -> Block:
    """Return a part of the task: its title on one line, its text below.

    Other texts have their label beside them, but these titles are too long for that column.
    """
    # The text without a label. Its block gets the title as another first line.
    body = text_block(key, "", section.text, options, folded_rows=SECTION_ROWS, title=section.title)
    render_text = body.lines

    def render_lines(cells: int) -> list[Line]:
        return [fit_line((("  ", ""), (section.title, "dim")), cells), *render_text(cells)]

    body.lines = render_lines
    return body

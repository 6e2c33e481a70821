"""Copy an item to the clipboard: build the texts, and write them to the terminal's clipboard and to
a file.

The escape sequence OSC 52 sets the clipboard. The file is needed because no terminal confirms that
it set the clipboard.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fcreview.exporters.report_pages import format_code_block, format_code_span, format_titled_block
from fcreview.model.address import (
    ITEM,
    RESPONSE,
    parse_address,
)
from fcreview.model.item import (
    Call,
    Item,
)
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_verdict
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.rows import (
    ItemDetail,
    QueueRow,
)
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.call_diff import format_call
from fcreview.tui.item_view.call_pairs import call_to_json
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text

CLIPBOARD_LIMIT = 74_994
"""Maximum length, in bytes, of the base64 text that common terminals accept."""
COPY_FILE_NAME = "copied.txt"


class TerminalWriter(Protocol):
    """Object that writes escape sequences to the terminal, such as Textual's driver."""

    @property
    def is_web(self) -> bool:
        """Whether the terminal is in a browser."""

    def write(self, data: str) -> None: ...


def copy_text(text: str, workspace_folder: Path | None, terminal: TerminalWriter | None) -> str:
    """Copy a text to the clipboard and to a file. Return a message that says where it is.

    A long text goes only to the file, because terminals limit the clipboard. In a browser, there is
    no file, because the user has no access to the server.
    """
    if terminal is not None and terminal.is_web:
        sequence = osc52_sequence(text, {})
        if sequence is None:
            return "the text is too long for the clipboard"
        terminal.write(sequence)
        return "sent to the browser's clipboard"

    path = sanitize(shorten_path(write_copy_file(text, workspace_folder)))
    sequence = osc52_sequence(text, os.environ)
    if sequence is None or terminal is None:
        return f"the text is too long for the clipboard; it was written to {path}"
    terminal.write(sequence)
    # No terminal confirms that it set the clipboard.
    return f"sent to the terminal's clipboard, and written to {path}"


def shorten_path(path: Path) -> str:
    """Return the shortest spelling of the path: absolute, relative to the current folder or
    relative to `~`.
    """
    spellings = [str(path), os.path.relpath(path)]
    if path.is_relative_to(Path.home()):
        spellings.append(f"~/{path.relative_to(Path.home())}")
    return min(spellings, key=len)


def osc52_sequence(text: str, env: Mapping[str, str]) -> str | None:
    """Return the escape sequence (OSC 52) that sets the terminal's clipboard. None if the text is
    too long.

    `env`: environment variables, which tell whether the terminal runs inside tmux or GNU screen.
    tmux accepts either the plain or the wrapped form, depending on its settings (`set-clipboard on`
    or `allow-passthrough on`), so both are sent. GNU screen needs the wrapped form.
    """
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(encoded) > CLIPBOARD_LIMIT:
        return None
    plain = f"\x1b]52;c;{encoded}\x07"
    if env.get("TMUX"):
        escaped = plain.replace("\x1b", "\x1b\x1b")
        wrapped_for_tmux = f"\x1bPtmux;{escaped}\x1b\\"
        return plain + wrapped_for_tmux
    if env.get("STY"):
        return f"\x1bP{plain}\x1b\\"
    return plain


def write_copy_file(text: str, workspace_folder: Path | None) -> Path:
    """Write the text to `copied.txt` in the workspace folder or, if that is not possible, to a
    new temporary file.
    """
    data = text.encode("utf-8", "surrogatepass")
    if workspace_folder is not None:
        path = workspace_folder / COPY_FILE_NAME
        try:
            WorkspaceFiles(workspace_folder).write(path, data)
        except OSError:
            pass
        else:
            return path
    # The folder is missing or read-only.
    handle, name = tempfile.mkstemp(prefix="fcreview-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Path(name)


COPY_WIDTH = 100


def format_target_calls(detail: ItemDetail, target: str) -> str:
    """Format the predicted calls of the target (call, turn or item) or, if there are none, its
    golden calls.
    """
    calls = _find_target_calls(detail.displayed_item, target)
    return "\n".join(format_call(call) for call in calls)


def _find_target_calls(item: Item, target: str) -> list[Call]:
    """Return the calls to copy for a target: the calls of the item, of a turn, or one call.

    The calls are predicted ones. Golden calls are copied only if the model made no call. For a turn
    without calls, the calls of the item are copied.
    """
    part = parse_address(target)
    item_calls = item.predicted or item.golden
    if part is None:
        return item_calls
    if part.call is None:
        turn_calls = [call for call in item_calls if call.turn == part.turn]
        return turn_calls or item_calls

    # The address of a call counts the pairs of a golden and a predicted call.
    pairs_of_turn = [pair for pair in item.pairs if pair.turn == part.turn]
    pair = pairs_of_turn[part.call]
    predicted = _select_call(item.predicted, pair.turn, pair.predicted)
    return predicted or _select_call(item.golden, pair.turn, pair.golden)


def _select_call(calls: Sequence[Call], turn: int, index: int | None) -> list[Call]:
    return [call for call in calls if call.turn == turn and call.index == index]


def format_call_diff(detail: ItemDetail, annotator: str, *, hide_verdicts: bool = False) -> str:
    """Format the comparison of golden and predicted calls as plain text, as on the item screen.

    If the benchmark compares the final response, its comparison is included.
    """
    options = DisplayOptions(
        unfold_all=True, hide_verdicts=hide_verdicts, print_hint="in full on the item screen"
    )
    texts = []
    for block in build_document(detail, annotator, options):
        target = block.target or ""
        if target == RESPONSE or "/call:" in target:
            texts += [plain_text(line).rstrip() for line in block.lines(COPY_WIDTH)]
    return "\n".join(texts)


def format_item_markdown(
    detail: ItemDetail, annotator: str, open_command: str, *, hide_verdicts: bool = False
) -> str:
    """Format the item as Markdown for an issue.

    `open_command`: shell command that opens the item.
    """
    diff = format_call_diff(detail, annotator, hide_verdicts=hide_verdicts)
    return "\n".join(_markdown_lines(detail, annotator, diff, open_command))


def _markdown_lines(
    detail: ItemDetail, annotator: str, diff: str, open_command: str
) -> Iterator[str]:
    """Yield the lines of the item as Markdown, for example to report a wrong golden answer.

    `diff`: comparison of the golden and predicted calls. `open_command`: command that opens the
    item.
    """
    yield from _heading_markdown(detail)
    messages = [message.content for message in detail.item.messages if message.role == "user"]
    question = "\n\n".join(messages) or detail.item.question
    yield from format_titled_block("Question", format_code_block(question))
    yield from format_titled_block("Golden and predicted", format_code_block(diff or "no calls"))
    for verdict in detail.item.verdicts:
        if verdict.rationale:
            title = f"{verdict.source} {format_code_span(verdict.by or '')}"
            yield from format_titled_block(title, format_code_block(verdict.rationale))
    yield from _own_review_markdown(detail, annotator)
    yield from format_code_block(open_command)


def _heading_markdown(detail: ItemDetail) -> Iterator[str]:
    """Yield the id of the item, its run and category, and the automatic verdicts."""
    row = detail.row
    run_title = format_code_span(detail.run.full_title)
    yield f"### {format_code_span(row.id)}"
    yield ""
    yield f"{run_title}, {format_code_span(row.run_name)}, {format_code_span(row.category)}"
    verdicts = _format_automatic_verdicts(row)
    if verdicts:
        yield verdicts
    yield ""


def _format_automatic_verdicts(row: QueueRow) -> str:
    """Return `official fail, judge pass: wrong_count`. Empty without verdicts."""
    value_by_source = {"official": row.official, "recomputed": row.rule, "judge": row.judge}
    verdicts = []
    for source, value in value_by_source.items():
        if value is not None:
            verdicts.append(f"{source} {format_verdict(value)}")
    text = ", ".join(verdicts)
    error_type = row.error_type or row.rule_error_type
    if verdicts and error_type:
        text += f": {format_code_span(error_type)}"
    return text


def _own_review_markdown(detail: ItemDetail, annotator: str) -> Iterator[str]:
    """Yield the annotator's own note on the item and their correction of the golden answer."""
    own = None
    for opinion in detail.opinions:
        if opinion.annotator == annotator and opinion.target == ITEM:
            own = opinion
            break
    if own is None:
        return
    if own.note:
        yield from format_titled_block("Note", format_code_block(own.note))
    if own.golden_fix:
        fix = json.dumps(own.golden_fix, ensure_ascii=False, indent=2)
        yield from format_titled_block("Corrected golden answer", format_code_block(fix, "json"))


def format_item_json(detail: ItemDetail) -> str:
    """Format the item as JSON for another model or checker.

    It contains the messages, the functions, and the golden and predicted calls.
    """
    item = detail.displayed_item
    messages = []
    for message in item.messages:
        messages.append(
            {
                "role": message.role,
                "content": message.content,
                "turn": message.turn,
                "step": message.step,
            }
        )
    fields = {
        **detail.key._asdict(),
        "messages": messages,
        "functions": item.functions,
        "golden": _calls_to_json(item.golden),
        "predicted": _calls_to_json(item.predicted),
        "prediction_hash": item.prediction_hash,
        "golden_hash": item.golden_hash,
    }
    return json.dumps(fields, ensure_ascii=False, indent=2, default=str)


def _calls_to_json(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{"call": call_to_json(call), "turn": call.turn, "step": call.step} for call in calls]


def format_open_command(detail: ItemDetail, workspace_folder: Path | None) -> str:
    """Return the shell command that opens the item, to give it to another person."""
    path = Path(detail.run.path)
    parts = ["fcreview", "open", str(path), "--item", detail.row.id, "--run", str(detail.row.run)]
    if workspace_folder is not None:
        # fcreview finds a workspace that is at or above the run. Another one must be named.
        run_folders = [path.resolve(), *path.resolve().parents]
        if workspace_folder.resolve() not in run_folders:
            parts += ["--workspace", str(workspace_folder)]
    return shlex.join(parts)

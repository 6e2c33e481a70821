"""Offer files as downloads, because an app in a browser writes no files on the server."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fcreview.tui.command_forms import CommandForm, CommandResult, CommandService

if TYPE_CHECKING:
    from textual.app import App


def download_name(text: str) -> str:
    """Return the last part of a path that the user typed, as the name of a download."""
    name = Path(text.strip()).name
    return name if name.strip("-. ") else "download"


def deliver_download(app: App[Any], path: Path) -> None:
    """Offer a file to the browser, or a folder as a ZIP file. The path may be deleted afterwards."""
    if path.is_dir():
        path = Path(shutil.make_archive(str(path), "zip", path))
    app.deliver_binary(path, save_filename=path.name)


async def run_for_download(
    app: App[Any], commands: CommandService, form: CommandForm, arguments: Sequence[str]
) -> CommandResult:
    """Run the command of a form. The file that it writes becomes a download."""
    flag = f"--{form.download}="
    with TemporaryDirectory(prefix="fcreview-") as folder:
        paths = {
            each: Path(folder) / download_name(each.removeprefix(flag))
            for each in arguments
            if form.download and each.startswith(flag)
        }
        result = await commands.run(
            form.command, [f"{flag}{paths[each]}" if each in paths else each for each in arguments]
        )
        for path in paths.values():
            if result.is_successful and path.exists():
                deliver_download(app, path)
    return replace(result, text=result.text.replace(f"{folder}/", ""))

"""Define the forms in which the command palette runs commands of the command line.

The module does not import Textual.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

YES, NO = "yes", "no"
"""Choices of a form field for a flag (an option without an argument)."""


@dataclass(frozen=True, slots=True)
class FormField:
    """Option or argument of a command."""

    name: str
    flag: str = ""
    """Option such as `--size`. Empty for an argument."""
    default: str = ""
    help: str = ""
    is_switch: bool = False
    is_path: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    """Value of the option by the text that the user enters. Other texts are passed on unchanged."""

    @property
    def full_help(self) -> str:
        """Description of the field with its choices."""
        if self.choices:
            return f"{self.name}: {', '.join(self.choices)}. Right arrow completes a name; empty selects all"
        return self.help + (" (yes or no)" if self.is_switch else "")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command: its output and messages as one text."""

    text: str
    is_successful: bool


@dataclass(frozen=True, slots=True)
class CommandService:
    """Functions that run commands of the command line on the open workspace. Screens must not import `cli`."""

    describe: Callable[[str], Sequence[FormField]]
    """Returns the options and arguments of a command such as `queue create`, except options that select the
    workspace."""
    run: Callable[[str, Sequence[str]], Awaitable[CommandResult]]
    """Runs a command with these options and arguments."""


@dataclass(frozen=True, slots=True)
class CommandForm:
    """Palette entry that opens the form of a command."""

    command: str
    label: str
    help: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Initial values by field name. They replace the command's defaults."""
    download: str = ""
    """Name of the field with the path of the file that the command writes, if it writes only one file. In a browser,
    the file becomes a download."""
    is_read_only: bool = False
    """Whether the command writes nothing, so that it is also available in a browser."""

    @property
    def is_for_browser(self) -> bool:
        return self.is_read_only or bool(self.download)


_FORMS = (
    CommandForm("queue create", "draw a sample", "create and assign a review queue", {"name": "sample", "size": "50"}),
    CommandForm("queue extend", "extend a sample", "draw more items to narrow an interval"),
    CommandForm("queue list", "list queues", "show queues and the progress of each annotator", is_read_only=True),
    CommandForm("queue show", "show a queue", "show the sampling and progress of a queue", is_read_only=True),
    CommandForm(
        "estimate", "estimate every metric", "estimate the accuracy with 95 % confidence intervals", is_read_only=True
    ),
    CommandForm("report", "HTML report", "write the full report as one HTML file", {"html": "report.html"}, "html"),
    CommandForm(
        "export", "export with options", "labels, corrected runs or patches", {"output": "labels.jsonl"}, "output"
    ),
    CommandForm("suspects", "list suspects", "show golden answers that look wrong, with evidence", is_read_only=True),
    CommandForm("audit", "audit", "show the review history of an item", is_read_only=True),
    CommandForm("import", "import", "import new and changed results"),
    CommandForm("import-labels", "import labels", "import exported labels as reviews"),
    CommandForm("merge", "merge", "merge another workspace"),
    CommandForm("errata create", "create errata", "write reviewed golden answers to an errata file"),
    CommandForm("errata check", "check errata", "check an errata file"),
    CommandForm("errata issue", "errata issue", "write an issue text for the benchmark"),
    CommandForm("rules list", "list rules", "show the accepted equivalence rules", is_read_only=True),
    CommandForm("rules preview", "preview a rule", "show the verdicts that an equivalence rule would change"),
    CommandForm("rules add", "add a rule", "accept an equivalence rule"),
    CommandForm("rules remove", "remove a rule", "remove an accepted equivalence rule"),
    CommandForm("doctor", "doctor", "check the setup"),
)
FORMS = {form.command: form for form in _FORMS}
"""Forms by command, for the commands without a screen of their own."""


def name_runs(fields: Sequence[FormField], names: Mapping[int, str]) -> list[FormField]:
    """Let the field `run` show names instead of numbers. `names`: name of each run by its number."""
    choices = {name: str(number) for number, name in names.items()}
    shown = {str(number): name for number, name in names.items()}
    return [
        replace(each, choices=choices, default=shown.get(each.default, each.default)) if each.name == "run" else each
        for each in fields
    ]


def build_arguments(fields: Sequence[FormField], values: Sequence[str]) -> list[str]:
    """Return the command's options, then `--` and its arguments. Empty values are omitted."""
    options, arguments = [], ["--"]
    for each, text in zip(fields, map(str.strip, values), strict=True):
        value = os.path.expanduser(text) if each.is_path else each.choices.get(text, text)  # noqa: PTH111 - `~x` may name no user
        if each.is_switch:
            options += [each.flag] if value.lower() in (YES, "y") else []
        elif value and each.flag:
            options.append(f"{each.flag}={value}" if each.flag.startswith("--") else f"{each.flag}{value}")
        elif value:
            arguments.append(value)
    return [*options, *arguments]

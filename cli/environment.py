"""Check the memory limit and the working folder before a command imports heavy libraries."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence

from fcreview.cli.errors import CommandError

MIN_ADDRESS_SPACE = 1 << 30
"""Smallest limit of the address space, in bytes (`ulimit -v`). Below it, native libraries abort or crash when they
start a thread, which Python cannot catch."""
UNCHECKED_ARGUMENTS = {"--help", "-h", "--version", "completion", "schema"}
"""Options and commands that need neither memory nor a working folder."""


def check_environment(arguments: Sequence[str]) -> None:
    """Raise a CommandError if the memory limit is too low or the working folder was deleted."""
    if not arguments or not UNCHECKED_ARGUMENTS.isdisjoint(arguments):
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise CommandError(
            f"not enough memory: the limit is {limit >> 20:,} MB and fcreview needs {MIN_ADDRESS_SPACE >> 20:,} MB."
            " Raise the limit (ulimit -v)."
        )
    try:
        os.getcwd()  # noqa: PTH109 - `Path.cwd` does the same in more steps
    except FileNotFoundError:
        raise CommandError("the working folder no longer exists. Change to another folder.") from None

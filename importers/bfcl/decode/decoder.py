"""What a decoder is: how the replies of one family of models become calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.importers.bfcl.decode.decoding import Calls

Spelling = Literal["dotted", "flat", "either"]
"""How a family has to write `math.factorial`: as it is, `math_factorial`, or, where nobody knows, in either way."""


@dataclass(frozen=True, slots=True)
class How:
    """What the same decoder does differently."""

    rules: str = "V4"
    """The generation, "V1" to "V4"."""
    language: str = "python"
    """ "python", "java" or "javascript"."""

    @property
    def v1(self) -> bool:
        return self.rules == "V1"


Read = Callable[[Any, How], Calls]
"""A raw `result` to calls. Raises Undecodable and WrongFormat."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """One family's. Its name is what `--decoder` takes."""

    name: str
    read: Read
    names: Spelling = "dotted"
    about: str = ""
    """What a call looks like."""
    as_text: bool = False
    """Arguments of Java and JavaScript calls are turned into Python's text of them."""

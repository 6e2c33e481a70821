"""FunctionGemma's notation: `<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.bfcl.decode.decoder import How
from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, blocks, check_bounds
from fcreview.importers.bfcl.decode.families.code import text_of

KEY = re.compile(r"\s*([^:{},]+?)\s*:")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
NAME = re.compile(r"call:\s*([^\s{]+)\s*(\{.*)?", re.DOTALL)
CONSTANTS = {"null": None, "true": True, "false": False}
ESCAPE = "<escape>"


def function_gemma(result: Any, how: How) -> Calls:  # noqa: ARG001
    """`<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`."""
    calls = []
    for block in blocks(text_of(result), "<start_function_call>", "<end_function_call>"):
        named = NAME.search(block)
        if named:
            check_bounds(block)
            calls.append((named[1], _Reader(named[2] or "{}").object()))
    return calls


class _Reader:
    """Reads `{key:value,...}`: values are objects, lists, strings between two `<escape>`, or bare words."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def object(self) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while not self._ends("}"):
            key = KEY.match(self.text, self.at)
            if key is None:
                raise Undecodable("an argument without a name")
            self.at = key.end()
            found[key[1].removeprefix(ESCAPE).removesuffix(ESCAPE)] = self.value()
        return found

    def value(self) -> Any:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        if self.text.startswith(ESCAPE, self.at):
            start = self.at + len(ESCAPE)
            end = self.text.find(ESCAPE, start)
            if end < 0:
                raise Undecodable("a string without an end")
            self.at = end + len(ESCAPE)
            return self.text[start:end]
        if self.text.startswith("{", self.at):
            return self.object()
        if self.text.startswith("[", self.at):
            self.at += 1
            items = []
            while not self._ends("]"):
                items.append(self.value())
            return items
        end = next((i for i in range(self.at, len(self.text)) if self.text[i] in ",}]"), len(self.text))
        word, self.at = self.text[self.at : end].strip(), end
        return _bare(word)

    def _ends(self, closing: str) -> bool:
        """Whether the list ends here; a comma before the next element is passed over."""
        while self.at < len(self.text) and self.text[self.at] in ", \n\t":
            self.at += 1
        if self.at >= len(self.text):
            raise Undecodable(f"no {closing} at the end")
        if self.text[self.at] != closing:
            return False
        self.at += 1
        return True


def _bare(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    number = NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else int(word)

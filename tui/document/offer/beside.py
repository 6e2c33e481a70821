"""The documents of the functions under the cursor, for a column of their own beside the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.sanitise import visible
from fcreview.tui.document.offer.function import function_named, function_parts
from fcreview.tui.document.offer.under import Under
from fcreview.tui.text.lines import BLANK, Line, fit, wrap
from fcreview.tui.text.theme import symbols

NAME_ROWS = 3


@dataclass(slots=True)
class Beside:
    """A source for a document view: a block for each function's head, one for each parameter."""

    functions: Sequence[dict[str, object]]
    """Those on offer."""
    here: Under
    cells: int
    """For which it is laid out first."""
    _parts: list[tuple[str | None, list[Line]]] = field(init=False)

    def __post_init__(self) -> None:
        self._parts = self._laid_out(self.cells)

    def __len__(self) -> int:
        return len(self._parts)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        if cells != self.cells:
            self.cells, self._parts = cells, self._laid_out(cells)
        return self._parts[index][1]

    @property
    def marked(self) -> int | None:
        """The block of the parameter under the cursor."""
        wanted = self.here.argument
        return next((at for at, (name, _) in enumerate(self._parts) if name is not None and name == wanted), None)

    def _laid_out(self, cells: int) -> list[tuple[str | None, list[Line]]]:
        parts: list[tuple[str | None, list[Line]]] = []
        known = [str(each.get("name")) for each in self.functions]
        for name in self.here.functions:
            parts += [(None, [BLANK])] if parts else []
            document = function_named(self.functions, name)
            parts.append((None, [((row, "strong"),) for row in wrap(visible(name), cells, NAME_ROWS)]))
            parts += function_parts(name, document, self.here.argument, cells, known)
        if self.here.argument and all(self.here.argument != name for name, _ in parts):
            parts.append((self.here.argument, [_stranger(self.here.argument, cells)]))
        return parts


def _stranger(argument: str, cells: int) -> Line:
    mark = f"  {symbols().arrow} "
    return fit(((mark, "strong"), (visible(argument), "strong"), ("  no such parameter", "warn")), cells)

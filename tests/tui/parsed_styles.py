"""Parse style sheets once for all apps of a test session.

Textual caches the rules of 64 sources for each app. The screens have more, so each new screen would
parse all of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

_rules: dict[frozenset[tuple[str, str]], dict[Any, Any]] = {}
"""Parsed rules by the variables of the theme."""
_init, _set_variables = Stylesheet.__init__, Stylesheet.set_variables


def parse_styles_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stylesheet, "__init__", _init_shared)
    patch.setattr(Stylesheet, "set_variables", _set_variables_shared)


def _init_shared(self: Any, *, variables: dict[str, str] | None = None) -> None:
    _init(self, variables=variables)
    _share(self, variables or {})


def _set_variables_shared(self: Any, variables: dict[str, str]) -> None:
    self._parse_cache = {}
    _set_variables(self, variables)
    _share(self, variables)


def _share(sheet: Any, variables: dict[str, str]) -> None:
    sheet._parse_cache = _rules.setdefault(frozenset(variables.items()), {})

"""Textual's rule for actions: the action `verdict('pass')` calls the method `action_verdict`.

The method belongs to the widget or screen with the binding. Actions that begin with `app.` or
`screen.` belong to the app or to a screen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from textual.actions import parse
from textual.dom import DOMNode
from textual.screen import Screen

from fcreview.tui.app import FcreviewApp


class MissingMethodError(AssertionError):
    """Raised if an action has no method, or a method with other parameters."""


def find_method(owner: type[DOMNode], action: str) -> Callable[..., Any]:
    """Return the method that an action in the bindings of a class calls."""
    namespace, name, arguments = parse(action)
    for class_ in _list_classes(owner, namespace):
        method = getattr(class_, f"action_{name}", None) or getattr(class_, f"_action_{name}", None)
        if method is not None:
            _check_arguments(method, action, arguments)
            return method  # type: ignore[no-any-return]
    place = "FcreviewApp" if namespace == "app" else owner.__name__
    raise MissingMethodError(f"{place} has no method action_{name}")


def _list_classes(owner: type[DOMNode], namespace: str) -> list[type[DOMNode]]:
    if namespace == "app":
        return [FcreviewApp]
    if namespace == "screen":
        return list_subclasses(Screen)
    return [owner]


def _check_arguments(method: Callable[..., Any], action: str, arguments: tuple[Any, ...]) -> None:
    try:
        inspect.signature(method).bind(None, *arguments)
    except TypeError as error:
        raise MissingMethodError(f"{method.__qualname__} of {action}: {error}") from None


def list_subclasses(base: type[Any]) -> list[type[Any]]:
    """Return the classes of fcreview below a class."""
    classes: list[type[Any]] = []
    for class_ in base.__subclasses__():
        if class_.__module__.startswith("fcreview."):
            classes.append(class_)
        classes += list_subclasses(class_)
    return classes

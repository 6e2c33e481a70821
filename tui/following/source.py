"""Where what changed comes from: this room knows no importer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fcreview.errors import FcreviewError
from fcreview.store.rows import News
from fcreview.text.words import count_of


class FollowError(FcreviewError):
    """What changed could not be taken in; one line. The store is as it was."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import came to."""

    news: News
    runs: tuple[int, ...] = ()
    """Those at the paths now, by their numbers; empty for all of the workspace."""
    before: tuple[int, ...] = ()
    """Those that were there until now."""
    told: str = ""
    """What could not be read as it should, in one line."""

    @property
    def says(self) -> str:
        """`3 new items, 1 changed`; empty where items are as they were."""
        news = self.news
        parts = [count_of(news.new, "new item")] if news.new else []
        if news.changed:
            parts.append(f"{news.changed:,} changed" if parts else count_of(news.changed, "changed item"))
        if news.gone:
            parts.append(f"{news.gone:,} gone" if parts else f"{count_of(news.gone, 'item')} gone")
        return ", ".join(parts)


class Source(Protocol):
    """Asked in a thread, but for `close`."""

    interval: float
    """Seconds between two looks."""

    def changed(self) -> bool:
        """Whether files are other than at the last look."""
        ...

    def take_in(self) -> Taken:
        """Imports what changed. FollowError if that fails, or is broken off."""
        ...

    def close(self) -> None:
        """Breaks off what it is at, and leaves nothing running."""
        ...

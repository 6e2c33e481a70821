"""Where labels are answered: sets of words such as dialog acts, rather than right or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.store.connecting import with_room
from fcreview.store.queues.presentations import item_of

if TYPE_CHECKING:
    from fcreview.store.store import Store

_ASKED = (
    "SELECT DISTINCT v.criterion FROM verdicts v JOIN item_rows i USING (item)"
    " WHERE i.run = $run AND i.category = (SELECT category FROM item_rows WHERE item = $item)"
    " AND v.target = 'response' AND v.value LIKE '[%' ORDER BY 1"
)


def label_criteria(store: Store, item: int) -> list[str]:
    """Criteria on which the responses of the item's category and run have labels. Nothing of this item's own verdicts
    tells it: it is the same for who is blind."""
    number = item_of(item)

    def read() -> list[str]:
        asked = {"run": number >> 32, "item": number}
        return [row[0] for row in store.connection.execute(_ASKED, asked).fetchall()]

    with store.lock:
        return with_room(store.connection, read)

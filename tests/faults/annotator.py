"""Record random reviews as fast as possible: python -m tests.faults.annotator RUN ANNOTATOR
SECONDS.

Prints the id of each event after it is saved.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace


def main(place: Path, name: str, seconds: float) -> None:
    workspace = find_workspace(place, create=False)
    with Store.open(workspace, name) as store:
        items = [row.item for row in store.fetch_page(View(), 0, 1000)]
        reviewer = Reviewer(store, Journal(workspace, name))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if random.random() < 0.05 and (undone := reviewer.undo()):
                os.write(1, f"undone {undone[0].event}\n".encode())
            event = reviewer.review(random.choice(items), Annotation(verdict=random.random() < 0.5))
            os.write(1, f"saved {event.event}\n".encode())
            if random.random() < 0.05:
                store.refresh_reviews()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))

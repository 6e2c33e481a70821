"""Define SQL that joins items with the messages and golden calls of their questions, which are stored once for all
runs."""

FROM_WHOLE_ITEMS = "FROM item_rows i LEFT JOIN questions q ON q.hash = i.question_hash"
"""FROM clause for `ALL_MESSAGES` and `ALL_CALLS`."""
ALL_MESSAGES, ALL_CALLS = "list_concat(q.messages, i.messages)", "list_concat(q.calls, i.calls)"
"""SQL for all messages and all calls of an item: first the ones of the question, then the ones of the item."""

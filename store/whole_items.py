"""SQL that joins items with the messages and golden calls that the items of all runs share."""

FROM_WHOLE_ITEMS = "FROM item_rows i LEFT JOIN questions q ON q.hash = i.question_hash"
"""FROM clause for `ALL_MESSAGES` and `ALL_CALLS`."""
ALL_MESSAGES, ALL_CALLS = "list_concat(q.messages, i.messages)", "list_concat(q.calls, i.calls)"
"""SQL for the messages and calls of an item, with those that the items of all runs share."""

"""Read chat messages with tool calls in the dialect of any API or framework.

Each module reads one dialect. All of them give the same messages (see `conversation`), so that a
format that embeds chat messages does not need to know who wrote them.
"""

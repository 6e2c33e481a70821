"""Tables of the figures that commands, screens and reports show: one module for each figure.

A module turns data into a `Table`, so that a figure has the same words everywhere. `cli/output.py`
renders tables as text, `tui/text/tables.py` on screens, and `exporters/report_pages.py` as HTML and
Markdown.
"""

"""JSON Schemas of the lines that commands print with `--json`."""

"""Run `python -m fcreview.cli` as `fcreview`."""

from fcreview.cli import app

app()

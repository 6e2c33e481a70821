"""fcreview: read what a model did in a function-calling benchmark, judge it, leave with labels."""

__version__ = "0.1.0"

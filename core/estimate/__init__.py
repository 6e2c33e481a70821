"""Corrected figures with intervals: what is known, what a random sample says of the rest, what to review next. Pure."""

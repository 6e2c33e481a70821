"""Runs beside each other: in lists, and what they make of the same items."""

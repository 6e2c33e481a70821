"""Runs beside each other, item by item: who passes what, how sure a difference is, and what flipped. Pure."""

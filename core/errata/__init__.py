"""Errata: settled corrections of golden answers, and equivalence rules, as one file that can be shared."""

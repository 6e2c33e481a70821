"""Screens that lay two runs beside each other."""

"""Importer of Inspect evaluation logs, `.eval` and `.json`."""

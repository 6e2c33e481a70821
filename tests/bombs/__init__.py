"""Bombs: small files that a careless importer expands to gigabytes, or reads in quadratic time."""

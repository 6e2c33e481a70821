"""Samples of items to review: strata and their sizes, what is drawn, and who gets what. Pure."""

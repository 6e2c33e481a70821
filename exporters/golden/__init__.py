"""Golden fixes: a patch of the dataset, and a text for upstream."""

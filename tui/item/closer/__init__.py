"""What is looked at more closely: other runs, labels, what is copied."""

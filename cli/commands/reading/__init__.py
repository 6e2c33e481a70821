"""Commands that read: runs, items, figures."""

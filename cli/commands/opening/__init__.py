"""Commands that begin: a place is opened, taken in, looked over."""

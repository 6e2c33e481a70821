"""What runs make of the same items, read for comparisons."""

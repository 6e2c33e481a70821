"""Import English and Chinese ACEBench runs with normal, special and agent categories."""

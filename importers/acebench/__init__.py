"""Import ACEBench runs in English and Chinese: normal, special and agent categories."""

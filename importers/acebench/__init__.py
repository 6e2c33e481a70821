"""ACEBench, English and Chinese: normal, special and agent categories."""

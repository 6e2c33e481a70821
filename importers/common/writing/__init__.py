"""What benchmarks' files that are written back have in common."""

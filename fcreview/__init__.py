"""fcreview: review the results of function-calling benchmarks and export labels."""

__version__ = "0.1.0"

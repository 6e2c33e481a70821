"""Small runs in the benchmarks' native formats, written for this project: what `fcreview demo`
opens.
"""

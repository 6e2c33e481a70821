"""Small runs in the benchmarks' native formats, written for this project, and the folder that
`fcreview demo` opens.
"""

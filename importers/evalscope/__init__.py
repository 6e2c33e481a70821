"""Import output folders of EvalScope 1.x, which runs many benchmarks with one writer."""

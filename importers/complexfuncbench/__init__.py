"""Import ComplexFuncBench: multi-step travel tasks, judged call by call."""

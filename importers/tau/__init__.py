"""Import tau-bench v1 and tau2-bench: conversations of an agent, a simulated user and their
tools.
"""

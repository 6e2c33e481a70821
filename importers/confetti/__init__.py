"""Import CONFETTI runs.

A call record asks for one call of an agent turn, and a dialog act record for its reply.
"""

"""Join the pieces of streamed replies, in the form of each API."""

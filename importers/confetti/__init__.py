"""Import CONFETTI: single agent turns in human conversations, as calls and as dialog acts."""

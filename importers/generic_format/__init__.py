"""Import the generic format: JSON Lines files of your own and OpenAI-style chat logs."""

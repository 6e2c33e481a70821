"""The generic format: JSON Lines of your own, and OpenAI-style chat logs."""

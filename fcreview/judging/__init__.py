"""Ask a language model for verdicts: prompts, replies, and the records of a judge."""

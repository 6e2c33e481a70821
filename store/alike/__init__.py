"""What items have in common: of one question, of one category, failing alike."""

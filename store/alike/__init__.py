"""What items of one question, or of one category, have in common: asked for by single keys of the item screen."""

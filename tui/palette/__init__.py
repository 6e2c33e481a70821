"""The palette: everything that can be done or gone to from a screen, found by typing. Without Textual."""

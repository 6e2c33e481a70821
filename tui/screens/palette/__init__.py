"""The palette as a screen, and what is done when something is chosen in it."""

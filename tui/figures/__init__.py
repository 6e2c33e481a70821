"""Figures as rows of a table to choose from: each opens the items that it was made from. Without Textual."""

"""Lists of runs, sorted, searched and in groups that fold. Without Textual."""

"""Two runs beside each other as lines, without Textual."""

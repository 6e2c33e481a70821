"""What a report says, as sections of text and tables that every form of it (HTML, Markdown) writes alike. Pure."""

"""Commands that lay runs beside each other."""

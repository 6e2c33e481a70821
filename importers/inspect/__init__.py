"""Import Inspect evaluation logs (`.eval` and `.json`)."""

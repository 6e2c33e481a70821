"""What was imported while the app is open, shown without moving anything that a person looks at."""

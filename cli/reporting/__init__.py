"""What `fcreview report` gathers, for text, JSON and pages alike."""

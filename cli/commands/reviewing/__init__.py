"""Commands about reviews: given, brought together, settled, taken away."""

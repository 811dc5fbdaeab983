"""Models by the number of their recommendation."""

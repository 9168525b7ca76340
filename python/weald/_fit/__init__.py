"""Base classes, and the fits of forests, boosting and compression."""

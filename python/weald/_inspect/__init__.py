"""Displays, explanations and importances."""

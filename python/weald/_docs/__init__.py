"""Texts of docstrings that several estimators and methods share."""

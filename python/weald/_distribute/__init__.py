"""Fits on the samples of several workers."""

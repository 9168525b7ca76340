"""Weights of classes, labels and outputs."""

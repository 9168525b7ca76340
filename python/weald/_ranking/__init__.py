"""Ranks, thresholds and gains of scores of labels."""

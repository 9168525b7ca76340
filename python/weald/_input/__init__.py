"""Checks and conversions of what users pass: arrays, frames, targets, masks, weights, columns."""

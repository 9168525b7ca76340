"""Conformal prediction: scores of calibration samples, their quantiles, and what is made of these."""

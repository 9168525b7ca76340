"""Estimators whose predictions are averaged: the fit of the members, their mean, and files."""

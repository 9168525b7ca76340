"""Functions and classes around fitted models."""

"""Meta-estimators: what stands around fitted estimators."""

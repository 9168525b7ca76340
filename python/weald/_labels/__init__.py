"""What stands around models of labels: thresholds, calibration, folds, the best labels."""

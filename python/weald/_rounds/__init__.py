"""What boosting does in every round besides growing trees: callbacks, progress, losses on other samples."""

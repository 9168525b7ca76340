"""What fits do besides growing trees: callbacks, progress, and in boosting losses on other samples."""

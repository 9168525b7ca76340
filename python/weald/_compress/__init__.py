"""The two kinds of compression of a forest, and predictions of compressed classifiers."""

"""Model files and files of labels."""

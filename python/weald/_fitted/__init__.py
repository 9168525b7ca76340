"""The state of a fit: attributes that are replaced all at once, and their validation."""

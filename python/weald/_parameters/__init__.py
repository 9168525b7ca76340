"""Parameters that several estimators share, and what becomes of them in the engine."""

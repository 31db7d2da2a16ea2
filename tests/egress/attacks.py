"""."""
TESTS = []

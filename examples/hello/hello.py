"""Says hello."""
import sys

from vendor.words import greeting

print(greeting(sys.argv[1] if len(sys.argv) > 1 else "world"))

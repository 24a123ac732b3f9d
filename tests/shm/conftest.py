"""Lets the tests of the ring share its model and its helper processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

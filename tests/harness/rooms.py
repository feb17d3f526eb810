"""Import this first: it puts the rooms of the harness on Python's path."""

import pathlib
import sys

HARNESS = pathlib.Path(__file__).resolve().parent
ROOMS = ("servers", "oracles", "fixtures", "mutators", "house")

sys.path[:0] = [str(HARNESS / room) for room in ROOMS]

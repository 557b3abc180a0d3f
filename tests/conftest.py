"""Hypothesis draws the same examples on every machine, and compiling may take its time."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.pop("AIRENV_GAMES", None)  # a person's own games are not ours to test
settings.register_profile("airenv", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("airenv")

"""How long the randomized campaigns run: short in `make test`, long in `make soak`, which sets the environment."""

import os

GAMES = int(os.environ.get("GUILDHALL_GAMES", "2000"))
"""Games of random play for each game of the hall, over all its player counts, options and rulings."""

SCHEDULES = int(os.environ.get("GUILDHALL_SCHEDULES", "5000"))
"""Schedules of the log's simulation."""

LONG = GAMES > 2_000
"""Whether those campaigns that have counts of their own are to be long, too."""

CHAOS_SECONDS = float(os.environ.get("GUILDHALL_CHAOS_SECONDS", "0"))
"""Seconds of the live history check on three brokers; 0: its short form, with a fixed budget of faults on one."""

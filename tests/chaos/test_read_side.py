"""The read side breaks, again and again, under play and under many watchers: none of them misses or doubles anything.

In `make test` under a minute; with `GUILDHALL_CHAOS_SECONDS`, which `make soak` sets, as long as a quarter of it says.
"""

import time
from collections import Counter
from pathlib import Path

from tests import kafka_broker
from tests.campaign import CHAOS_SECONDS
from tests.chaos import faults
from tests.chaos.campaign import Plan, run

ONLY = ",".join(faults.READ_SIDE)
SHORT = Plan(seed=2, only=ONLY, processes=1, watchers=60, tables=4, think=0.2, rest=0.5)
LONG = Plan(seconds=CHAOS_SECONDS / 4, seed=int(time.time()), only=ONLY, processes=2, watchers=200)


async def test_no_watcher_misses_or_doubles_a_version_whatever_breaks(tmp_path: Path) -> None:
    try:
        report = await run(LONG if CHAOS_SECONDS else SHORT, tmp_path)
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)
    print(report)
    assert not report.violations, f"{report}\nThe history and the processes' output: {tmp_path}"
    if not CHAOS_SECONDS:
        assert report.faults - Counter({"start that failed": report.faults.total()}) == Counter(faults.READ_SIDE)
    assert report.watchers >= report.plan.watchers
    assert report.versions_seen > 10 * report.plan.watchers
    assert report.calls["write accepted"] > 20
    assert report.streams_ended

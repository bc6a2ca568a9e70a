"""The live history check: real brokers, three rules processes, faults, and nothing that was promised is broken.

In `make test` one broker and a fixed budget of faults, some two minutes; with `GUILDHALL_CHAOS_SECONDS`, which `make
soak` sets, three brokers that are killed too, for as long as it says.
"""

import time
from collections import Counter
from pathlib import Path

from tests import kafka_broker
from tests.campaign import CHAOS_SECONDS
from tests.chaos import faults
from tests.chaos.campaign import Plan, Report, run

SHORT = Plan(brokers=1, seed=1, only=",".join([*faults.PROCESSES, *faults.LINES, *faults.BROKERS]))
LONG = Plan(seconds=CHAOS_SECONDS, brokers=3, seed=int(time.time()))


async def test_acknowledged_means_durable_whatever_breaks(tmp_path: Path) -> None:
    try:
        report = await run(LONG if CHAOS_SECONDS else SHORT, tmp_path)
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)
    print(report)
    assert not report.violations, f"{report}\nThe history and the processes' output: {tmp_path}"
    check_that_it_was_a_test(report)


def check_that_it_was_a_test(report: Report) -> None:
    """A campaign in which nothing broke, or nobody played, proves nothing."""
    budget = Counter(faults.PROCESSES) + Counter(faults.LINES) + Counter(faults.BROKERS)
    if report.plan.seconds:
        assert report.faults
    else:
        # Beside them a process may have been started while there was no broker, and again.
        assert report.faults - Counter({"start that failed": report.faults.total()}) == budget
    assert report.calls["write accepted"] > 20
    assert any(name.startswith("write refused") for name in report.calls)
    assert any(name.startswith("write unknown") for name in report.calls)
    assert report.told.claims > 12

"""What is SQLite's own: durability under kill -9, two processes on one file, files that aren't to be opened."""

import asyncio
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import guildhall.log.sqlite
from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.port import Appended, Claim, Doubt, ProducerRecord
from guildhall.log.reader import fold_to_end
from guildhall.log.sqlite import SCHEMA_VERSION, open_sqlite
from guildhall.log.writer import Limits, RuledOut, Writer

TOPIC = "guildhall.test.events"

# A process that appends to many games at once and prints what was acknowledged, until it is killed.
HALL = """
import asyncio, itertools, sys
from guildhall.log.fold import FoldState
from guildhall.log.port import Appended, Claim
from guildhall.log.sqlite import open_sqlite
from guildhall.log.writer import Writer

async def play(writer, name):
    for seq in itertools.count(writer.last_seq(name) + 1):
        outcome = await writer.append(name, seq, b"hash", b"%d" % seq * 50)
        assert isinstance(outcome, Appended), outcome
        print(name, seq, outcome.offset, flush=True)

async def main(path, instance):
    events = await open_sqlite(path).events("guildhall.test.events")
    writer = Writer(events, 0, Claim(instance, "here"), FoldState(), lambda verdict: None)
    await writer.claim()
    await asyncio.gather(*(play(writer, f"game {n}".replace(" ", "-")) for n in range(8)))

asyncio.run(main(*sys.argv[1:]))
"""


async def effective(path: Path) -> list[tuple[int, str, int]]:
    log = open_sqlite(path)
    found: list[tuple[int, str, int]] = []

    def told(verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            found.append((verdict.offset, verdict.aggregate_id, verdict.entry.seq))

    await fold_to_end(await log.events(TOPIC), 0, FoldState(), told)
    await log.close()
    return found


async def test_what_was_acknowledged_survives_kill_9_mid_commit(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    acknowledged: list[tuple[int, str, int]] = []
    for incarnation in range(4):
        hall = subprocess.Popen(
            [sys.executable, "-c", HALL, str(path), f"instance {incarnation}"], stdout=subprocess.PIPE, text=True
        )
        assert hall.stdout is not None
        lines = [hall.stdout.readline() for _ in range(150 + 37 * incarnation)]
        hall.send_signal(signal.SIGKILL)
        lines += hall.stdout.readlines()  # what it said before it died
        hall.stdout.close()
        assert hall.wait() == -signal.SIGKILL
        # The kill may have cut the last line.
        for name, seq, offset in (line.split() for line in lines if line.endswith("\n")):
            acknowledged.append((int(offset), name, int(seq)))
        found = await effective(path)
        assert set(acknowledged) <= set(found)
        for name in {name for _, name, _ in found}:
            seqs = [seq for _, its, seq in found if its == name]
            assert seqs == list(range(1, len(seqs) + 1))


async def test_of_two_processes_on_one_file_the_older_stands_down(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    limits = Limits(poll_seconds=3600)
    log = open_sqlite(path)
    mine = Writer(await log.events(TOPIC), 0, Claim("mine", ""), FoldState(), lambda verdict: None, limits)
    await mine.claim()
    assert await mine.append("game-0", 1, b"hash", b"mine") == Appended(1)
    hall = subprocess.Popen([sys.executable, "-c", HALL, str(path), "theirs"], stdout=subprocess.PIPE, text=True)
    assert hall.stdout is not None
    first = [hall.stdout.readline().split() for _ in range(50)]
    late = await mine.append("game-0", 2, b"other hash", b"mine")
    assert late == RuledOut() and not mine.serving
    rest = [hall.stdout.readline().split() for _ in range(50)]
    hall.kill()
    hall.stdout.close()
    hall.wait()
    await mine.close()
    await log.close()
    found = await effective(path)
    assert found[0] == (1, "game-0", 1)
    theirs = {(int(offset), name, int(seq)) for name, seq, offset in first + rest}
    assert theirs <= set(found), "nothing of the newer was disturbed"


async def test_waiting_for_the_disk_does_not_stop_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = open_sqlite(path)
    events = await log.events(TOPIC)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    appending = asyncio.ensure_future(events.append(0, [ProducerRecord("a", b"x")]))
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert not appending.done()
    other.execute("COMMIT")
    assert await appending == [Appended(0)]
    other.close()
    await log.close()


async def test_everything_queued_goes_in_one_transaction(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "log.sqlite")
    events, compacted = await log.events(TOPIC), await log.compacted("guildhall.test.markers")
    held, go = threading.Event(), threading.Event()

    def hold(db: sqlite3.Connection) -> None:
        held.set()
        go.wait()

    commits: list[str] = []
    await log.do(lambda db: db.set_trace_callback(commits.append), writes=False)
    holding = asyncio.ensure_future(log.do(hold, writes=False))
    await asyncio.to_thread(held.wait)
    queued = [asyncio.ensure_future(events.append(n % 12, [ProducerRecord("a", b"x")])) for n in range(100)]
    putting = asyncio.ensure_future(compacted.put(0, "a", b"x"))
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*queued, putting, holding)
    assert commits.count("COMMIT") == 1
    await log.close()


async def test_a_full_sync_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    for log, expected in ((open_sqlite(path), 2), (open_sqlite(path, synchronous="NORMAL"), 1)):
        assert await log.do(lambda db: db.execute("PRAGMA synchronous").fetchone(), writes=False) == (expected,)
        assert await log.do(lambda db: db.execute("PRAGMA journal_mode").fetchone(), writes=False) == ("wal",)
        await log.close()


async def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "log.sqlite")
    events = await log.events(TOPIC)
    last = asyncio.ensure_future(events.append(0, [ProducerRecord("a", b"x")]))
    await asyncio.sleep(0)
    await log.close()
    await log.close()
    assert await last == [Appended(0)], "what was queued is finished"
    with pytest.raises(LogUnavailable):
        await events.end_offset(0)
    [outcome] = await events.append(0, [ProducerRecord("a", b"x")])
    assert isinstance(outcome, Doubt)


async def test_a_failing_commit_is_doubt_and_the_next_goes_on(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "log.sqlite")
    events = await log.events(TOPIC)
    await events.append(0, [ProducerRecord("a", b"x")])
    await log.do(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone(), writes=False)
    [outcome] = await events.append(0, [ProducerRecord("a", b"x" * 100_000)])
    assert isinstance(outcome, Doubt) and "full" in outcome.reason
    with pytest.raises(LogUnavailable):
        await (await log.compacted("guildhall.test.markers")).put(0, "a", b"x" * 100_000)
    await log.do(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone(), writes=False)
    assert await events.append(0, [ProducerRecord("a", b"y")]) == [Appended(1)]
    await log.close()


async def test_a_job_that_fails_unexpectedly_does_not_end_the_thread(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "log.sqlite")
    for writes in (True, False):
        with pytest.raises(LogUnavailable):
            await log.do(lambda db: [][0], writes=writes)
    assert await (await log.events(TOPIC)).end_offset(0) == 0
    await log.close()


# --- files that aren't to be opened


async def make(path: Path, records: int = 400) -> None:
    log = open_sqlite(path)
    events = await log.events(TOPIC)
    await events.append(0, [ProducerRecord(f"key {n}", b"x" * 500) for n in range(records)])
    await log.close()


async def refused(path: Path) -> LogUnreadable:
    """The error with which this file is refused, at the latest when all of it is read."""
    with pytest.raises(LogUnreadable) as error:
        log = open_sqlite(path)
        try:
            await (await log.events(TOPIC)).read(0, 0, 10_000)
        finally:
            await log.close()
    assert error.value.path == str(path) and str(path) in str(error.value)
    return error.value


async def test_garbage_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"these are my notes, not a log\n" * 500)
    before = path.read_bytes()
    await refused(path)
    assert path.read_bytes() == before


async def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE records (mine TEXT)")
    other.close()
    before = path.read_bytes()
    assert "another program" in (await refused(path)).reason
    assert path.read_bytes() == before


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    await make(path)
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    other.close()
    assert f"schema {SCHEMA_VERSION + 1}" in (await refused(path)).reason


async def test_a_log_without_its_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    await make(path)
    other = sqlite3.connect(path)
    other.execute("DROP TABLE records")
    other.close()
    assert "tables" in (await refused(path)).reason


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
async def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "log.sqlite"
    await make(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    await refused(path)


async def test_a_file_with_overwritten_pages_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    await make(path)
    whole = bytearray(path.read_bytes())
    start = len(whole) // 2 // 4096 * 4096
    whole[start : start + 4096] = bytes(range(256)) * 16
    path.write_bytes(whole)
    await refused(path)


async def test_what_is_no_file_to_write_is_refused(tmp_path: Path) -> None:
    await refused(tmp_path)
    await refused(tmp_path / "no such directory" / "log.sqlite")


async def test_an_empty_file_is_a_new_log(tmp_path: Path) -> None:
    """A process that is killed while it makes the file leaves it empty."""
    path = tmp_path / "log.sqlite"
    path.touch()
    await make(path)


async def test_many_processes_may_make_the_file_at_once(tmp_path: Path) -> None:
    for n in range(10):
        path = tmp_path / f"log{n}.sqlite"
        for log in await asyncio.gather(*(asyncio.to_thread(open_sqlite, path) for _ in range(8))):
            await log.close()


async def test_a_file_that_stays_locked_is_told_from_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    await make(path)
    monkeypatch.setattr(guildhall.log.sqlite, "_BUSY_SECONDS", 0.02)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogUnavailable, match="locked"):
        open_sqlite(path)
    other.execute("ROLLBACK")
    other.close()
    await make(path)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "log.sqlite")
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}

"""The log in one SQLite file, for one machine: two tables, in WAL mode, synced before anything is acknowledged.

All queued appends and puts go into one transaction (group commit), in one dedicated thread, so the event loop never
waits for the disk. Nothing locks the file for longer than a transaction: a second process on the same file is safe,
because claims decide who writes, and the older one stands down (design section 3).
"""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from guildhall.log.bell import Bell, BellTail
from guildhall.log.errors import LogError, LogUnavailable, LogUnreadable
from guildhall.log.port import (
    DEFAULT_PARTITIONS,
    MAX_RECORD_BYTES,
    Appended,
    AppendOutcome,
    Doubt,
    ProducerRecord,
    Record,
    TooLarge,
    check_partition,
)

APPLICATION_ID = 0x47484C47
"""Marks the file as ours ("GHLG"), in SQLite's own header."""

SCHEMA_VERSION = 1

TOPICS = "guildhall.topics"
"""Reserved compacted topic: the number of partitions of every topic, by name."""

_SCHEMA = (
    """
CREATE TABLE records (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, "offset" INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (topic, partition, "offset")
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE compacted (
    "offset" INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, partition INTEGER NOT NULL, key TEXT NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (topic, partition, key)
) STRICT
""",
)

_MAX_QUEUED = 4096
_BUSY_SECONDS = 5.0

T = TypeVar("T")


class _Job(Generic[T]):
    """Work for the thread: inside the shared transaction if it `writes`. Its result or error goes to `future`."""

    __slots__ = ("error", "future", "last", "result", "work", "writes")

    def __init__(self, work: Callable[[sqlite3.Connection], T], writes: bool, last: bool = False) -> None:
        self.work = work
        self.writes = writes
        self.last = last
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.result: T | None = None
        self.error: LogError | None = None

    def do(self, path: str, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.work(connection)
        except Exception as error:
            self.error = _translated(path, error)

    def deliver(self) -> None:
        if self.future.done():  # whoever waited has gone
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


class SqliteLog:
    """`Log` in one file; made by `open_sqlite`."""

    def __init__(self, path: str, connection: sqlite3.Connection, max_record_bytes: int) -> None:
        self.path = path
        self.max_record_bytes = max_record_bytes
        self._connection = connection
        self._jobs: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
        self._closed = False
        self.bell = Bell()
        # A daemon: a process that is told to exit needn't wait, since what isn't committed wasn't acknowledged.
        threading.Thread(target=self._serve, name=f"log {path}", daemon=True).start()

    async def events(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "SqliteEvents":
        return SqliteEvents(self, topic, await self.do(lambda db: _partitions(db, topic, partitions), writes=True))

    async def compacted(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "SqliteCompacted":
        return SqliteCompacted(self, topic, await self.do(lambda db: _partitions(db, topic, partitions), writes=True))

    async def close(self) -> None:
        """Finishes what is queued, then closes the file."""
        if not self._closed:
            self._closed = True
            job = _Job(sqlite3.Connection.close, writes=False, last=True)
            self._jobs.put(job)
            await job.future

    async def do(self, work: Callable[[sqlite3.Connection], T], writes: bool) -> T:
        """Runs `work` in the thread; work that `writes` is durable when this returns.

        Raises `LogUnavailable` (nothing is known to have been written), `LogUnreadable`.
        """
        if self._closed:
            raise LogUnavailable(f"{self.path} is closed")
        if self._jobs.qsize() >= _MAX_QUEUED:
            raise LogUnavailable(f"{self.path}: {_MAX_QUEUED} jobs are queued")
        job = _Job(work, writes)
        self._jobs.put(job)
        return await job.future

    def _serve(self) -> None:
        last = False
        while not last:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            writes = [job for job in jobs if job.writes]
            if writes:
                self._commit(writes)
            # After the commit, so that a read reflects every write that was queued before it.
            for job in jobs:
                if not job.writes:
                    job.do(self.path, self._connection)
                last = last or job.last
            for job in jobs:
                # A loop that has been closed has nobody left to tell.
                with contextlib.suppress(RuntimeError):
                    job.future.get_loop().call_soon_threadsafe(job.deliver)

    def _commit(self, jobs: "list[_Job[Any]]") -> None:
        """All jobs in one transaction: all of them are durable, or all get the error."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                job.result = job.work(self._connection)
            self._connection.execute("COMMIT")
        except Exception as error:
            for job in jobs:
                job.error = _translated(self.path, error)
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


class SqliteEvents:
    """`EventsTopic` over the file."""

    def __init__(self, log: SqliteLog, name: str, partitions: int) -> None:
        self._log = log
        self.name = name
        self.partitions = partitions

    async def append(self, partition: int, records: Sequence[ProducerRecord]) -> Sequence[AppendOutcome]:
        check_partition(self, partition)
        limit = self._log.max_record_bytes
        fitting = [r for r in records if len(r.key.encode()) + len(r.value) <= limit]

        def insert(db: sqlite3.Connection) -> int:
            first = _end_offset(db, self.name, partition)
            db.executemany(
                "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
                [(self.name, partition, first + n, r.key, r.value) for n, r in enumerate(fitting)],
            )
            return first

        outcomes: Iterator[AppendOutcome] = iter(())
        if fitting:
            try:
                first = await self._log.do(insert, writes=True)
                outcomes = (Appended(first + n) for n in range(len(fitting)))
                self._log.bell.ring(self.name, partition)
            except LogError as error:
                outcomes = iter([Doubt(str(error))] * len(fitting))
        if len(fitting) == len(records):
            return list(outcomes)
        fits = {id(r) for r in fitting}
        return [next(outcomes) if id(r) in fits else TooLarge(limit) for r in records]

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        check_partition(self, partition)

        def select(db: sqlite3.Connection) -> list[Record]:
            rows = db.execute(
                'SELECT "offset", key, value FROM records'
                ' WHERE topic = ? AND partition = ? AND "offset" >= ? ORDER BY "offset" LIMIT ?',
                (self.name, partition, offset, limit),
            )
            return [Record(*row) for row in rows]

        return await self._log.do(select, writes=False)

    async def end_offset(self, partition: int) -> int:
        check_partition(self, partition)
        return await self._log.do(lambda db: _end_offset(db, self.name, partition), writes=False)

    def tail(self) -> BellTail:
        return BellTail(self, self._log.bell)


class SqliteCompacted:
    """`CompactedTopic` over the file."""

    def __init__(self, log: SqliteLog, name: str, partitions: int) -> None:
        self._log = log
        self.name = name
        self.partitions = partitions

    async def put(self, partition: int, key: str, value: bytes | None) -> int:
        check_partition(self, partition)
        key.encode()  # a key that has no UTF-8 must fail its caller, not everybody's transaction
        return await self._log.do(lambda db: _put(db, self.name, partition, key, value), writes=True)

    async def get(self, partition: int, key: str) -> bytes | None:
        check_partition(self, partition)
        return await self._log.do(lambda db: _get(db, self.name, partition, key), writes=False)

    async def scan(self, partition: int, offset: int = 0) -> Sequence[Record]:
        return await self._scan(partition, offset, lambda record: record)

    async def scan_as(self, partition: int, make: Callable[[Record], T]) -> Sequence[T]:
        return await self._scan(partition, 0, make)

    async def _scan(self, partition: int, offset: int, make: Callable[[Record], T]) -> Sequence[T]:
        check_partition(self, partition)

        def select(db: sqlite3.Connection) -> list[T]:
            rows = db.execute(
                'SELECT "offset", key, value FROM compacted'
                ' WHERE topic = ? AND partition = ? AND "offset" >= ? ORDER BY "offset"',
                (self.name, partition, offset),
            )
            return [make(Record(*row)) for row in rows]

        return await self._log.do(select, writes=False)


def open_sqlite(
    path: str | Path, *, synchronous: Literal["FULL", "NORMAL"] = "FULL", max_record_bytes: int = MAX_RECORD_BYTES
) -> SqliteLog:
    """Opens the log in this file, made if there is none; its directory must exist.

    `NORMAL` may lose the last acknowledged records when the machine (not the process) goes down.
    Raises `LogUnreadable`: damaged, not ours, written by a newer schema, or not to be opened or written here.
    Raises `LogUnavailable`: another process has kept it locked for some seconds.
    """
    name = str(path)
    patience = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return SqliteLog(name, _connect(name, synchronous), max_record_bytes)
        except sqlite3.Error as error:
            if _code(error) not in _BUSY_CODES:
                raise LogUnreadable(name, str(error)) from error
            if time.monotonic() > patience:
                raise LogUnavailable(f"{name}: {error}") from error
        # SQLite doesn't wait by itself while another process is turning the same new file to WAL mode.
        time.sleep(0.01)


def _connect(path: str, synchronous: str) -> sqlite3.Connection:
    # The log holds seeds and hidden cards: a new file is its owner's alone. SQLite gives its WAL the same mode,
    # and reports itself what keeps a file from being made.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _prepare(path, connection, synchronous)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(path: str, db: sqlite3.Connection, synchronous: str) -> None:
    """Checks whose file it is before anything is written to it, then makes what is missing."""
    db.execute("BEGIN")  # one look at it: another process may be making it right now
    _check_schema(path, db)
    db.execute("ROLLBACK")
    [mode] = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise LogUnreadable(path, f"no write-ahead log is possible here (journal mode {mode})")
    db.execute(f"PRAGMA synchronous = {synchronous}")
    db.execute("BEGIN IMMEDIATE")  # also finds out whether the file can be written
    if not _check_schema(path, db):
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _check_schema(path: str, db: sqlite3.Connection) -> bool:
    """Whether the file holds our tables (True) or nothing yet (False). Raises `LogUnreadable` for anything else."""
    [application] = db.execute("PRAGMA application_id").fetchone()
    [version] = db.execute("PRAGMA user_version").fetchone()
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables and application == 0 and version == 0:
        return False
    if application != APPLICATION_ID:
        raise LogUnreadable(path, "a database of another program")
    if version > SCHEMA_VERSION:
        raise LogUnreadable(path, f"written by schema {version}; this program knows up to {SCHEMA_VERSION}")
    if not {"records", "compacted"} <= tables:
        raise LogUnreadable(path, "its tables are missing")
    return True


def _partitions(db: sqlite3.Connection, topic: str, wanted: int) -> int:
    stored = _get(db, TOPICS, 0, topic)
    if stored is None:
        _put(db, TOPICS, 0, topic, str(wanted).encode())
        return wanted
    return int(stored)


def _end_offset(db: sqlite3.Connection, topic: str, partition: int) -> int:
    row = db.execute('SELECT max("offset") FROM records WHERE topic = ? AND partition = ?', (topic, partition))
    [last] = row.fetchone()
    return 0 if last is None else int(last) + 1


def _get(db: sqlite3.Connection, topic: str, partition: int, key: str) -> bytes | None:
    row = db.execute(
        "SELECT value FROM compacted WHERE topic = ? AND partition = ? AND key = ?", (topic, partition, key)
    )
    found = row.fetchone()
    return found[0] if found else None


def _put(db: sqlite3.Connection, topic: str, partition: int, key: str, value: bytes | None) -> int:
    """The row's new offset; for a deletion, the offset that the next row will be past."""
    if value is None:
        db.execute("DELETE FROM compacted WHERE topic = ? AND partition = ? AND key = ?", (topic, partition, key))
        [last] = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'compacted'").fetchone()
        return int(last)
    row = db.execute(
        "INSERT OR REPLACE INTO compacted (topic, partition, key, value) VALUES (?, ?, ?, ?)",
        (topic, partition, key, value),
    )
    return int(row.lastrowid or 0)


_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


def _code(error: Exception) -> int:
    """The primary result code (the low byte of the extended one)."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _translated(path: str, error: Exception) -> LogError:
    """What the thread met, for whoever waits. Nothing may end the thread: everybody would wait for ever."""
    if _code(error) in _DAMAGE_CODES:
        return LogUnreadable(path, str(error))
    return LogUnavailable(f"{path}: {error}")

"""Matchmaking's log for whoever prints and checks it: a pool for each game, beside claims."""

from collections import Counter
from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

import msgspec

from guildhall.cli import faces
from guildhall.cli.log_lines import other_lines
from guildhall.cli.log_stats import listed
from guildhall.cli.log_verify import Found
from guildhall.kernel.v1.structs import decode_Record
from guildhall.log.errors import LogUnreadable
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.port import CLAIM_KEY, Claim, Entry, partition_of
from guildhall.log.reader import fold_to, fold_to_end
from guildhall.log.recovery import Store
from guildhall.log.snapshots import snapshot_key
from guildhall.log.topics import MATCHMAKING
from guildhall.matchmaking.v1.structs import PoolRestored, decode_event
from services.matchmaking.folding_again import fold_again
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import HouseRules
from services.matchmaking.mending import restored
from services.matchmaking.pool import snapshot
from services.matchmaking.pool_partition import PoolPartition

_SECRET = {"code": "…", "seed": b""}
"""Fields of events that nobody may see, and what stands in their place."""


class MatchmakingBook:
    """The pools of all games that are there."""

    name = MATCHMAKING

    def __init__(self) -> None:
        self._games = [HouseRules(faces.rules(game), bots=faces.strengths(game)) for game in faces.games()]

    def lines(self, verdict: Verdict, *, events: bool, secrets: bool) -> list[str]:
        """As `log_books.Book`."""
        if isinstance(verdict, Effective):
            return _entry_lines(verdict.offset, verdict.aggregate_id, verdict.entry, events, secrets)
        return other_lines(verdict)

    async def verify(self, store: Store) -> Found:
        """As `log_books.Book`: each pool is folded from its first record, and from what is stored of it."""
        found, totals = Found(), Counter[str]()
        for number in range(store.events.partitions):
            # First, since a hall that runs may store a state while this folds: it is not to be missed in what was read.
            kept = {record.key for record in await store.snapshots.scan(number)}
            stored = self._partition(store, number)
            try:
                await stored.fold()
            except LogUnreadable as error:
                found.problems.append(str(error))
                continue
            try:
                end = stored.writer.position.next_offset
                check = _Pass(self._partition(store, number), f"{store.events.name}/{number}", found, end)
                await fold_to(store.events, number, FoldState(), end, check.told)
                await check.end(store, number, stored, kept)
            finally:
                await stored.finish(0.0)
            totals += check.counts
        counts = [f"{totals[what]} {what}" for what in ("pools", "versions", "stored states")]
        found.summary = f"{MATCHMAKING}: {', '.join(counts)}"
        return found

    async def stats(self, store: Store) -> list[str]:
        """As `log_books.Book`."""
        tally = _Tally()
        written = []
        for number in range(store.events.partitions):
            partition = self._partition(store, number)
            state = FoldState()

            def told(verdict: Verdict, partition: PoolPartition = partition) -> None:
                tally.told(verdict)
                _tell(partition, verdict)

            await fold_to_end(store.events, number, state, told)
            for game, hosted in sorted(partition.pools.items()):
                if hosted.put_back:
                    await fold_again(store.events, number, hosted, state.next_offset)
                _note_damage(hosted, state)
                if hosted.seq or hosted.damaged:
                    written.append(_standing(game, hosted))
        return [
            f"{MATCHMAKING}: {store.events.partitions} partitions, {tally.records.total()} records, "
            f"{tally.bytes} bytes of versions",
            f"  records      {listed(tally.records)}",
            f"  claimed by   {len(tally.instances)} instances",
            *written,
        ]

    def _partition(self, store: Store, number: int) -> PoolPartition:
        """One that claims nothing and writes nothing."""
        games = [house for house in self._games if partition_of(house.rules.game, store.events.partitions) == number]
        return PoolPartition(games, store, number, Claim("", ""), lambda *_: None, [])


def _tell(partition: PoolPartition, verdict: Verdict) -> None:
    if isinstance(verdict, Effective) and verdict.aggregate_id in partition.pools:
        partition.pools[verdict.aggregate_id].told(verdict.offset, verdict.entry)


def _note_damage(hosted: HostedPool, state: FoldState) -> None:
    """A record that cannot be read does not count: only the fold of the log knows of it."""
    if hosted.game in state.damaged:
        hosted.damage(state.damaged[hosted.game], "the record cannot be read")


def _standing(game: str, hosted: HostedPool) -> str:
    pool = hosted.pool
    counts = {name: len(getattr(pool, name)) for name in ("tickets", "parties", "tables", "offers", "games", "ratings")}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    why = f"  QUARANTINED at offset {hosted.damaged_at}: {hosted.damaged}" if hosted.damaged else ""
    return f"  {game.replace('_', '-'):<20} version {hosted.whole}: {told}{why}"


# --- checking


class _Pass:
    """One partition's records, in their order."""

    def __init__(self, folded: PoolPartition, where: str, found: Found, end: int) -> None:
        self._end = end
        self._folded = folded
        self._where = where
        self._found = found
        self.counts: Counter[str] = Counter()
        self._claims_and_pools = FoldState()
        self._bad: dict[str, str] = {}
        self._mended: list[tuple[str, str]] = []

    def told(self, verdict: Verdict) -> None:
        """A record; those from the end on, which are read as well where a hall writes meanwhile, are not looked at."""
        if verdict.offset >= self._end:
            return
        match verdict:
            case Damaged(offset=offset, key=key, reason=reason):
                if key == CLAIM_KEY:
                    self._found.problems.append(f"{self._where}, offset {offset}: a claim cannot be read: {reason}")
                else:
                    self._bad.setdefault(key, f"{self._where}, offset {offset}, pool {key}: cannot be read: {reason}")
            case Effective(offset=offset, aggregate_id=key, entry=entry):
                self.counts["versions"] += 1
                hosted = self._folded.pools.get(key)
                if hosted is None:
                    self._bad.setdefault(key, f"{self._where}, offset {offset}, pool {key}: there is no such game")
                    return
                hosted.told(offset, entry)
                self._look(key, hosted, entry)
            case _:
                pass

    def _look(self, key: str, hosted: HostedPool, entry: Entry) -> None:
        order = restored(entry.body)
        if order is not None:
            by = ", ".join(command.subject for command in decode_Record(entry.body).commands)
            what = self._bad.pop(key, f"{self._where}, pool {key}: version {order.to_version + 1} and on")
            self._mended.append((key, f"{what}; {by} put it back to version {order.to_version}: {order.why}"))
        elif hosted.damaged:
            where = f"{self._where}, offset {hosted.damaged_at}, pool {key}"
            self._bad.setdefault(key, f"{where}: {hosted.damaged}")
        else:
            self._bad.pop(key, None)

    async def end(self, store: Store, number: int, stored: PoolPartition, kept: Set[str]) -> None:
        """After the last record: whether what is stored, under these keys, leads to the same pools. Raises LogError."""
        for game, hosted in self._folded.pools.items():
            put_back = hosted.put_back
            if put_back:
                await fold_again(store.events, number, hosted, stored.writer.position.next_offset)
            if hosted.damaged:
                self._bad.setdefault(game, f"{self._where}, pool {game}: {hosted.damaged}")
            self.counts["pools"] += bool(hosted.seq)
            there = stored.pools[game]
            if snapshot_key(game, stored.schema) in kept:
                self.counts["stored states"] += 1
                if not there.kept_seq and not put_back:
                    self._found.problems.append(f"{self._where}, pool {game}: its stored state cannot be read")
            if (there.seq, there.passed_over) != (hosted.seq, hosted.passed_over) or _told(there) != _told(hosted):
                self._found.problems.append(f"{self._where}, pool {game}: its stored state is not what its events make")
        self._found.notes += [note for _, note in self._mended]
        self._found.problems += self._bad.values()


def _told(hosted: HostedPool) -> tuple[Any, ...]:
    """All that a pool's records make, for comparing: the state, and the commands that it accepted."""
    return snapshot(hosted.pool), hosted.accepted


# --- counting


class _Tally:
    """What was counted of all partitions."""

    def __init__(self) -> None:
        self.records: Counter[str] = Counter()
        self.bytes = 0
        self.instances: set[str] = set()

    def told(self, verdict: Verdict) -> None:
        """One record."""
        match verdict:
            case Effective(entry=entry):
                self.records["effective"] += 1
                self.bytes += len(entry.body)
            case Void(reason=reason):
                self.records[f"void, {reason.value}"] += 1
            case ClaimSeen(claim=claim):
                self.records["claims"] += 1
                self.instances.add(claim.instance)
            case Damaged(key=key):
                self.records["damaged claims" if key == CLAIM_KEY else "damaged"] += 1


# --- one record in words


def _entry_lines(offset: int, key: str, entry: Entry, events: bool, secrets: bool) -> list[str]:
    try:
        record = decode_Record(entry.body)
        told = [decode_event(event) for event in record.events]
    except ValueError as error:
        return [f"{offset:>7}  {key} version {entry.seq}: UNREADABLE: {error}"]
    at = datetime.fromtimestamp(record.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    who = ", ".join(f"{ref.subject} ({ref.command_id})" for ref in record.commands) or "the clock"
    kinds = Counter(type(event).__name__ for event in told)
    names = ", ".join(name if count == 1 else f"{count} {name}" for name, count in kinds.items())
    written = [
        f"{offset:>7}  {key} version {record.seq}, claim {entry.claim}, {at}, {who}",
        f"         hash {entry.hash.hex()[:16]}…, {len(entry.body)} bytes: {names}",
    ]
    written += [f"         because: {event.why}" for event in told if isinstance(event, PoolRestored)]
    if events:
        written += [f"           {event if secrets else _without_secrets(event)!r}" for event in told]
    return written


def _without_secrets(event: Any) -> Any:
    hidden = {name: value for name, value in _SECRET.items() if getattr(event, name, None)}
    return msgspec.structs.replace(event, **hidden) if hidden else event

"""Checking a game's topics from the first record on: what `guildhall log verify` finds."""

import zlib
from dataclasses import dataclass, field

import msgspec

from guildhall.host import snapshots
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Restored, decode_Record
from guildhall.kernel.verify import Altered, Check
from guildhall.log.errors import BadValue
from guildhall.log.fold import Damaged, Effective, FoldState, Verdict
from guildhall.log.port import CLAIM_KEY, Position
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store
from guildhall.log.snapshots import (
    Checkpoint,
    Marker,
    Snapshot,
    checkpoint_key,
    decode_checkpoint,
    decode_marker,
    decode_snapshot,
)


@dataclass
class Found:
    """What a check found: problems, and notes on what operators have mended; a sentence each."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    summary: str = ""


async def verify(rules: Rules, store: Store) -> Found:
    """Check one game's topics. Raises LogError where they cannot be read at all."""
    found = Found()
    counts = [0, 0, 0, 0]
    for partition in range(store.events.partitions):
        # Before the events: whatever these tell of must then be among them.
        beside = await _beside(rules, store, partition, found)
        pass_ = _Pass(rules, f"{store.events.name}/{partition}", beside, found)
        await fold_to_end(store.events, partition, pass_.state, pass_.told)
        pass_.end()
        for n, count in enumerate(pass_.counts()):
            counts[n] += count
    games, versions, draws, states = counts
    found.summary = (
        f"{rules.game.replace('_', '-')}: {games} games, {versions} versions, {draws} draws, {states} stored states"
    )
    return found


@dataclass
class _Beside:
    """The stored states of a partition that can be read."""

    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    markers: dict[str, Marker] = field(default_factory=dict)
    unreadable_markers: set[str] = field(default_factory=set)
    checkpoint: Checkpoint | None = None


async def _beside(rules: Rules, store: Store, partition: int, found: Found) -> _Beside:
    beside = _Beside()
    # First, as a start does: the markers of what it no longer lists were there before it.
    value = await store.checkpoints.get(partition, checkpoint_key(partition))
    try:
        beside.checkpoint = decode_checkpoint(value) if value is not None else None
    except BadValue as error:
        found.problems.append(f"{store.checkpoints.name}/{partition}: unreadable: {error}")
    schema = snapshots.schema_of(rules)
    for record in await store.snapshots.scan(partition):
        game_id, _, its_schema = record.key.rpartition("/")
        if its_schema == schema:
            try:
                beside.snapshots[game_id] = decode_snapshot(record.value)
            except BadValue as error:
                found.problems.append(f"{store.snapshots.name}/{partition}, {record.key}: unreadable: {error}")
    for record in await store.markers.scan(partition):
        try:
            beside.markers[record.key] = decode_marker(record.value)
        except BadValue as error:
            beside.unreadable_markers.add(record.key)
            found.problems.append(f"{store.markers.name}/{partition}, {record.key}: unreadable: {error}")
    return beside


class _Pass:
    """One partition's records, in their order."""

    def __init__(self, rules: Rules, where: str, beside: _Beside, found: Found) -> None:
        self.state = FoldState()
        """Where the fold stands."""
        self._rules = rules
        self._schema = snapshots.schema_of(rules)
        self._where = where
        self._beside = beside
        self._found = found
        self._checks: dict[str, Check] = {}
        self._bad: dict[str, str] = {}
        self._versions = 0
        self._compared = 0
        self._checkpointed = beside.checkpoint is None
        self._first: dict[str, Position] = {}
        """Where each game's first record lies, as a checkpoint tells it."""
        self._last: dict[str, int] = {}
        """The offset of each game's newest record."""
        self._made_at: dict[int, list[str]] = {}
        """The games whose snapshot was made when the fold stood there."""
        for game_id, snapshot in beside.snapshots.items():
            self._made_at.setdefault(snapshot.position.next_offset, []).append(game_id)

    def counts(self) -> tuple[int, int, int, int]:
        """Games, versions, draws, stored states that were compared."""
        return len(self._checks), self._versions, sum(check.draws for check in self._checks.values()), self._compared

    def told(self, verdict: Verdict) -> None:
        """A record, after the state has it."""
        match verdict:
            case Effective(offset=offset, aggregate_id=game_id, entry=entry):
                self._first.setdefault(game_id, Position(offset, entry.claim))
                self._last[game_id] = offset
                self._take(offset, game_id, entry.seq, entry.body, entry.hash)
                self._compare(game_id, entry.seq)
            case Damaged(offset=offset, key=key, reason=reason) if key == CLAIM_KEY:
                self._found.problems.append(f"{self._where}, offset {offset}: a claim cannot be read: {reason}")
            case Damaged(offset=offset, key=key, reason=reason):
                self._bad.setdefault(key, f"{self._where}, offset {offset}, game {key}: cannot be read: {reason}")
        for game_id in self._made_at.pop(self.state.next_offset, ()):
            self._compare_place(game_id, self._beside.snapshots[game_id])
        checkpoint = self._beside.checkpoint
        if checkpoint is not None and checkpoint.position.next_offset == self.state.next_offset:
            self._checkpointed = True
            self._compare_checkpoint(checkpoint)

    def _take(self, offset: int, game_id: str, seq: int, body: bytes, digest: bytes) -> None:
        check = self._checks.setdefault(game_id, Check(self._rules))
        self._versions += 1
        try:
            check.take(seq, body, digest)
        except Altered as error:
            self._bad.setdefault(game_id, f"{self._where}, offset {offset}, game {game_id}: {error}")
            return
        why = self._bad.pop(game_id, None)
        if why is not None:
            [ref] = decode_Record(body).commands
            event = self._rules.wire.decode_event(decode_Record(body).events[0])
            did = "put it back" if isinstance(event, Restored) else "went on"
            self._found.notes.append(f"{why}; {ref.subject} {did} at version {seq}")
        if check.game is not None and check.game.ended is not None:
            try:
                check.end()
            except Altered as error:
                self._bad[game_id] = f"{self._where}, offset {offset}, game {game_id}: {error}"

    def _compare(self, game_id: str, seq: int) -> None:
        """Whether what is stored of the game at this version is what its events make."""
        check = self._checks[game_id]
        snapshot = self._beside.snapshots.get(game_id)
        marker = self._beside.markers.get(game_id)
        if check.game is None or check.game.lost:
            return
        if snapshot is not None and snapshot.seq == seq:
            self._compare_state("snapshot", game_id, snapshot.state, check.game.snapshot())
        if marker is not None and marker.seq == seq:
            self._compare_state("marker", game_id, marker.kept, check.game.snapshot())

    def _compare_state(self, what: str, game_id: str, kept: bytes, folded: bytes) -> None:
        self._compared += 1
        try:
            game, _ = snapshots.unkeep(self._rules, self._schema, kept)
        except (msgspec.MsgspecError, zlib.error, ValueError) as error:
            self._found.problems.append(f"{self._where}, game {game_id}: its {what} cannot be read: {error}")
            return
        if game is not None and game.snapshot() != folded:
            self._found.problems.append(f"{self._where}, game {game_id}: its {what} is not what its events make")

    def _compare_place(self, game_id: str, snapshot: Snapshot) -> None:
        """Whether a start can fold on from where the snapshot was made."""
        if (snapshot.seq, snapshot.position) != (self.state.seqs.get(game_id), self.state.position):
            self._found.problems.append(f"{self._where}, game {game_id}: its snapshot is not of these events")

    def _compare_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Whether a start can begin with the checkpoint, and with the markers of the games that it does not list."""
        self._compared += 1
        state = self.state
        wrong = [game_id for game_id, seq in checkpoint.seqs.items() if state.seqs.get(game_id) != seq]
        wrong += [game_id for game_id, begin in checkpoint.begins.items() if self._first.get(game_id) != begin]
        wrong += checkpoint.damaged.keys() ^ state.damaged.keys()
        finished = state.seqs.keys() - checkpoint.seqs.keys()
        if wrong or checkpoint.position != state.position or checkpoint.finished != len(finished):
            about = f" ({', '.join(wrong[:5])})" if wrong else ""
            self._found.problems.append(f"{self._where}: its checkpoint is not of these events{about}")
        for game_id in sorted(finished - self._beside.markers.keys() - self._beside.unreadable_markers):
            self._found.problems.append(
                f"{self._where}, game {game_id}: it is not in the checkpoint, and its marker is missing"
            )

    def end(self) -> None:
        """After the last record."""
        self._found.problems += self._bad.values()
        end = self.state.next_offset
        if not self._checkpointed:
            self._found.problems.append(f"{self._where} ends at offset {end}, before its checkpoint")
        for game_ids in self._made_at.values():
            for game_id in game_ids:
                made = self._beside.snapshots[game_id].position.next_offset
                self._found.problems.append(
                    f"{self._where} ends at offset {end}, game {game_id}: its snapshot was made at offset {made}"
                )
        for game_id, marker in self._beside.markers.items():
            seq = self.state.seqs.get(game_id, 0)
            if marker.seq != seq:
                which = "later versions" if marker.seq > seq else "earlier versions than there are"
                self._found.problems.append(f"{self._where}, game {game_id}: its marker tells of {which}")
            elif marker.offset != self._last.get(game_id):
                self._found.problems.append(f"{self._where}, game {game_id}: its marker tells of another record")

"""Counting what a game's topics hold: what `guildhall log stats` prints."""

from collections import Counter
from datetime import UTC, datetime

from guildhall.kernel.fold import Unfoldable, follow
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import EndReason
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.port import CLAIM_KEY
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store


class _Tally:
    """What was counted of one game's topics."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.records: Counter[str] = Counter()
        self.bytes = 0
        self.instances: set[str] = set()
        self.games: dict[str, Game | None] = {}
        self.quarantined: dict[str, str] = {}

    def told(self, verdict: Verdict) -> None:
        """One record."""
        match verdict:
            case Effective(offset=offset, aggregate_id=game_id, entry=entry):
                self.records["effective"] += 1
                self.bytes += len(entry.body)
                try:
                    game, _ = follow(self.rules, self.games.get(game_id), entry.seq, entry.body, entry.hash)
                except Unfoldable as error:
                    self.games.setdefault(game_id, None)
                    self.quarantined.setdefault(game_id, f"offset {offset}: {error}")
                    return
                self.games[game_id] = game
                if game.lost:
                    self.quarantined.setdefault(game_id, f"offset {offset}: {game.lost}")
                else:
                    self.quarantined.pop(game_id, None)
            case Void(reason=reason):
                self.records[f"void, {reason.value}"] += 1
            case ClaimSeen(claim=claim):
                self.records["claims"] += 1
                self.instances.add(claim.instance)
            case Damaged(key=key) if key == CLAIM_KEY:
                self.records["damaged claims"] += 1
            case Damaged(offset=offset, key=key, reason=reason):
                self.records["damaged"] += 1
                self.games.setdefault(key, None)
                self.quarantined.setdefault(key, f"offset {offset}: {reason}")

    def standing(self) -> Counter[str]:
        """Games by how they stand."""
        found: Counter[str] = Counter()
        for game_id, game in self.games.items():
            if game_id in self.quarantined or game is None:
                found["quarantined"] += 1
            elif game.ended is not None:
                found[EndReason(game.ended.reason).name.lower()] += 1
            elif game.paused:
                found["paused"] += 1
            else:
                found["live"] += 1
        return found


async def stats(rules: Rules, store: Store) -> list[str]:
    """The lines about one game. Raises LogError."""
    tally = _Tally(rules)
    for partition in range(store.events.partitions):
        await fold_to_end(store.events, partition, FoldState(), tally.told)
    times = [game.at_ms for game in tally.games.values() if game is not None and game.at_ms]
    written = [
        f"{rules.game.replace('_', '-')}: {store.events.partitions} partitions, {tally.records.total()} records, "
        f"{tally.bytes} bytes of versions",
        f"  records      {listed(tally.records)}",
        f"  claimed by   {len(tally.instances)} instances",
        f"  games        {len(tally.games)}: {listed(tally.standing())}",
    ]
    if times:
        newest = datetime.fromtimestamp(max(times) / 1000, UTC).isoformat(timespec="seconds")
        written.append(f"  last version {newest}")
    written += [f"  QUARANTINED  {game_id}, {why}" for game_id, why in sorted(tally.quarantined.items())]
    return written


def listed(counts: Counter[str]) -> str:
    """How many of each, in words."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"

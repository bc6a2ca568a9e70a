"""Judges a history against the log that an independent witness read: acknowledged means durable, and answers are fresh.

Of each game, two times are derived for every version v:

- `born[v]`: not before this could v exist: the latest first sending of any command of versions 1 to v.
- `known[v]`: not after this did v exist: the earliest end of any call that told of v or of a later version.

If `born[v] > known[v]`, somebody was told of v before a command that v contains was sent: no order of the log explains
that. An answer asked for at time t must reflect every version with `known < t`.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.chaos.history import WRITES, Call, Kind, Result
from tests.chaos.violations import Rule, Violation
from tests.chaos.witness import CLOCK, Told, Version

NEVER = 1 << 62

NOTHING_DONE = {"GAME_BUSY", "LOG_BUSY", "RATE_LIMITED", "TOO_MANY_STREAMS", "VIEW_BEHIND", "SLOW_WATCHER"}
"""Refusals that say nothing of the game."""
NEVER_GIVEN = re.compile(
    "INTERNAL|RULES_FAILED|GAME_QUARANTINED|VERSION_OUT_OF_RANGE|MALFORMED_MESSAGE|INVALID_.*|.*TOKEN.*|.*SCOPE|NO_SEAT"
)
"""Answers that no fault of a network, process or broker excuses."""


def judge(history: Iterable[Call], told: Told) -> list[Violation]:
    """Everything that is wrong with the log, and with what the clients were told of it."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in history:
        calls[call.game_id].append(call)
    found = [*told.violations, *_doubled(told)]
    for game_id in sorted({*calls, *told.games}):
        found += _Game(game_id, told.games.get(game_id, []), calls[game_id]).judged()
    return found


def _doubled(told: Told) -> list[Violation]:
    """An accepted command is in the log once, whatever game it went into."""
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for game_id, versions in told.games.items():
        for number, version in enumerate(versions, 1):
            # The clock's ids name a decision, which is of one game.
            scope = game_id if version.subject == CLOCK else ""
            places[(version.subject, scope + version.command_id)].append(f"version {number} of {game_id}")
    return [
        Violation(Rule.DOUBLED, f"{command_id} of {subject}", ", ".join(where))
        for (subject, command_id), where in places.items()
        if len(where) > 1
    ]


class _Game:
    """One game's log and calls."""

    def __init__(self, game_id: str, versions: Sequence[Version], calls: Sequence[Call]) -> None:
        self.game_id = game_id
        self.versions = versions
        self.calls = calls
        self.found: list[Violation] = []
        self.accepted: dict[tuple[str, str], int] = {}
        for number, version in enumerate(versions, 1):
            self.accepted.setdefault((version.subject, version.command_id), number)
        self.sent: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in calls:
            if call.kind in WRITES:
                self.sent[(call.subject, call.command_id)].append(call)
        self.born = self._born()
        self.known = self._known()

    def judged(self) -> list[Violation]:
        for number, version in enumerate(self.versions, 1):
            self._judge_version(number, version)
        for call in self.calls:
            self._judge_call(call)
        return self.found

    def _find(self, rule: Rule, version: int, what: str) -> None:
        self.found.append(Violation(rule, f"game {self.game_id}, version {version}", what))

    def _at(self, version: int) -> Version:
        return self.versions[version - 1]

    # --- times

    def _born(self) -> list[int]:
        """By version, from 1 (index 0: version 0, which always was)."""
        born = [0]
        for version in self.versions:
            sent = self.sent.get((version.subject, version.command_id), [])
            born.append(max(born[-1], min((call.start for call in sent), default=0)))
        return born

    def _known(self) -> list[int]:
        known = [NEVER] * (len(self.versions) + 1)
        for call in self.calls:
            if call.told <= len(self.versions):
                known[call.told] = min(known[call.told], call.end)
        for number in range(len(known) - 2, -1, -1):
            known[number] = min(known[number], known[number + 1])
        known[0] = 0
        return known

    def _least(self, start: int) -> int:
        """The version that an answer asked for at `start` must reflect."""
        return bisect_left(self.known, start) - 1

    def _most(self, end: int) -> int:
        """The version that an answer which came at `end` can at most reflect."""
        return bisect_right(self.born, end) - 1

    # --- versions

    def _judge_version(self, number: int, version: Version) -> None:
        if self.born[number] > self.known[number]:
            late = (self.born[number] - self.known[number]) / 1e6
            self._find(Rule.ORDER, number, f"was told of {late:.3f} ms before its last command was sent")
        if version.subject == CLOCK:
            return
        name = f"{version.command_id} of {version.subject}"
        sent = self.sent.get((version.subject, version.command_id))
        if not sent:
            self._find(Rule.UNASKED, number, name)
        elif not any(call.payload == version.payload for call in sent):
            self._find(Rule.ALTERED, number, name)
        elif all(call.result is Result.REFUSED for call in sent if call.payload == version.payload):
            self._find(Rule.REFUSED_YET_EFFECTIVE, number, f"{name}: {sent[0].reason}")

    # --- calls

    def _judge_call(self, call: Call) -> None:
        if call.told > len(self.versions):
            self._find(Rule.LOST, call.told, f"{_name(call)}, but the log ends at version {len(self.versions)}")
        elif call.result is Result.ACCEPTED:
            self._judge_accepted(call)
        elif call.result is Result.READ:
            self._judge_read(call)
        elif call.result is Result.REFUSED:
            self._judge_refused(call)

    def _judge_accepted(self, call: Call) -> None:
        number = self.accepted.get((call.subject, call.command_id))
        if number is None:
            self._find(Rule.LOST, call.version, _name(call))
        elif number != call.version:
            self._find(Rule.WRONG_VERSION, number, _name(call))
        elif self._at(number).payload != call.payload:
            self._find(Rule.ALTERED, number, f"{_name(call)}, which was sent with another command")

    def _judge_read(self, call: Call) -> None:
        if call.kind is not Kind.WATCH and call.version < self._least(call.start):
            self._find(Rule.STALE, call.version, f"{_name(call)}, after version {self._least(call.start)} was known")
        if call.kind is Kind.WATCH and call.version != call.after + 1:
            self._find(Rule.GAP, call.version, f"{_name(call)} came after version {call.after}")
        for number, digest in enumerate(call.hashes, call.first):
            if number > len(self.versions) or self._at(number).hash != digest:
                self._find(Rule.DIFFERENT, number, f"{_name(call)}: another hash")
        if call.version == 0:
            self._find(Rule.DIFFERENT, 0, f"{_name(call)}: a game without a version")
            return
        is_open = self._at(call.version).open
        if call.kind is Kind.VIEW and not is_open.issuperset(call.decisions):
            self._find(Rule.DIFFERENT, call.version, f"{_name(call)} waits for {call.decisions}")
        if call.kind is Kind.LEGAL:
            own = {decision for decision in is_open if self._holds(call.subject, decision)}
            if own != set(call.decisions):
                self._find(Rule.DIFFERENT, call.version, f"{_name(call)} lists {call.decisions}, not {sorted(own)}")

    def _judge_refused(self, call: Call) -> None:
        if NEVER_GIVEN.fullmatch(call.reason):
            self._find(Rule.UNEXPECTED, call.version, _name(call))
        elif call.reason == "COMMAND_ID_REUSED":
            number = self.accepted.get((call.subject, call.command_id), NEVER)
            if number > self._most(call.end) or self._at(number).payload == call.payload:
                self._find(Rule.UNFOUNDED, call.version, _name(call))
        elif call.reason not in NOTHING_DONE:
            least, most = self._least(call.start), self._most(call.end)
            if call.version and call.version < least:
                self._find(Rule.STALE, call.version, f"{_name(call)}, after version {least} was known")
                return
            candidates = [call.version] if call.version else range(least, most + 1)
            if not any(self._founded(call, number) for number in candidates):
                self._find(Rule.UNFOUNDED, call.version, f"{_name(call)}, between versions {least} and {most}")

    def _founded(self, call: Call, number: int) -> bool:
        """Whether the game as it was at that version (0: before it was created) explains the refusal."""
        if number == 0 or call.subject not in self._at(1).subjects:
            return call.reason == "GAME_NOT_FOUND"
        if self.accepted.get((call.subject, call.command_id), NEVER) <= number:
            return False
        state = self._at(number)
        match call.reason:
            case "GAME_NOT_FOUND":
                return False
            case "NOT_YOUR_SEAT":
                return not self._holds(call.subject, call.decision_id)
            case "GAME_OVER":
                return any(version.ended for version in self.versions[:number])
            case "STALE_DECISION":
                return call.decision_id not in state.open
            case "ALREADY_RESIGNED":
                return call.kind is Kind.RESIGN
            case _:  # a rule of the game: the decision was open, and this was no answer to it
                return call.kind is Kind.COMMAND and call.decision_id in state.open

    def _holds(self, subject: str, decision_id: str) -> bool:
        subjects = self._at(1).subjects
        seat = int(decision_id.partition(".")[2])
        return seat < len(subjects) and subjects[seat] == subject


def _name(call: Call) -> str:
    what = f"{call.command_id} " if call.command_id else ""
    told = call.reason or f"version {call.version}"
    return f"{call.kind} {what}of {call.subject} through {call.process} was told {told}"


def counts(history: Iterable[Call]) -> Counter[str]:
    """How many calls of each kind had each result; refusals and unknown outcomes by their reason."""
    found: Counter[str] = Counter()
    for call in history:
        kind = "write" if call.kind in WRITES else "read"
        found[f"{kind} {call.result}{f' {call.reason}' if call.reason else ''}"] += 1
    return found

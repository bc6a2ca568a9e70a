"""What the checker can find."""

from enum import StrEnum

import msgspec


class Rule(StrEnum):
    """Each is one way to break a promise of the log (design section 3)."""

    LOST = "something told is not in the log"
    WRONG_VERSION = "a command was told another version than the log has"
    DOUBLED = "a command is effective twice"
    ALTERED = "the log has another command than was sent"
    UNASKED = "a command is effective that nobody sent"
    REFUSED_YET_EFFECTIVE = "a command is effective although every answer to it was a refusal"
    ORDER = "the log's order contradicts what was known when"
    STALE = "an answer misses what was acknowledged before it was asked for"
    DIFFERENT = "a read tells something else than the log"
    UNFOUNDED = "a refusal does not fit the state that it was judged on"
    UNEXPECTED = "an answer that may never be given"
    GAP = "versions or offsets are missing"
    CHAIN = "the hash chain is broken"
    REDECIDED = "one claim wrote two decisions for one version"
    MISPLACED = "a record lies in another place than its game's"
    UNREADABLE = "a record that is none of ours"
    STUCK = "a game does not go on after the faults have ended"


class Violation(msgspec.Struct, frozen=True):
    """One finding; `where` names game, version, partition or offset."""

    rule: Rule
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule.name} ({self.rule}): {self.where}: {self.what}"

"""Refusals: why a command changes nothing."""

from dataclasses import dataclass, field


@dataclass(unsafe_hash=True)
class Refusal(Exception):
    """A command or a request that is not accepted; nothing has changed.

    `reason` is stable and for programs (UPPER_SNAKE_CASE), `rule` is the id of
    the rule or ruling that forbids it ("AA-41", "" where no rule of a game
    does), `message` a sentence that a player understands. Not to be changed; not
    frozen either, because Python itself sets attributes of an exception on its way.
    """

    reason: str
    message: str
    rule: str = ""
    details: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" + (f" ({self.rule})" if self.rule else "")

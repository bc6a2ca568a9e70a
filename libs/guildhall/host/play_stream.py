"""A Play stream: one game's commands."""

from guildhall.host.messages import required
from guildhall.rpc.conversation import Conversation
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller


class PlayStream(Conversation):
    """One caller's stream of one game."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(caller)
        self.game_id = ""
        """The stream's game; "" until it is named."""

    def game_of(self, named: str) -> str:
        """The stream's game: named in the first message, the same or not named afterwards.

        Raises Failure MALFORMED_MESSAGE, GAME_ID_CHANGED.
        """
        if not self.game_id:
            if not named:
                raise required("game_id", "The first message of a stream names its game.")
            self.game_id = named
        elif named not in ("", self.game_id):
            raise Failure("GAME_ID_CHANGED", "A stream is one game's.", field="game_id")
        return self.game_id

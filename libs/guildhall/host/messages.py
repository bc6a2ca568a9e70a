"""A game's messages, made from its descriptors and generated Structs: nothing here knows any game."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from google.protobuf.descriptor import ServiceDescriptor
from google.rpc import status_pb2

from guildhall.kernel.families import sent
from guildhall.kernel.game import Game, as_decision
from guildhall.kernel.redact import redact
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1 import structs as kernel_v1
from guildhall.kernel.v1.structs import Record
from guildhall.kernel.wire import WireError
from guildhall.rpc.errors import Failure

T = TypeVar("T")


class Messages:
    """The wire side of one game: `guildhall.<game>.v1`."""

    def __init__(self, rules: Rules) -> None:
        package = f"guildhall.{rules.game}.v1"
        rules_pb2 = importlib.import_module(f"{package}.rules_service_pb2")
        view_pb2 = importlib.import_module(f"{package}.view_service_pb2")
        self.rules = rules
        self.wire = rules.wire
        self.rules_service: ServiceDescriptor = rules_pb2.DESCRIPTOR.services_by_name["RulesService"]
        self.view_service: ServiceDescriptor = view_pb2.DESCRIPTOR.services_by_name["ViewService"]
        self._play_response: Any = rules_pb2.PlayResponse

    def play_accepted(self, command_id: str, version: int) -> bytes:
        """A PlayResponse that tells the version."""
        answer: bytes = self._play_response(command_id=command_id, version=version).SerializeToString()
        return answer

    def play_refused(self, command_id: str, error: status_pb2.Status) -> bytes:
        """A PlayResponse that tells the error."""
        answer: bytes = self._play_response(command_id=command_id, error=error).SerializeToString()
        return answer

    def legal(self, game: Game, seat: int | None) -> tuple[Any, ...]:
        """The seat's open decisions with everything that answers them, as LegalDecision; none for a spectator, and
        none while the game is paused.
        """
        if seat is None or game.paused:
            return ()
        return tuple(self._legal(game, seat, decision) for decision in game.open if decision.seat == seat)

    def _legal(self, game: Game, seat: int, decision: kernel_v1.OpenDecision) -> Any:
        listing = game.legal(seat)
        told = tuple(sent(family, self.wire.COMMAND_NAMES) for family in listing.families)
        return self.wire.LegalDecision(as_decision(decision), tuple(listing.commands), told)

    def waiting_for(self, game: Game) -> tuple[kernel_v1.Decision, ...]:
        """Whom the game waits for."""
        return tuple(as_decision(decision) for decision in game.waiting())

    def batch(self, record: Record, digest: bytes, events: Iterable[Any], viewer: int | None) -> Any:
        """One version's EventBatch as that viewer may see it."""
        seen = (redact(self.rules, event, viewer) for event in events)
        return self.wire.EventBatch(
            record.seq, record.at_ms, record.seat, digest, tuple(event for event in seen if event is not None)
        )

    def events(self, record: Record) -> list[Any]:
        """The record's events, decoded."""
        return [self.wire.decode_event(event) for event in record.events]


def parse(decode: Callable[[bytes], T], request: bytes) -> T:
    """The request's Struct. Raises Failure MALFORMED_MESSAGE with the field at fault."""
    try:
        return decode(request)
    except WireError as error:
        raise Failure("MALFORMED_MESSAGE", error.message, field=error.path) from None


def required(field: str, message: str) -> Failure:
    """A field that must be there is missing."""
    return Failure("MALFORMED_MESSAGE", message, field=field)

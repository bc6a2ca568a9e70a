"""Errors on the wire: one table from stable reasons to gRPC codes, and their `google.rpc.Status` (design section 4)."""

from collections.abc import Mapping
from typing import NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "guildhall"
DETAILS_KEY = "grpc-status-details-bin"
"""Trailing metadata that carries the Status, as every gRPC library expects it."""

_CODE = grpc.StatusCode

REASONS: Mapping[str, grpc.StatusCode] = {
    # the message itself
    "MALFORMED_MESSAGE": _CODE.INVALID_ARGUMENT,
    "MESSAGE_TOO_LARGE": _CODE.INVALID_ARGUMENT,
    "INVALID_COMMAND_ID": _CODE.INVALID_ARGUMENT,
    "INVALID_DECISION_ID": _CODE.INVALID_ARGUMENT,
    "INVALID_PAGE_TOKEN": _CODE.INVALID_ARGUMENT,
    "INVALID_PAGE_SIZE": _CODE.INVALID_ARGUMENT,
    "GAME_ID_CHANGED": _CODE.INVALID_ARGUMENT,
    # creating a game
    "WRONG_PLAYER_COUNT": _CODE.INVALID_ARGUMENT,
    "DUPLICATE_SUBJECT": _CODE.INVALID_ARGUMENT,
    "INVALID_SUBJECT": _CODE.INVALID_ARGUMENT,
    "INVALID_SEED": _CODE.INVALID_ARGUMENT,
    "INVALID_CLOCK": _CODE.INVALID_ARGUMENT,
    "INVALID_WHY": _CODE.INVALID_ARGUMENT,
    "INVALID_GAME": _CODE.INVALID_ARGUMENT,
    "UNKNOWN_OPTION": _CODE.INVALID_ARGUMENT,
    "INVALID_OPTION": _CODE.INVALID_ARGUMENT,
    "UNKNOWN_RULING": _CODE.INVALID_ARGUMENT,
    "INVALID_RULING": _CODE.INVALID_ARGUMENT,
    # who may
    "NO_TOKEN": _CODE.UNAUTHENTICATED,
    "INVALID_TOKEN": _CODE.UNAUTHENTICATED,
    "TOKEN_EXPIRED": _CODE.UNAUTHENTICATED,
    "KEYS_UNAVAILABLE": _CODE.UNAVAILABLE,
    "MISSING_SCOPE": _CODE.PERMISSION_DENIED,
    "NOT_YOUR_SEAT": _CODE.PERMISSION_DENIED,
    "NO_SEAT": _CODE.PERMISSION_DENIED,
    # what there is
    "GAME_NOT_FOUND": _CODE.NOT_FOUND,
    "PACK_NOT_FOUND": _CODE.NOT_FOUND,
    "VERSION_OUT_OF_RANGE": _CODE.OUT_OF_RANGE,
    "VERSION_NOT_REACHED": _CODE.DEADLINE_EXCEEDED,
    # commands
    "COMMAND_ID_REUSED": _CODE.ALREADY_EXISTS,
    "STALE_DECISION": _CODE.FAILED_PRECONDITION,
    "GAME_PAUSED": _CODE.FAILED_PRECONDITION,
    "GAME_NOT_PAUSED": _CODE.FAILED_PRECONDITION,
    "GAME_NOT_QUARANTINED": _CODE.FAILED_PRECONDITION,
    "POOL_NOT_QUARANTINED": _CODE.FAILED_PRECONDITION,
    "GAME_BEYOND_REPAIR": _CODE.FAILED_PRECONDITION,
    "GAME_OVER": _CODE.FAILED_PRECONDITION,
    "GAME_NOT_FINISHED": _CODE.FAILED_PRECONDITION,
    "ALREADY_RESIGNED": _CODE.FAILED_PRECONDITION,
    "ILLEGAL_COMMAND": _CODE.FAILED_PRECONDITION,
    "UNDO_CLOSED": _CODE.FAILED_PRECONDITION,
    # matchmaking
    "COMMAND_ID_EXPIRED": _CODE.FAILED_PRECONDITION,
    "INVALID_SEATS": _CODE.INVALID_ARGUMENT,
    "INVALID_WAIT": _CODE.INVALID_ARGUMENT,
    "UNKNOWN_BOT": _CODE.INVALID_ARGUMENT,
    "TICKET_NOT_FOUND": _CODE.NOT_FOUND,
    "TABLE_NOT_FOUND": _CODE.NOT_FOUND,
    "CODE_NOT_FOUND": _CODE.NOT_FOUND,
    "NOT_PARTY_LEADER": _CODE.PERMISSION_DENIED,
    "NOT_TABLE_OWNER": _CODE.PERMISSION_DENIED,
    "BARRED_FROM_TABLE": _CODE.PERMISSION_DENIED,
    "BOTS_DO_NOT_QUEUE": _CODE.PERMISSION_DENIED,
    "ALREADY_WAITING": _CODE.FAILED_PRECONDITION,
    "ALREADY_AT_TABLE": _CODE.FAILED_PRECONDITION,
    "TOO_MANY_GAMES": _CODE.FAILED_PRECONDITION,
    "OFFERS_MISSED": _CODE.FAILED_PRECONDITION,
    "IN_PARTY": _CODE.FAILED_PRECONDITION,
    "NOT_IN_PARTY": _CODE.FAILED_PRECONDITION,
    "PARTY_FULL": _CODE.FAILED_PRECONDITION,
    "PARTY_TOO_LARGE": _CODE.FAILED_PRECONDITION,
    "NOT_AT_TABLE": _CODE.FAILED_PRECONDITION,
    "TABLE_FULL": _CODE.FAILED_PRECONDITION,
    "TABLE_NOT_FULL": _CODE.FAILED_PRECONDITION,
    "TABLE_STARTING": _CODE.FAILED_PRECONDITION,
    "SEAT_TAKEN": _CODE.FAILED_PRECONDITION,
    "OFFER_OVER": _CODE.FAILED_PRECONDITION,
    "GAME_STARTING": _CODE.FAILED_PRECONDITION,
    # bounds
    "RATE_LIMITED": _CODE.RESOURCE_EXHAUSTED,
    "TOO_MANY_STREAMS": _CODE.RESOURCE_EXHAUSTED,
    "GAME_BUSY": _CODE.RESOURCE_EXHAUSTED,
    "LOG_BUSY": _CODE.RESOURCE_EXHAUSTED,
    "HALL_BUSY": _CODE.RESOURCE_EXHAUSTED,
    # the hall
    "OUTCOME_UNKNOWN": _CODE.UNAVAILABLE,
    "LOG_UNAVAILABLE": _CODE.UNAVAILABLE,
    "NOT_OWNER": _CODE.UNAVAILABLE,
    "OWNER_UNREACHABLE": _CODE.UNAVAILABLE,
    "SLOW_WATCHER": _CODE.UNAVAILABLE,
    "VIEW_BEHIND": _CODE.UNAVAILABLE,
    "READ_MODELS_UNAVAILABLE": _CODE.UNAVAILABLE,
    "SHUTTING_DOWN": _CODE.UNAVAILABLE,
    "GAME_QUARANTINED": _CODE.DATA_LOSS,
    "RULES_FAILED": _CODE.INTERNAL,
    "INTERNAL": _CODE.INTERNAL,
}
"""Every reason that does not belong to a game's own rules. `docs/clients.md` explains each."""

GAME_REASON = _CODE.FAILED_PRECONDITION
"""The code of every reason that a game's rules give: the command is not legal, and the rule's id says why."""


class Failure(Exception):
    """A request that is not answered: its stable reason, a sentence, and what goes with them.

    `metadata` holds rule, decision, version and the like; `field` the path of the request's field at fault.
    """

    def __init__(
        self, reason: str, message: str, metadata: Mapping[str, str] | None = None, field: str | None = None
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.field = field

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC code of the reason."""
        return REASONS.get(self.reason, GAME_REASON)

    def told(self, **metadata: str) -> "Failure":
        """The same for one of several who are told it; `metadata` is put beside what it has."""
        return Failure(self.reason, self.message, {**metadata, **self.metadata}, self.field)


def kept(failure: Failure) -> Failure:
    """The same, to be held on to: without the frames that it was raised through. One of them may be the holder's, with
    the whole request: a cycle, which stays until garbage is looked for.
    """
    failure.__traceback__ = failure.__context__ = None
    return failure


def internal() -> Failure:
    """Our own code has failed, which is in the log."""
    return Failure("INTERNAL", "Something went wrong in the hall; it has been reported.")


def status(failure: Failure) -> status_pb2.Status:
    """The failure as `google.rpc.Status`: ErrorInfo, and BadRequest where a field is at fault."""
    details = [error_details_pb2.ErrorInfo(reason=failure.reason, domain=DOMAIN, metadata=failure.metadata)]
    packed = [_packed(detail) for detail in details]
    if failure.field is not None:
        violation = error_details_pb2.BadRequest.FieldViolation(field=failure.field, description=failure.message)
        packed.append(_packed(error_details_pb2.BadRequest(field_violations=[violation])))
    number: int = failure.code.value[0]
    return status_pb2.Status(code=number, message=failure.message, details=packed)


def _packed(message: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


async def abort(context: grpc.aio.ServicerContext[bytes, bytes], failure: Failure) -> NoReturn:
    """End the call with the failure."""
    trailers = ((DETAILS_KEY, status(failure).SerializeToString()),)
    await context.abort(failure.code, failure.message, trailers)
    raise AssertionError("abort returned")


def error_info(error: grpc.RpcError) -> error_details_pb2.ErrorInfo | None:
    """For clients: the ErrorInfo of a failed call; None where it did not come from the hall."""
    trailing = error.trailing_metadata() if isinstance(error, grpc.aio.AioRpcError) else None
    for key, value in trailing or ():
        if key == DETAILS_KEY:
            return status_info(status_pb2.Status.FromString(value if isinstance(value, bytes) else value.encode()))
    return None


def status_info(answer: status_pb2.Status) -> error_details_pb2.ErrorInfo | None:
    """The ErrorInfo of a Status; None where there is none."""
    for detail in answer.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return info
    return None

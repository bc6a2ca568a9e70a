"""The one redactor: what an event tells one viewer, as its schema declares it."""

from typing import Any

from msgspec.structs import replace

from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Audience
from guildhall.kernel.wire import EventAudience


def redact(rules: Rules, event: Any, viewer: int | None) -> Any | None:
    """The event as that viewer (a seat, or None for a spectator) may see it.

    Fields for others are cleared; None where the viewer may not know that it happened.
    """
    audience: EventAudience | None = rules.wire.AUDIENCE.get(type(event))
    if audience is None:
        return event
    if not _among(audience.event, event, viewer):
        return None
    cleared = {name: empty for name, allowed, empty in audience.fields if not _among(allowed, event, viewer)}
    return replace(event, **cleared) if cleared else event


def audience_mask(rules: Rules, event: Any, field: str, seats: int) -> list[int | None]:
    """The viewers that may see a field of an event, among all seats and the spectators."""
    audience: EventAudience | None = rules.wire.AUDIENCE.get(type(event))
    viewers: list[int | None] = [*range(seats), None]
    if audience is None:
        return viewers
    allowed = next((a for name, a, _ in audience.fields if name == field), Audience.EVERYONE)
    return [v for v in viewers if _among(audience.event, event, v) and _among(allowed, event, v)]


def _among(audience: int, event: Any, viewer: int | None) -> bool:
    if audience == Audience.SEAT:
        return viewer is not None and viewer == event.seat
    if audience == Audience.WITNESSES:
        return viewer is not None and bool(event.witnesses >> viewer & 1)
    return audience != Audience.NOBODY

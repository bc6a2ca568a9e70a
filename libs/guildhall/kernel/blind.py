"""Blind halls: a hall as one viewer may know it, derived from the hall's field types.

A game declares what is secret once, in the types of its hall: fields of type
`Cards` and `Hand` are masked, `Open` and everything else is public. Design section 2.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

from guildhall.kernel.cards import MAX_SEATS, blind_cards, blind_hand, blind_places, knows

Masker = Callable[[Any, int], Any]
"""Masks one value for the viewer with this `knows` bit."""

_MASKERS: dict[str, Masker | None] = {"cards": blind_cards, "hand": blind_hand, "open": None}


def _masker(hint: Any) -> Masker | None:
    if get_origin(hint) is Annotated:
        inside, place = get_args(hint)[:2]
        return _MASKERS[place] if place in _MASKERS else _masker(inside)
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        inner = _masker(item)
        if inner is None:
            return None
        if inner is blind_cards:
            return blind_places
        return lambda values, bit: [inner(value, bit) for value in values]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return struct_masker(hint)
    part = _optional(hint)
    if part is not None:
        inside_part = _masker(part)
        return inside_part and (lambda value, bit: None if value is None else inside_part(value, bit))
    if any(_masker(inner) is not None for inner in get_args(hint)):
        raise TypeError(f"{hint}: a secret place stands in a field, a list or a Struct, so that it can be blinded")
    return None


def _optional(hint: Any) -> Any | None:
    """The type X of a hint `X | None`: a part that some games of a kind have, such as an extension's; else None."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    return parts[0] if get_origin(hint) is UnionType and len(parts) == 1 else None


def struct_masker(struct: type[msgspec.Struct]) -> Masker | None:
    """How to blind a Struct of this type, or None where nothing in it is secret.

    The blind copy shares every public part with the truth and must not be changed.
    """
    hints = get_type_hints(struct, include_extras=True)
    plan = tuple((name, mask) for name, hint in hints.items() if (mask := _masker(hint)))
    if not plan:
        return None

    def mask_all(value: Any, bit: int) -> Any:
        blind = value.__copy__()
        for name, mask in plan:
            setattr(blind, name, mask(getattr(value, name), bit))
        return blind

    return mask_all


def blinder(hall: type[msgspec.Struct]) -> Callable[[Any, int | None], Any]:
    """The function `blind(hall, viewer)` of a hall type; the viewer is a seat, or None."""
    mask = struct_masker(hall)
    if mask is None:
        return lambda value, viewer: value
    return lambda value, viewer: mask(value, knows(viewer))


def glancer(hall: type[msgspec.Struct]) -> Callable[[Any, int | None], Any]:
    """The function whose `glance(hall, viewer)` answers like `blind(hall, viewer)`, field by field.

    Secret places are blinded when they are first looked at, what is public is the hall's own: most decisions look at
    few places (docs/decisions/0008).
    """
    hints = get_type_hints(hall, include_extras=True)
    secret = {name: mask for name, hint in hints.items() if (mask := _masker(hint)) is not None}
    make = msgspec.defstruct(
        "Glance",
        # Fields in the hall's order, since they are filled at once. Properties have the names of the secret ones.
        [*(_unseen(name) if name in secret else name for name in hall.__struct_fields__), "_bit", "_seen"],
        namespace={name: _blinded(name, mask) for name, mask in secret.items()},
    )
    bits = {viewer: knows(viewer) for viewer in (*range(MAX_SEATS), None)}

    def glance(value: Any, viewer: int | None) -> Any:
        return make(*astuple(value), bits[viewer], {})

    return glance


def _unseen(name: str) -> str:
    """The field in which a glance has the truth of a secret place."""
    return f"_unseen_{name}"


def _blinded(name: str, mask: Masker) -> property:
    """A secret place of a glance."""
    truth = attrgetter(_unseen(name))

    def look(glance: Any) -> Any:
        seen = glance._seen
        if name not in seen:
            seen[name] = mask(truth(glance), glance._bit)
        return seen[name]

    return property(look)


def places(value: Any, hint: Any) -> Iterator[tuple[str, list[int]]]:
    """Every place of a hall with its sort: `cards`, `hand` or `open`. `hint` is the hall's type."""
    find = _finder(hint)
    return iter(()) if find is None else find(value)


@cache
def _finder(hint: Any) -> Callable[[Any], Iterator[tuple[str, list[int]]]] | None:
    """How to find the places in a value of this type; None where there can be none."""
    if get_origin(hint) is Annotated:
        sort = get_args(hint)[1]
        return lambda value: iter(((sort, value),))
    if get_origin(hint) is list:
        inner = _finder(get_args(hint)[0])
        return None if inner is None else lambda values: chain.from_iterable(map(inner, values))
    part = _optional(hint)
    if part is not None:
        inside = _finder(part)
        return inside and (lambda value: iter(()) if value is None else inside(value))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        fields = [(name, find) for name, inner in hints.items() if (find := _finder(inner))]
        return lambda value: chain.from_iterable(find(getattr(value, name)) for name, find in fields)
    return None

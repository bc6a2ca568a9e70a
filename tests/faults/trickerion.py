"""Deliberate faults of Trickerion: each is one change of one file."""

from tests.faults.fault import Fault

GAME = "services/trickerion"
EVENTS = "proto/guildhall/trickerion/v1"


def fault(name: str, file: str, old: str, new: str) -> Fault:
    return Fault(name, file, old, new, "trickerion")


FAULTS = (
    fault(
        "no floor of yields",
        f"{GAME}/yields.py",
        "fame = max(0, fame + (change.fame if own.fame or not skipped else 0)) * change.fame_times",
        "fame = (fame + (change.fame if own.fame or not skipped else 0)) * change.fame_times",
    ),
    fault(
        "no cap of scoring",
        f"{GAME}/scoring.py",
        "min(count(hall, seat) // line.per * line.fame, content.scoring_cap)",
        "count(hall, seat) // line.per * line.fame",
    ),
    fault("no wages", f"{GAME}/end_turn.py", "        if post > HOME and member", "        if post > 999 and member"),
    fault(
        "a slot that is taken",
        f"{GAME}/town.py",
        "    taken = set().union(*hall.posts)\n    return [slot",
        "    taken: set[int] = set()\n    return [slot",
    ),
    fault(
        "a taken weekday",
        f"{GAME}/town.py",
        "if taken.isdisjoint(day_slots(day, True))",
        "if day or taken",
    ),
    fault(
        "a link without corners",
        f"{GAME}/links.py",
        "first != FREE and second != FREE and abs(first - second) == 2",
        "first != FREE and second != FREE",
    ),
    fault(
        "markers that vanish",
        f"{GAME}/evolve.py",
        "            markers += sum(1 + is_pile(m) for m in own)\n",
        "",
    ),
    fault(
        "the deck's order told",
        f"{EVENTS}/event.proto",
        "    (guildhall.kernel.v1.front) = true,\n    (guildhall.kernel.v1.audience) = AUDIENCE_NOBODY\n",
        "    (guildhall.kernel.v1.front) = true\n",
    ),
    fault(
        "a drawn card told to all",
        f"{EVENTS}/dark_alley_event.proto",
        "  uint32 count = 3;\n  repeated Assignment cards = 4 [\n    (guildhall.kernel.v1.front) = true,\n"
        "    (guildhall.kernel.v1.audience) = AUDIENCE_SEAT\n",
        "  uint32 count = 3;\n  repeated Assignment cards = 4 [\n    (guildhall.kernel.v1.front) = true\n",
    ),
    fault(
        "an assignment told to others",
        f"{EVENTS}/dark_alley_event.proto",
        "  // The card of each of `members`.\n  repeated Assignment cards = 3 [\n"
        "    (guildhall.kernel.v1.front) = true,\n    (guildhall.kernel.v1.audience) = AUDIENCE_SEAT\n",
        "  // The card of each of `members`.\n  repeated Assignment cards = 3 [\n"
        "    (guildhall.kernel.v1.front) = true\n",
    ),
    fault(
        "a special card known to all",
        f"{GAME}/dark_alley/evolve.py",
        "told(cards.decks[e.deck].pop(), front, knows(e.seat))",
        "told(cards.decks[e.deck].pop(), front, EVERYONE)",
    ),
    fault(
        "a listing that mutates",
        f"{GAME}/returns.py",
        '    """Every own pile, by number, and every own Trick."""\n',
        '    """Every own pile, by number, and every own Trick."""\n'
        "    hall.prepared[seat][0] = max(0, hall.prepared[seat][0] - (len(hall.residence) % 5 == 0))\n",
    ),
    fault(
        "a listed command refused",
        "libs/guildhall/kernel/game.py",
        "return command in self.commands or",
        "return command in self.commands[:25] or",
    ),
)

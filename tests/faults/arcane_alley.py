"""Deliberate faults of the kernel and of Arcane Alley: each is one change of one file."""

from tests.faults.fault import Fault

KERNEL = "libs/guildhall/kernel"
GAME = "services/arcane_alley"

FAULTS = (
    Fault(
        "a leaked field",
        "proto/guildhall/arcane_alley/v1/event.proto",
        """message ItemDrawn {
  uint32 seat = 1;
  Item item = 2 [
    (guildhall.kernel.v1.front) = true,
    (guildhall.kernel.v1.audience) = AUDIENCE_SEAT
  ];""",
        """message ItemDrawn {
  uint32 seat = 1;
  Item item = 2 [(guildhall.kernel.v1.front) = true];""",
    ),
    Fault(
        "a leaked count",
        f"{GAME}/sell.py",
        "        hall, seat = table.hall, self.seat\n        seats = len(hall.gold)\n",
        "        hall, seat = table.hall, self.seat\n        seats = len(hall.gold)\n"
        "        from guildhall.arcane_alley.v1.structs import InfamyCounted\n"
        "        table.emit(InfamyCounted(seat, sum(card & 255 for card in hall.storehouses[seat])))\n",
    ),
    Fault(
        "a telling decision",
        f"{GAME}/specials.py",
        "and with_stash(table.hall, seat):",
        "and any(stash and stash[0] & FRONT > 9 for stash in table.hall.stashes):",
    ),
    Fault(
        "a telling copy",
        f"{KERNEL}/cards.py",
        "for copy in range(sum(1 for card in copies if card & bit) - 1):",
        "for copy in range(min(len(rest), sum(1 for card in copies if card & bit))):",
    ),
    Fault(
        "an audience too wide",
        f"{GAME}/evolve.py",
        "storehouse[e.cell] = told(storehouse[e.cell], e.item, knows(e.seat))",
        "storehouse[e.cell] = told(storehouse[e.cell], e.item, EVERYONE)",
    ),
    Fault(
        "a redactor that is asleep",
        f"{KERNEL}/redact.py",
        "return viewer is not None and viewer == event.seat",
        "return viewer is not None",
    ),
    Fault(
        "a listed command refused",
        f"{KERNEL}/game.py",
        "return command in self.commands or",
        "return command in self.commands[:25] or",
    ),
    Fault(
        "an unlisted command accepted",
        f"{KERNEL}/game.py",
        "return command in self.commands or",
        'return type(command).__name__ == "Bribe" or command in self.commands or',
    ),
    Fault(
        "a lost event",
        f"{KERNEL}/table.py",
        "        self.events.append(event)\n",
        '        if kind.__name__ not in ("RingSank", "Marked"):\n            self.events.append(event)\n',
    ),
    Fault(
        "a biased shuffle",
        f"{KERNEL}/luck.py",
        "self._draw(tuple(i + 1 for i in last))",
        "self._draw(tuple(i for i in last))",
    ),
    Fault(
        "a stuck state",
        f"{KERNEL}/decide.py",
        "        self.open.append(OpenDecision(",
        '        if kind in ("slide", "may_block"):\n            return\n        self.open.append(OpenDecision(',
    ),
    Fault(
        "a wrong floor at 0",
        f"{GAME}/scoring.py",
        "    lost = min(amount, gold)\n",
        "    lost = min(amount, gold + 1)\n",
    ),
    Fault(
        "a card that vanishes",
        f"{GAME}/evolve.py",
        "    hall.set_aside += hall.turned_up\n",
        "    hall.set_aside += hall.turned_up[:1]\n",
    ),
    Fault("an undo too many", f"{KERNEL}/table.py", "self.learned = any(", "self.learned = False and any("),
    Fault(
        "a chain without links",
        f"{KERNEL}/ids.py",
        "_sha256(prev_hash + salt + body)",
        "_sha256(salt + body)",
    ),
    Fault(
        "a snapshot that forgets",
        f"{KERNEL}/game.py",
        "    game.undo = tuple(snapshot.undo)\n",
        "    game.undo = ()\n",
    ),
    Fault(
        "a retry that counts twice",
        f"{KERNEL}/game.py",
        "        if known is None:\n            return None\n",
        "        return None\n",
    ),
    Fault("a Sword that sleeps", f"{GAME}/scoring.py", "gained = amount >> halvings", "gained = amount"),
    Fault(
        "a sold effect off turn",
        f"{GAME}/sale.py",
        "effect = in_sell and seat == hall.active",
        "effect = in_sell",
    ),
)

"""A tiny game that uses each mechanism of the kernel once: hidden hands, a secret bid that can be
revised, dice, an interrupt, a called choice, a family, a peek, a shown card, undo.

Three rounds. Each round all bid coins secretly; the highest leads (a die decides ties) and takes
steps until it plays a card, which scores its front. Most points win.
"""

from typing import Any, ClassVar

from msgspec import Struct

from guildhall.kernel.cards import (
    EVERYONE,
    Cards,
    Hand,
    Open,
    front,
    join_hand,
    knows,
    leave_hand,
    new_card,
    told,
)
from guildhall.kernel.families import Family, Limit, Slot
from guildhall.kernel.frames import Back, Choice, Frame, Together
from guildhall.kernel.packs import BadPack, Packs
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Choosable, Rules
from guildhall.kernel.v1.structs import GameCreated
from tests.kernel.tiny.build import structs as t

COLOURS = 5
COPIES = 4


class Place(Struct, array_like=True):
    points: int
    coins: int
    hand: Hand
    places: list[int]


class Hall(Struct, array_like=True):
    pack: bytes
    steal: int
    round: int
    leader: int
    marks: int
    seats: list[Place]
    deck: Cards
    played: Open


def new_hall(created: GameCreated) -> Hall:
    rulings = {s.name: s.value for s in created.rulings}
    seats = [Place(0, 5, [], []) for _ in created.subjects]
    return Hall(created.pack_hash, int(rulings["steal"]), 0, 0, 0, seats, [], [])


def parse(data: bytes) -> dict[str, int]:
    try:
        name, value = data.decode().split("=")
        return {name: int(value)}
    except ValueError as error:
        raise BadPack(f"{data!r}: {error}") from error


PACKS: Packs[dict[str, int]] = Packs(parse)


# --- frames


class Setup(Frame, tag="setup"):
    def run(self, table: Any) -> None:
        cards = table.rng.shuffle([c + 1 for c in range(COLOURS) for _ in range(COPIES)])
        table.emit(t.Shuffled(tuple(cards), len(cards)))
        for seat in range(len(table.hall.seats)):
            for _ in range(3):
                table.emit(t.Dealt(seat, front(table.hall.deck[-1])))
        table.then(Round())


class Round(Frame, tag="round"):
    def run(self, table: Any) -> None:
        if table.hall.round == 3:
            table.end()
        else:
            table.then(BidAll(), Round())


class BidAll(Together, tag="bid"):
    REVISABLE: ClassVar[bool] = True

    def asked(self, hall: Any) -> list[int]:
        return list(range(len(hall.seats)))

    def options(self, hall: Any, seat: int) -> Any:
        return [t.Bid(coins) for coins in range(min(3, hall.seats[seat].coins) + 1)]

    def default(self, hall: Any, seat: int) -> Any:
        return t.Bid(0)

    def why(self, hall: Any, seat: int, command: Any) -> Refusal:
        return Refusal("TOO_FEW_COINS", "You do not have so many coins.", "T-1")

    def all_in(self, table: Any, answers: dict[int, Any]) -> None:
        best = max(answer.coins for answer in answers.values())
        leaders = [seat for seat, answer in sorted(answers.items()) if answer.coins == best]
        leader = leaders[0] if len(leaders) == 1 else leaders[table.rng.below(len(leaders))]
        for seat, answer in sorted(answers.items()):
            if answer.coins:
                table.emit(t.CoinsPaid(seat, answer.coins))
        table.emit(t.Led(leader, table.hall.round + 1))
        table.then(Turn(leader, True))


class Step(Choice):
    """A choice of the tiny game: whatever is not listed breaks its only rule."""

    def why(self, hall: Any, seat: int, command: Any) -> Refusal:
        return Refusal("NOT_POSSIBLE", "You cannot do that now.", "T-2")


class Turn(Step, tag="turn"):
    seat: int
    may_act: bool

    def asked(self, hall: Any) -> list[int]:
        return [self.seat] if hall.seats[self.seat].hand else []

    def options(self, hall: Any, seat: int) -> Any:
        hand = sorted({front(card) for card in hall.seats[seat].hand})
        yield from (t.PlayCard(card) for card in hand)
        if hall.marks < 3:
            yield t.Mark()
        if self.may_act:
            yield t.Peek()
            yield t.Roll()
            yield t.Steal()
            others = [s for s in range(len(hall.seats)) if s != seat]
            yield from (t.Show(card, other) for card in hand for other in others)
            slots = tuple(Slot(f"token {n}", (0, 1, 2, 3)) for n in range(6))
            yield Family(t.Arrange, "places", slots, 1, 4, (Limit(frozenset({1}), 1),))

    def default(self, hall: Any, seat: int) -> Any:
        return t.PlayCard(min(front(card) for card in hall.seats[seat].hand))

    def choose(self, table: Any, seat: int, command: Any) -> None:
        hall = table.hall
        match command:
            case t.PlayCard(card):
                table.emit(t.CardPlayed(seat, card, hall.seats[seat].points + card))
                return
            case t.Mark():
                table.emit(t.Marked(seat))
                table.then(Turn(seat, self.may_act))
            case t.Peek():
                table.emit(t.Peeked(seat, front(hall.deck[-1])))
                table.emit(t.Whispered(seat))
                table.then(Turn(seat, False))
            case t.Roll():
                face = table.rng.die(6)
                table.emit(t.Rolled(seat, face, hall.seats[seat].points + face))
                table.then(Turn(seat, False))
            case t.Steal():
                table.then(Stealing(seat), Turn(seat, False))
            case t.Show(card, other):
                table.emit(t.CardShown(seat, 1 << seat | 1 << other, card))
                table.then(Turn(seat, False))
            case t.Arrange(places):
                table.emit(t.Arranged(seat, places))
                table.then(Turn(seat, False))


class Stealing(Frame, tag="stealing"):
    seat: int

    def run(self, table: Any) -> None:
        table.call(ChooseTarget(self.seat), StealFrom(self.seat))


class ChooseTarget(Step, tag="target"):
    seat: int
    FORCED: ClassVar[bool] = True

    def asked(self, hall: Any) -> list[int]:
        return [self.seat]

    def options(self, hall: Any, seat: int) -> Any:
        return [t.Target(other) for other in range(len(hall.seats)) if other != seat]

    def default(self, hall: Any, seat: int) -> Any:
        return next(iter(self.options(hall, seat)))

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.give(command.seat)


class StealFrom(Back, tag="steal_from"):
    seat: int

    def got(self, table: Any, value: int) -> None:
        table.then(MayBlock(value, self.seat))


class MayBlock(Step, tag="may_block"):
    """An interrupt: the target is asked in the middle of the leader's turn."""

    seat: int
    by: int

    def asked(self, hall: Any) -> list[int]:
        return [self.seat]

    def options(self, hall: Any, seat: int) -> Any:
        yield t.Allow()
        yield from (t.Block(card) for card in sorted({front(c) for c in hall.seats[seat].hand}))

    def default(self, hall: Any, seat: int) -> Any:
        return t.Allow()

    def choose(self, table: Any, seat: int, command: Any) -> None:
        if isinstance(command, t.Block):
            table.emit(t.Blocked(seat, command.card))
            return
        points = min(table.hall.steal, table.hall.seats[seat].points)
        mine, theirs = table.hall.seats[self.by].points, table.hall.seats[seat].points
        table.emit(t.Stolen(self.by, seat, mine + points, theirs - points))


# --- evolve


def shuffled(hall: Any, e: Any) -> None:
    hall.deck = [new_card(card) for card in e.cards] or [0] * e.count


def dealt(hall: Any, e: Any) -> None:
    join_hand(hall.seats[e.seat].hand, told(hall.deck.pop(), e.card, knows(e.seat)))


def coins_paid(hall: Any, e: Any) -> None:
    hall.seats[e.seat].coins -= e.coins


def led(hall: Any, e: Any) -> None:
    hall.leader, hall.round, hall.marks = e.seat, e.round, 0


def peeked(hall: Any, e: Any) -> None:
    hall.deck[-1] = told(hall.deck[-1], e.card, knows(e.seat))


def rolled(hall: Any, e: Any) -> None:
    hall.seats[e.seat].points = e.points


def stolen(hall: Any, e: Any) -> None:
    hall.seats[e.seat].points = e.points
    hall.seats[e.from_seat].points = e.from_points


def blocked(hall: Any, e: Any) -> None:
    hall.played.append(told(leave_hand(hall.seats[e.seat].hand, e.card), e.card, EVERYONE))


def arranged(hall: Any, e: Any) -> None:
    hall.seats[e.seat].places = list(e.places)


def card_played(hall: Any, e: Any) -> None:
    hall.played.append(told(leave_hand(hall.seats[e.seat].hand, e.card), e.card, EVERYONE))
    hall.seats[e.seat].points = e.points


def card_shown(hall: Any, e: Any) -> None:
    if not e.card:
        return
    hand = hall.seats[e.seat].hand
    shown = max(card for card in hand if front(card) in (e.card, 0))
    hand.remove(shown)
    seats = (seat for seat in range(len(hall.seats)) if e.witnesses >> seat & 1)
    join_hand(hand, told(shown, e.card, sum(knows(seat) for seat in seats)))


def marked(hall: Any, e: Any) -> None:
    hall.marks += 1


def view(hall: Any, viewer: int | None) -> Any:
    return t.View(
        round=hall.round,
        points=tuple(place.points for place in hall.seats),
        hand=tuple(sorted(front(c) for c in hall.seats[viewer].hand)) if viewer is not None else (),
        hand_sizes=tuple(len(place.hand) for place in hall.seats),
        deck_size=len(hall.deck),
        played=tuple(front(card) for card in hall.played),
    )


def ranks(hall: Any) -> list[int]:
    points = [place.points for place in hall.seats]
    return [1 + sum(1 for other in points if other > mine) for mine in points]


RULES = Rules(
    game="tiny",
    version="1",
    seats=range(2, 5),
    options=(),
    rulings=(Choosable("steal", "2", ("2", "3"), "How many points are stolen."),),
    frames=(Setup, Round, BidAll, Turn, Stealing, ChooseTarget, StealFrom, MayBlock),
    hall=Hall,
    wire=t,
    packs=PACKS,
    pack_hash=PACKS.add(b"size=1"),
    new_hall=new_hall,
    first=Setup,
    evolve={
        t.Shuffled: shuffled,
        t.Dealt: dealt,
        t.CoinsPaid: coins_paid,
        t.Led: led,
        t.Peeked: peeked,
        t.Rolled: rolled,
        t.Stolen: stolen,
        t.Blocked: blocked,
        t.Arranged: arranged,
        t.CardPlayed: card_played,
        t.CardShown: card_shown,
        t.Marked: marked,
        t.Whispered: lambda hall, e: None,
    },
    view=view,
    ranks=ranks,
)

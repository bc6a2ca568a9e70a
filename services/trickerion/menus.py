"""What a seat may do as numbered choices: each command has a path of words, equal beginnings become a further menu."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from guildhall.kernel.families import Family
from guildhall.kernel.v1.structs import Undo
from guildhall.trickerion.v1 import structs as tr
from guildhall.trickerion.v1.structs import Assignment, Component, Location, Resource, Slot, View
from services.trickerion import links
from services.trickerion.appraisal import (
    bonus_in_use,
    card_in_use,
    cost_now,
    enhance_now,
    missing,
    on_quick_order_only,
    prepared_markers,
    price_now,
    prophecy_of,
    quick_price_now,
    tops,
    yield_now,
)
from services.trickerion.content import ANY_ACTION, Action, Content
from services.trickerion.dark_alley import labels
from services.trickerion.drawing import Name, Person, needs, people
from services.trickerion.hall import CARD_SLOTS
from services.trickerion.words import (
    ABILITIES,
    CATEGORIES,
    COMPONENTS,
    DICE,
    DIRECTIONS,
    MAGICIANS,
    SPECIALISTS,
    SYMBOLS,
    TRICKS,
    amounts,
    an,
    assignment_name,
    card_name,
    category_of,
    counted,
    face_name,
    listed,
    location_of,
    member_name,
    signed,
    slot_name,
)

Path = tuple[str, ...]
"""A command in words, from the general to the particular."""


class Entry(NamedTuple):
    """One numbered choice: a command, or a further menu."""

    key: int
    text: str
    then: Any


class Menu(NamedTuple):
    """A question with numbered answers."""

    question: str
    entries: tuple[Entry, ...]


QUESTIONS: Final = {
    "choose_magician": "Which magician are you?",
    "starting_trick": "Which Trick do you begin with?",
    "starting_components": "Which Components do you begin with?",
    "specialist": "Which Specialist joins you?",
    "manager_components": "Which Components lie on your Manager's slots?",
    "engineer_trick": "Which Trick lies on your Engineer's slot?",
    "advertise": "Do you advertise?",
    "place": "Which Character do you place?",
    "act": "What does the Character do?",
    "trick_slot": "Where does the Trick lie?",
    "symbol": "Which symbol stands for the Trick?",
    "reschedule": "Where does the marker go?",
    "link_bonus": "What does the link bring?",
    "perform": "What do you perform?",
    "house_apprentice": "Where does the hired Apprentice live?",
}

DECLINED: Final = {"perform": "perform nothing", "place": "place nobody else", "talent": "it stays an Apprentice"}
"""What Decline means, by kind of decision."""
LAST: Final = (tr.Decline, tr.EndPlacement)
"""Commands that end something: they have the number 0."""
AGAIN: Final = "no, assign anew"

ACTIONS: Final[dict[type[Any], Action]] = {
    tr.LearnTrick: Action.LEARN_TRICK,
    tr.Hire: Action.HIRE,
    tr.Headhunt: Action.HIRE,
    tr.TakeCoins: Action.TAKE_COINS,
    tr.RerollDie: Action.REROLL_DIE,
    tr.SetDie: Action.SET_DIE,
    tr.Buy: Action.BUY,
    tr.Order: Action.ORDER,
    tr.OrderIntoStock: Action.ORDER,
    tr.QuickOrder: Action.QUICK_ORDER,
    tr.MoveTrick: Action.MOVE_TRICKS,
    tr.MoveComponents: Action.MOVE_COMPONENTS,
    tr.MoveApprentice: Action.MOVE_APPRENTICES,
    tr.SetUpTrick: Action.SET_UP,
    tr.SetUpPile: Action.SET_UP,
    tr.InviteGuest: Action.SET_UP,
    tr.InvitePile: Action.SET_UP,
    tr.Reschedule: Action.RESCHEDULE,
    tr.PerformInStreet: Action.RESCHEDULE,
    tr.TellFortune: Action.FORTUNE_TELLING,
    tr.WeaveFate: Action.FATE_WEAVING,
}
"""What commands cost action points for; of Prepare the Trick tells how many."""


class Menus:
    """Makes menus of one view's commands."""

    def __init__(self, view: View, name: Name, content: Content) -> None:
        self.view = view
        self.content = content
        self.who: list[Person] = people(view, name)
        self.seat = view.game.viewer_seat or 0 if view.game is not None else 0
        self.me = view.players[self.seat]

    def of(self, kind: str, options: Sequence[Any]) -> Any:
        """The menu of a decision of that kind."""
        families = [option for option in options if isinstance(option, Family)]
        if families:
            return AssignMenu(families[0], ())
        asked = labels.question(self, kind) or QUESTIONS.get(kind) or kind.replace("_", " ").capitalize() + "?"
        commands = [option for option in options if type(option) is not Undo]
        return _tree(asked, [(self.path(kind, command), command) for command in commands])

    def path(self, kind: str, command: Any) -> Path:
        """A command in words, with the action points that it costs."""
        first, *further = self._words(kind, command)
        return (first + self._cost(kind, command), *further)

    def _cost(self, kind: str, command: Any) -> str:
        """What follows from an action is free, or was said with it."""
        action = self._action(command) if kind in ("act", "keep_card") else ANY_ACTION
        return f" ({cost_now(self.view, self.content, action)} AP)" if action else ""

    def _action(self, command: Any) -> int:
        match command:
            case tr.DrawCards():
                drew = self.view.dark_alley is not None and self.view.dark_alley.drew
                return Action.DRAW_FURTHER_CARDS if drew else Action.DRAW_FIRST_CARD
            case tr.ChooseComponent() | tr.ChooseTrick():
                return bonus_in_use(self.view, self.content).action
        return ACTIONS.get(type(command), ANY_ACTION)

    def _words(self, kind: str, command: Any) -> Path:
        match command:
            case tr.ChooseMagician(magician=magician):
                return (self._magician(magician),)
            case tr.PickTrick(trick=trick, symbol=symbol):
                return (self._trick(trick), f"with {SYMBOLS[symbol]}")
            case tr.PickComponents(components=components):
                return (_components(components),)
            case tr.PickSpecialist(character=character):
                return (SPECIALISTS[character],)
            case tr.Advertise():
                price = self.view.derived.players[self.seat].initiative_slot if self.view.derived is not None else 0
                return (f"pay {counted(price, 'coin')}, the number of your initiative slot, for 2 Fame",)
            case tr.Decline():
                return (DECLINED.get(kind, "no"),)
            case tr.Place(member=member, slot=slot):
                return (f"place the {self._member(member)}", self._slot(slot))
            case tr.MakeIdle(member=member):
                return ("leave a Character at home (idle)", f"the {self._member(member)}")
            case tr.Enhance():
                return (f"spend a Shard for {enhance_now(self.view, self.content)} AP more (enhance)",)
            case tr.EndPlacement():
                left = self.view.placement.action_points if self.view.placement is not None else 0
                return ("end the placement" + (f"; {left} AP are lost" if left else ""),)
            case tr.ReturnComponents(component=component, amount=amount):
                return ("put Components back", f"{amount} {COMPONENTS[component]}")
            case tr.ReturnTrick(trick=trick):
                return ("give a Trick back", TRICKS[trick])
            case tr.HouseApprentice(member=member):
                extension = member == tr.Member.ASSISTANTS_APPRENTICE
                return ("on the Assistant's slot, without wage" if extension else "on the board",)
        towns = self._downtown(command) or self._market(command) or self._workshop(command) or self._theater(command)
        return towns or labels.path(self, command) or (str(command),)

    def _downtown(self, command: Any) -> Path:
        match command:
            case tr.LearnTrick(trick=trick, die=die):
                by = f"by {self._die(die)}" if die < 2 else "without a die"
                return ("learn a Trick", CATEGORIES[category_of(trick)], self._trick(trick) + self._gap(trick), by)
            case tr.ChooseTrickSlot(slot=slot):
                there = next((own.trick for own in self.me.tricks if own.slot == slot), 0)
                instead = f", in place of {TRICKS[there]}" if there else ""
                return (("on the Engineer's slot" if slot == 3 else "on the board") + instead,)
            case tr.ChooseSymbol(symbol=symbol):
                return (f"{SYMBOLS[symbol]}, {counted(self.me.supply[symbol - 1], 'marker')} left",)
            case tr.Hire(die=die):
                return (f"hire {an(face_name(die, self.view.dice[die]))}",)
            case tr.TakeCoins(die=die):
                coins = self.view.dice[die] * prophecy_of(self.view, self.content).take_coins_times
                return (f"take {counted(coins, 'coin')} of {DICE[die]}",)
            case tr.RerollDie(die=die):
                return ("roll a die again", self._die(die))
            case tr.SetDie(die=die, face=face):
                return ("set a die", self._die(die), f"to {face_name(die, face)}")
        return ()

    def _market(self, command: Any) -> Path:
        match command:
            case tr.Buy(component=component, amount=amount, bargain=bargain, manager_slot=manager):
                words = str(amount) + (f" with {bargain} AP of bargaining" if bargain else "")
                return ("buy", self._to_buy(component), words + (" onto a slot of the Manager's" if manager else ""))
            case tr.Order(component=component, slot=slot):
                return ("order for the next turn", COMPONENTS[component], f"in slot {slot + 1}")
            case tr.QuickOrder(component=component):
                return ("order quickly", self._priced(component, True))
        return ()

    def _workshop(self, command: Any) -> Path:
        match command:
            case tr.Prepare(trick=trick):
                markers = counted(self._markers_of_prepare(trick), "marker")
                return ("prepare", f"{TRICKS[trick]}: {self.content.tricks[trick].ap} AP, {markers}")
            case tr.MoveTrick(trick=trick):
                return ("move a Trick to the Engineer's slot", TRICKS[trick])
            case tr.MoveComponents(component=component, exchanged=exchanged):
                instead = f"in exchange for {COMPONENTS[exchanged]}" if exchanged else "onto a free slot"
                return ("move Components to the Manager's slots", COMPONENTS[component], instead)
            case tr.MoveApprentice(member=member):
                return ("move an Apprentice to the Assistant's slot", f"the {member_name(member)}")
        return ()

    def _theater(self, command: Any) -> Path:
        match command:
            case tr.SetUpTrick(trick=trick, card=card, slot=slot, direction=direction):
                spot = self.spot(trick, card, slot, direction)
                return ("set up a Trick", self._prepared(trick), f"on {self.card(card)}", *spot)
            case tr.Reschedule(card=card, slot=slot):
                return ("move a marker", f"{self.marker(card, slot)} on {card_name(card)}, slot {slot + 1}")
            case tr.MoveMarker(card=card, slot=slot, direction=direction):
                return (f"to {self.card(card)}", f"slot {slot + 1}", f"its category {DIRECTIONS[direction]}")
            case tr.TakeLinkBonus(resource=resource):
                return ("Fame" if resource == Resource.FAME else "coins",)
            case tr.Perform(card=card):
                return (f"{self.card(card)}: {self._performance(card)}",)
        return ()

    # --- the parts of a path

    def _magician(self, magician: int) -> str:
        category = CATEGORIES[self.content.magicians[magician].category]
        ability = f". {ABILITIES[magician]}" if self.view.dark_alley is not None else ""
        return f"{MAGICIANS[magician]}, favorite category {category}{ability}"

    def _trick(self, trick: int) -> str:
        """A Trick with what decides about it."""
        card = self.content.tricks[trick]
        given = yield_now(self.view, self.content, trick)
        yields = amounts(given.fame, given.coins, given.shards)
        return (
            f"{TRICKS[trick]}, level {card.level}: {needs(self.content, trick)}{self._lacking(trick)}; yields {yields}"
        )

    def _lacking(self, trick: int) -> str:
        """What the player does not have of what a Trick needs."""
        short = missing(self.content, self.me, trick)
        if short == dict(self.content.tricks[trick].needs):
            return " (you have none of it)"
        lack = listed([f"{count} {COMPONENTS[component]}" for component, count in short.items()])
        return f" (you lack {lack})" if lack else ""

    def _gap(self, trick: int) -> str:
        """What is paid where Fame is lacking (TR-062)."""
        gap = self.content.tricks[trick].threshold - self.me.fame
        return f"; for {counted(gap, 'coin')}" if gap > 0 else ""

    def _member(self, member: int) -> str:
        card = next((mate.card for mate in self.me.team if mate.member == member), 0)
        return f"{member_name(member)} ({assignment_name(card)})" if card else member_name(member)

    def _slot(self, slot: int) -> str:
        location, number = slot // 16, slot % 16
        if location != Location.THEATER:
            points = self.content.places[location].slots[number - 1].ap
            return f"{slot_name(slot)}, slot {number} ({signed(points)} AP)"
        day, place = divmod(slot - Slot.THURSDAY_BACKSTAGE_1, 3)
        if place == 2:
            return f"{slot_name(slot)}, to perform"
        return f"{slot_name(slot)}, slot {place + 1} ({signed(self.content.days[day + 1].ap)} AP)"

    def _die(self, die: int) -> str:
        return f"{DICE[die]}, which shows {face_name(die, self.view.dice[die])}"

    def _to_buy(self, component: int) -> str:
        """A Component with what it costs in the action that is going on (TR-D82, TR-D85, TR-D90)."""
        card = card_in_use(self.view)
        if card == Assignment.WORKSHOP_DELIVERY:
            return f"{COMPONENTS[component]} at {max(0, price_now(self.view, self.content, component) - 1)}"
        priced = self._priced(component, on_quick_order_only(self.view, self.content, component))
        if card == Assignment.SMUGGLED_GOODS:
            return f"{priced}, in Fame and 1 less in all"
        return f"{priced}, one of them free" if card == Assignment.SHOPLIFTING else priced

    def _markers_of_prepare(self, trick: int) -> int:
        """How many markers a Prepare brings in the action that is going on (TR-D65)."""
        if card_in_use(self.view) == Assignment.INGENUITY:
            return 1
        more = bonus_in_use(self.view, self.content).more_markers
        return prepared_markers(self.content, self.me, trick, more)

    def _priced(self, component: int, quick: bool) -> str:
        """A Component with what one of it costs now."""
        price = (quick_price_now if quick else price_now)(self.view, self.content, component)
        return f"{COMPONENTS[component]} at {price}"

    def _prepared(self, trick: int) -> str:
        markers = next((own.markers for own in self.me.tricks if own.trick == trick), 0)
        category = CATEGORIES[category_of(trick)]
        return f"{TRICKS[trick]} ({category}, {counted(markers, 'marker')})"

    def card(self, card: int) -> str:
        """A Performance card with its place and its bonus."""
        number = next((place for place, shown in enumerate(self.view.display, 1) if shown.card == card), 0)
        bonus = self.content.performances[card].bonus
        return f"{number} {card_name(card)} ({amounts(bonus.fame, bonus.coins, bonus.shards)})"

    def marker(self, card: int, slot: int) -> str:
        shown = next((shown for shown in self.view.display if shown.card == card), None)
        marker = next((marker for marker in shown.markers if marker.slot == slot), None) if shown is not None else None
        if marker is None:
            return "a marker"
        owner = "" if marker.seat == self.seat else f"{self.who[marker.seat].name}'s "
        return owner + TRICKS[marker.trick]

    def marker_at(self, card: int, slot: int) -> str:
        """A marker with its slot, for two of a Trick may lie on a card (TR-D54)."""
        return f"{self.marker(card, slot)}, {f'slot {slot + 1}' if slot < CARD_SLOTS else 'beside the slots'}"

    def spot(self, trick: int, card: int, slot: int, direction: int) -> Path:
        """A slot, and how the marker would lie there, with the links that it would make."""
        layout = self.content.performances[card].layout
        shown = next(shown for shown in self.view.display if shown.card == card)
        category = category_of(trick)
        top = links.top_of(category, direction)
        made = []
        for circle in links.links_of(layout, tops(self.content, shown), slot, top):
            shard = ", a Shard" if layout.circles[circle].shard else ""
            made.append(f"{self.marker(card, links.across(layout, circle, slot))}{shard}")
        words = f"{CATEGORIES[category]} {DIRECTIONS[direction]}"
        return (f"slot {slot + 1}", f"{words}: links with {listed(made)}" if made else words)

    def _performance(self, card: int) -> str:
        shown = next(shown for shown in self.view.display if shown.card == card)
        own = sum(marker.seat == self.seat for marker in shown.markers)
        made = len(links.links(self.content.performances[card].layout, tops(self.content, shown)))
        return f"{counted(own, 'marker')} of yours among {len(shown.markers)}, {counted(made, 'link')}"


def _components(components: Sequence[int]) -> str:
    return listed([f"{components.count(kind)} {COMPONENTS[Component(kind)]}" for kind in dict.fromkeys(components)])


def _tree(question: str, paths: list[tuple[Path, Any]]) -> Menu:
    """A menu of commands by the first words of their paths; where one way leads on, its words are joined."""
    groups: dict[str, list[tuple[Path, Any]]] = {}
    for path, command in paths:
        groups.setdefault(path[0], []).append((path[1:], command))
    entries = []
    number = 0
    for words, rest in groups.items():
        while len(rest) == 1 and rest[0][0]:
            words, rest = f"{words}: {rest[0][0][0]}", [(rest[0][0][1:], rest[0][1])]
        further = [(path, command) for path, command in rest if path]
        chosen = [command for path, command in rest if not path]
        if further:
            chosen.append(_tree(f"{words[0].upper()}{words[1:]} …", further))
        for then in chosen:
            last = isinstance(then, LAST)
            number += not last
            entries.append(Entry(0 if last else number, words, then))
    return Menu(question, tuple(entries))


class AssignMenu:
    """The Characters one after the other: which card lies under each, and at the end whether some are to stay idle.
    Its entries are made when they are looked at.
    """

    def __init__(self, family: Family, taken: tuple[int, ...]) -> None:
        self._family = family
        self._taken = taken

    @property
    def question(self) -> str:
        """Which card lies under the next Character; what was said so far."""
        slots = self._family.slots
        said = [
            f"{_called(slot.name)}: {assignment_name(card)}"
            for slot, card in zip(slots, self._taken, strict=False)
            if card
        ]
        so_far = f" ({', '.join(said)})" if said else ""
        return f"Which card lies under the {_called(slots[len(self._taken)].name)}?{so_far}"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """No card, each kind of card that is left in hand, and no card under any other Character."""
        family, taken = self._family, self._taken
        found = [Entry(0, "none: it stays at home", self._then((*taken, 0)))]
        cards = [card for card in family.slots[len(taken)].domain if card and self._left(card)]
        for number, card in enumerate(sorted(cards, key=lambda card: (location_of(card), card)), 1):
            found.append(Entry(number, f"{assignment_name(card)}{self._copies(card)}", self._then((*taken, card))))
        rest = len(family.slots) - len(taken)
        if rest > 1:
            found.append(Entry(len(found), "that is all: no more cards", self._then((*taken, *(0,) * rest))))
        return tuple(found)

    def _then(self, taken: tuple[int, ...]) -> Any:
        slots = self._family.slots
        if len(taken) < len(slots):
            return AssignMenu(self._family, taken)
        command = self._family.command(taken)
        idle = [_called(slot.name) for slot, card in zip(slots, taken, strict=True) if not card]
        if not idle:
            return command
        return Menu(
            f"Without a card, so idle in this turn: {listed(idle)}. Assign so?",
            (Entry(1, "yes, assign so", command), Entry(2, AGAIN, AssignMenu(self._family, ()))),
        )

    def _left(self, card: int) -> int:
        """How many more Characters may have that card."""
        slots = len(self._family.slots)
        limits = [limit.at_most for limit in self._family.limits if card in limit.values]
        return min([slots, *limits]) - self._taken.count(card)

    def _copies(self, card: int) -> str:
        left = self._left(card)
        return f" ({left} left)" if left < len(self._family.slots) else ""


def _called(slot: str) -> str:
    return member_name(tr.Member[slot.upper()])

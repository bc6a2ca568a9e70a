"""A greedy player of Trickerion: each decision by what it brings now, with an eye on the next performance.

It knows what its seat knows: the seat's own view and what it may do. Worths are in Fame. A turn is planned when cards
are assigned: markers on stage and a Magician to perform them first, then what will make markers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from guildhall.kernel.families import Family
from guildhall.kernel.v1.structs import Undo
from guildhall.trickerion.v1 import structs as tr
from guildhall.trickerion.v1.structs import Character, Location, Member, Player, Resource, Slot, View
from services.trickerion import links
from services.trickerion.appraisal import in_stock, missing, price_of, tops, worth
from services.trickerion.content import ANY_CATEGORY, FIRST_SPECIAL, Action, Content
from services.trickerion.packs import parse

MOST_TRICKS: Final = 3
"""Tricks for which there is a use in one game, without the Engineer's."""
COIN: Final = 0.4
"""Fame that a coin is worth, where there are enough for wages."""
UNPAID: Final = 1.8
"""Fame that a coin is worth which wages will lack."""
NOTHING: Final = 0.0
"""What ending is worth: whatever is worth less is not done."""
NEVER: Final = -100.0


@dataclass(frozen=True)
class Situation:
    """What stays the same while the commands of one decision are compared."""

    view: View
    me: Player
    seat: int
    left: int
    """Turns that follow this one."""
    ready: int
    """Markers on own Tricks."""
    staged: int
    """Own markers on Performance cards."""
    preparable: tuple[int, ...]
    """Own Tricks without marker whose Components are there."""
    lacking: tuple[int, ...]
    """Own Tricks whose Components are not there."""
    open_slots: int
    """Trick slots that are free."""
    purse: int
    """Coins that are left after the wages of those who are placed, and of those who may be."""

    def coins(self, amount: int) -> float:
        """Fame that so many more coins, or (negative) fewer, are worth: what wages lack is dear."""
        unpaid = max(0, -self.purse) - max(0, -self.purse - amount)
        return UNPAID * unpaid + COIN * (amount - unpaid)


class Greedy:
    """Chooses for one seat at a time; keeps nothing between two decisions."""

    def __init__(self, pack: bytes) -> None:
        """`pack` is the content pack's bytes, as GetPack gives them. Raises BadPack."""
        self._content: Content = parse(pack)

    def __call__(self, view: View, kind: str, options: Sequence[Any]) -> Any:
        """What to answer this decision of the view's own seat with."""
        listed = [option for option in options if type(option) is not Undo]
        if len(listed) == 1 and not isinstance(listed[0], Family):
            return listed[0]
        now = self._situation(view)
        if isinstance(listed[0], Family):
            return self._assign(now, listed[0])
        return max(listed, key=lambda command: self._worth(now, kind, command))

    def _situation(self, view: View) -> Situation:
        assert view.game is not None and view.game.viewer_seat is not None
        content, seat = self._content, view.game.viewer_seat
        me = view.players[seat]
        lacks = {int(own.trick): missing(content, me, own.trick) for own in me.tricks}
        engineer = any(member.member == Member.ENGINEER for member in me.team)
        at_work = [mate.member for mate in me.team if mate.assigned and not mate.idle]
        return Situation(
            view=view,
            me=me,
            seat=seat,
            left=content.turns[view.dark_alley is not None] - view.turn,
            ready=sum(own.markers for own in me.tricks),
            staged=sum(marker.seat == seat for card in view.display for marker in card.markers),
            preparable=tuple(
                int(own.trick)
                for own in me.tricks
                if not own.markers and not lacks[own.trick] and me.supply[own.symbol - 1]
            ),
            lacking=tuple(trick for trick, lack in lacks.items() if lack),
            open_slots=MOST_TRICKS + engineer - len(me.tricks),
            purse=me.coins - sum(self._wage(member) for member in at_work),
        )

    def _wage(self, member: int) -> int:
        free = member == Member.ASSISTANTS_APPRENTICE
        return 0 if free else self._content.characters[min(member, Character.APPRENTICE)].wage

    # --- Assignment

    def _assign(self, now: Situation, family: Family) -> Any:
        """The assignment whose single ones are worth most together; each further one at a Location is worth less."""
        members = [Member[slot.name.upper()] for slot in family.slots]
        cards = [card for card in family.slots[0].domain if card] if family.slots else []
        limits = {card: min([9, *(x.at_most for x in family.limits if card in x.values)]) for card in cards}

        @cache
        def best(index: int, used: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
            if index == len(members):
                return 0.0, ()
            without, rest = best(index + 1, used)
            found = [(without, (0, *rest))]
            locations = Counter(self._content.assignments[card].location for card in used)
            for card in cards:
                if used.count(card) < limits[card]:
                    location = self._content.assignments[card].location
                    value = self._job(now, members[index], location, locations[location])
                    more, rest = best(index + 1, tuple(sorted((*used, card))))
                    found.append((value + more + 0.01 * (card < FIRST_SPECIAL), (card, *rest)))
            return max(found, key=lambda one: one[0])

        return family.command(best(0, ())[1])

    def _job(self, now: Situation, member: int, location: int, others: int) -> float:
        """What a Character is worth at a Location where so many own ones go already."""
        content = self._content
        ap = content.characters[min(member, Character.APPRENTICE)].ap
        wage = (1.0 if now.me.coins < 5 else COIN) * self._wage(member)
        soon = now.ready + 2 * len(now.preparable)
        if location == Location.THEATER:
            if member == Member.MAGICIAN:
                return 3.0 + 2.5 * min(now.staged + soon, 4) if now.staged + soon else -1.0
            left = soon - 2 * max(0, others - 1)
            return 2.5 * min(ap + 0.3, left) - wage if left > 0 else -1.0
        if not now.left and location != Location.DARK_ALLEY and not (location == Location.WORKSHOP and now.preparable):
            return -1.0
        if location == Location.WORKSHOP:
            if others < len(now.preparable):
                return 5.0 + 0.1 * ap - wage
            return 1.0 - wage if now.lacking and now.me.coins > 2 and not others else -1.0
        if location == Location.MARKET_ROW:
            return (3.5 if not others else 0.2) + 0.2 * ap - wage if now.lacking and now.me.coins else -1.0
        if location == Location.DARK_ALLEY:
            return 1.8 - 0.8 * others + 0.3 * ap - wage
        need = 3.0 if now.open_slots > 0 and now.left > 1 else 1.5 if now.left > 0 else 0.0
        need += 2.0 if now.me.coins < 4 else 0.0
        return need * (0.4, 0.8, 1.2)[ap - 1] - 1.5 * others - wage

    # --- what a command is worth

    def _worth(self, now: Situation, kind: str, command: Any) -> float:
        content = self._content
        match command:
            case tr.PickTrick(trick=trick):
                return self._new_trick(now, trick)
            case tr.PickComponents(components=components):
                return self._components(now, components)
            case tr.PickSpecialist(character=character):
                return {Character.ENGINEER: 3.0, Character.ASSISTANT: 2.0}.get(Character(character), 1.0)
            case tr.Advertise():
                price = now.view.derived.players[now.seat].initiative_slot if now.view.derived is not None else 4
                return 1.0 if now.me.coins - price >= 4 else -1.0
            case tr.Place(member=member, slot=slot):
                return self._place(now, member, slot)
            case tr.MakeIdle(member=member):
                return now.coins(self._wage(member)) - 0.5
            case tr.Decline() | tr.EndPlacement():
                return NOTHING
            case tr.ReturnComponents() | tr.ReturnTrick():
                return NEVER
            case tr.Perform(card=card):
                return self._performance(now, card)
            case tr.TakeLinkBonus(resource=resource):
                return 1.0 if resource == Resource.FAME else now.coins(1)
            case tr.HouseApprentice(member=member):
                return float(member)
            case tr.ChooseTrickSlot(slot=slot):
                return float(slot)
            case tr.MoveMarker(card=card, slot=slot, direction=direction):
                return float(len(self._made(now, card, slot, 1, direction)))
            case tr.Enhance():
                return self._enhance(now)
            case tr.SetUpTrick(trick=trick, card=card, slot=slot, direction=direction):
                return self._set_up(now, trick, card, slot, direction)
            case tr.Prepare(trick=trick):
                return 2.0 + content.tricks[trick].markers * worth(content.tricks[trick].yields)
            case tr.DrawCards():
                return 2.0
            case tr.TakeActionPoint():
                return 1.0
            case tr.KeepBonus() | tr.UseBonus() | tr.CopySpecial() | tr.Possess() | tr.UseAbility():
                return -0.1
        return self._downtown(now, command) or self._market(now, command)

    def _downtown(self, now: Situation, command: Any) -> float:
        match command:
            case tr.LearnTrick(trick=trick):
                gap = max(0, self._content.tricks[trick].threshold - now.me.fame)
                return self._new_trick(now, trick) + now.coins(-gap) + 2.0 if now.left > 0 else -1.0
            case tr.Hire(die=die):
                apprentice = now.view.dice[die] == Character.APPRENTICE
                return (1.5 if apprentice else 2.5) * min(now.left, 2) - (0.5 if now.me.coins > 3 else 2.0)
            case tr.TakeCoins(die=die):
                return now.coins(now.view.dice[die]) + (0.5 if now.me.coins < 3 else 0.0)
            case tr.SetDie(die=die, face=face):
                return self._set_die(now, die, face)
        return -0.1 if isinstance(command, tr.RerollDie) else 0.0

    def _market(self, now: Situation, command: Any) -> float:
        match command:
            case tr.Buy(component=component, amount=amount, bargain=bargain):
                use = self._use(now, component, amount)
                return use - 0.3 * bargain if use > 0 else -1.0
            case tr.ChooseComponent(component=component):
                return self._use(now, component, 1)
            case tr.Order(component=component):
                wanted = self._use(now, component, 1)
                return 0.3 * wanted if wanted > 0 and now.left and component not in in_stock(now.view) else -1.0
            case tr.QuickOrder(component=component):
                wanted = self._use(now, component, 1)
                return 0.6 * wanted if wanted > 0 and component not in in_stock(now.view) else -1.0
        return -0.2

    # --- Tricks and Components

    def _new_trick(self, now: Situation, trick: int) -> float:
        """A Trick by what its markers yield, less what it still costs."""
        card = self._content.tricks[trick]
        lack = missing(self._content, now.me, trick)
        cost = COIN * price_of(self._content, lack) + 0.8 * len(lack)
        times = 1.0 if now.left < 3 else 1.5
        return times * (card.markers * worth(card.yields) * 0.6) - cost - 0.5 * card.ap

    def _components(self, now: Situation, components: Sequence[int]) -> float:
        """Components to begin with, by what own Tricks lack."""
        wanted: Counter[int] = Counter()
        for own in now.me.tricks:
            wanted.update(missing(self._content, now.me, own.trick))
        return float(sum(min(wanted[kind], components.count(kind)) for kind in set(components)))

    def _use(self, now: Situation, component: int, amount: int) -> float:
        """What so many of a Component are worth to own Tricks: more, the nearer a Trick comes to be complete."""
        best = 0.0
        for trick in now.lacking:
            lack = missing(self._content, now.me, trick)
            if component in lack:
                fits = min(amount, lack[component])
                rest = sum(lack.values()) - fits
                best = max(best, 4.0 * fits / (fits + rest) + (1.0 if not rest else 0.0) - 0.6 * (amount - fits))
        return best

    # --- Characters

    def _place(self, now: Situation, member: int, slot: int) -> float:
        location = slot // 16
        if location == Location.WORKSHOP:
            return 6.0 if now.preparable else 1.0 if now.ready else 0.2
        if location == Location.THEATER:
            return self._on_day(now, member, slot)
        points = self._content.places[location].slots[slot % 16 - 1].ap
        if location == Location.MARKET_ROW and now.lacking:
            return 3.5 + 0.3 * points
        return 2.5 + 0.5 * points

    def _on_day(self, now: Situation, member: int, slot: int) -> float:
        number = slot - Slot.THURSDAY_BACKSTAGE_1
        day = self._content.days[number // 3 + 1]
        waiting = [mate for mate in now.me.team if mate.assigned and not mate.idle and not mate.slot]
        theirs = [mate for mate in waiting if self._content.assignments[mate.card].location == Location.THEATER]
        helpers = sum(mate.member != Member.MAGICIAN for mate in theirs)
        shown = min(4, now.staged + min(now.ready, 2 * helpers))
        if number % 3 == 2:
            return 4.5 + (1.5 * day.fame * shown + day.ap * helpers if shown else 0.1 * day.fame)
        if member == Member.MAGICIAN:
            return 1.0 if now.ready else NEVER
        soon = any(self._content.assignments[mate.card].location == Location.WORKSHOP for mate in waiting)
        magician = any(mate.member == Member.MAGICIAN for mate in theirs)
        if magician or (not now.ready and soon):
            return 0.3
        return (5.0 if now.ready else 0.1) + 0.5 * day.ap

    def _enhance(self, now: Situation) -> float:
        """One more action point where it makes the difference."""
        at = now.view.placement
        if at is None:
            return -1.0
        location = at.slot // 16
        if location == Location.DOWNTOWN and at.action_points == 2:
            return 1.5 if now.open_slots > 0 and now.left else -1.0
        if location == Location.WORKSHOP and now.preparable:
            cheapest = min(self._content.tricks[trick].ap for trick in now.preparable)
            return 2.0 if at.action_points == cheapest - 1 else -1.0
        return -1.0

    def _set_die(self, now: Situation, die: int, face: int) -> float:
        """A die for what can be done with it at once."""
        at = now.view.placement
        learn = self._content.action_ap[0][Action.LEARN_TRICK]
        if at is None or at.action_points < self._content.action_ap[0][Action.SET_DIE] + learn:
            return -1.0
        useful = die < 2 and face == ANY_CATEGORY and now.open_slots > 0 and now.left > 1
        return 0.5 if useful and not any(now.view.dice[:2]) else -1.0

    # --- the Theater

    def _made(self, now: Situation, card: int, slot: int, category: int, direction: int) -> list[int]:
        """The circles in which a marker would be linked there."""
        shown = next(shown for shown in now.view.display if shown.card == card)
        layout = self._content.performances[card].layout
        return links.links_of(layout, tops(self._content, shown), slot, links.top_of(category, direction))

    def _set_up(self, now: Situation, trick: int, card: int, slot: int, direction: int) -> float:
        content = self._content
        made = self._made(now, card, slot, content.tricks[trick].category, direction)
        layout = content.performances[card].layout
        shards = sum(layout.circles[circle].shard for circle in made)
        place = next(place for place, shown in enumerate(now.view.display) if shown.card == card)
        own = sum(marker.seat == now.seat for marker in now.view.display[place].markers)
        leaving = place == len(now.view.players) and now.view.turn >= content.first_removal
        magician = next(mate for mate in now.me.team if mate.member == Member.MAGICIAN)
        card_of = content.assignments[magician.card].location if magician.assigned and not magician.idle else 0
        performs = card_of == Location.THEATER
        value = 1.5 + worth(content.tricks[trick].yields) + len(made) * content.link_bonus[content.tricks[trick].level]
        value += shards + 0.8 * own + 0.3 * worth(content.performances[card].bonus) + 0.05 * len(layout.slots)
        if leaving and not (performs and own):
            value -= 3.0
        return value if performs or now.left else 0.5 * len(made)

    def _performance(self, now: Situation, card: int) -> float:
        """Own yields and bonuses, less some of what the guests gain."""
        content = self._content
        shown = next(shown for shown in now.view.display if shown.card == card)
        made = len(links.links(content.performances[card].layout, tops(self._content, shown)))
        total = worth(content.performances[card].bonus) + made
        for marker in shown.markers:
            value = worth(content.tricks[marker.trick].yields) + 0.2
            total += value if marker.seat == now.seat else -0.3 * value
        return total

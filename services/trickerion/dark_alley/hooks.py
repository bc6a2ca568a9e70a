"""Where the Dark Alley comes into the base game's flow: each hook leads to the file that does it."""

from collections.abc import Iterable, Sequence
from typing import Any

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    CardsLaidFacedown,
    Cause,
    DarkAlleyView,
    Location,
    Magician,
    ShardsGained,
    SpecialDeckShuffled,
)
from services.trickerion import money
from services.trickerion.asking import HallTable, content_of
from services.trickerion.content import Content, Yield
from services.trickerion.dark_alley import (
    acting,
    end_turn,
    location,
    market_cards,
    performing,
    placing,
    prophecies,
    theater_cards,
    tricks,
    workshop_cards,
)
from services.trickerion.dark_alley import view as alley_view
from services.trickerion.dark_alley.cards import armed_card, usual_costs
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.prophecies import in_force
from services.trickerion.hall import Hall, theater_day
from services.trickerion.hooks import Change, Hooks
from services.trickerion.place import PlaceTurn


class DarkAlleyHooks(Hooks):
    """What is otherwise with the Dark Alley."""

    # --- set-up

    def magicians(self, hall: Hall, content: Content) -> list[int]:
        """Without prophecies the Priestess of Mysticism is left out (TR-D08)."""
        everybody = super().magicians(hall, content)
        if alley_of(hall).with_prophecies:
            return everybody
        return [magician for magician in everybody if magician != Magician.PRIESTESS_OF_MYSTICISM]

    def table_laid(self, table: HallTable) -> None:
        """The special decks and the prophecies are shuffled (TR-D04, TR-D07)."""
        for deck in location.DECKS:
            cards = table.rng.shuffle(table.content.special_deck(deck))
            table.emit(SpecialDeckShuffled(deck, len(cards), tuple(cards)))
        if alley_of(table.hall).with_prophecies:
            prophecies.shuffle_all(table)

    def set_up_done(self, table: HallTable) -> None:
        if alley_of(table.hall).with_prophecies:
            prophecies.start(table)

    # --- Assignment and Place Characters

    def cards_assigned(self, table: HallTable, seat: int, members: tuple[int, ...], cards: tuple[int, ...]) -> None:
        """Prophecy 20: they stay facedown (TR-D110)."""
        if in_force(table.hall, table.content).one_by_one:
            table.emit(CardsLaidFacedown(seat, members, cards))
        else:
            super().cards_assigned(table, seat, members, cards)

    def base_ap(self, hall: Hall, seat: int, member: int, ap: int) -> int:
        return placing.base_ap(hall, content_of(hall), seat, member, ap)

    def locations(self, hall: Hall, seat: int, member: int, location: int) -> Sequence[int]:
        return placing.locations(hall, seat, member, location)

    def place_slots(self, hall: Hall, seat: int, member: int, slots: list[int]) -> list[int]:
        return placing.place_slots(hall, content_of(hall), seat, slots)

    def why_not_slot(self, hall: Hall, seat: int, slot: int) -> Refusal | None:
        return placing.why_not_slot(hall, content_of(hall), seat, slot)

    def before_placing(self, table: HallTable, seat: int, member: int, slot: int) -> None:
        placing.before_placing(table, seat, member, slot)

    def placed(self, table: HallTable, seat: int, member: int) -> Sequence[Frame]:
        return placing.placed(table, seat, member)

    def after_placement(self, seat: int, placed: int) -> Sequence[Frame]:
        """Whether the turn goes on is asked of the prophecy that is active then (TR-D99, TR-AD8)."""
        return (PlaceTurn(seat, placed),)

    def turn_goes_on(self, hall: Hall, placed: int) -> bool:
        return placed < in_force(hall, content_of(hall)).placements

    # --- actions

    def action_costs(self, hall: Hall, content: Content) -> Sequence[int]:
        """Under the active prophecy and with the special card in use; never below 0 (TR-AD9)."""
        usual = usual_costs(hall, content)
        card = armed_card(hall, content)
        if not card.save_ap:
            return usual
        return [max(0, ap - card.save_ap) if card.action == action else ap for action, ap in enumerate(usual)]

    def may_enhance(self, hall: Hall, content: Content, location: int) -> bool:
        if location == Location.THEATER:
            return in_force(hall, content).enhance_in_theater
        return super().may_enhance(hall, content, location)

    def enhance_ap(self, hall: Hall, content: Content) -> int:
        """Empower before the prophecy (TR-AD15)."""
        empowered = content.assignments[alley_of(hall).bonus].enhance_ap
        return empowered or in_force(hall, content).enhance_ap or content.enhance_ap

    def act_asked(self, hall: Hall, seat: int, first: bool) -> bool:
        return acting.is_asked(hall, content_of(hall), seat, first)

    def act_options(self, hall: Hall, content: Content, seat: int, options: list[Any], first: bool) -> list[Any]:
        return acting.options(hall, content, seat, options, first)

    def is_no_action(self, command: Any) -> bool:
        return isinstance(command, acting.FREE)

    def act(self, table: HallTable, seat: int, command: Any) -> Sequence[Frame] | None:
        return acting.act(table, seat, command)

    def why_not_act(self, hall: Hall, content: Content, seat: int, command: Any) -> Refusal | None:
        return acting.why_not(hall, content, seat, command)

    # --- Downtown, Market Row, Shards

    def coins_of(self, hall: Hall, coins: int) -> int:
        """Prophecy 7 (TR-D97)."""
        return coins * in_force(hall, content_of(hall)).take_coins_times

    def stock(self, hall: Hall) -> Sequence[int]:
        """Prophecy 4 and Logistics (TR-D94, TR-D86)."""
        alley = alley_of(hall)
        if in_force(hall, content_of(hall)).orders_are_stock:
            return (*hall.order_area, *alley.in_stock)
        return alley.in_stock

    def price(self, hall: Hall, content: Content, component: int) -> int:
        """Prophecy 21 (TR-D111)."""
        return in_force(hall, content).component_price or content.components[component].price

    def quick_price(self, hall: Hall, content: Content, price: int) -> int:
        """One more, but for the ruling `flat_price_quick_order` = `flat` under prophecy 21 (TR-AD20)."""
        if hall.rulings.flat_quick_order and in_force(hall, content).component_price:
            return price
        return price + content.quick_order_price

    def market_paid(self, table: HallTable, seat: int, coins: int) -> None:
        market_cards.share(table, seat, coins)

    def shards_gained(self, table: HallTable, seat: int) -> None:
        """Prophecies 2 and 3; the Shard that they bring is no further receipt (TR-D92, TR-D93, TR-AD11)."""
        prophecy = in_force(table.hall, table.content)
        if prophecy.shards:
            shards = table.hall.shards[seat] + prophecy.shards
            table.emit(ShardsGained(seat, prophecy.shards, shards, Cause.PROPHECY))
        money.gain_fame(table, seat, prophecy.shards_fame, Cause.PROPHECY)

    # --- Theater

    def trick_set_up(self, table: HallTable, seat: int, trick: int) -> None:
        """Prophecies 10, 13, 17, 23 (TR-D100, TR-D103, TR-D107, TR-D113)."""
        category = table.content.tricks[trick].category
        money.gain_fame(table, seat, in_force(table.hall, table.content).set_up_fame[category], Cause.PROPHECY)

    def link_bonuses(
        self, hall: Hall, content: Content, card: int, slot: int, linked: Sequence[int], bonuses: Sequence[int]
    ) -> Sequence[int]:
        return theater_cards.link_bonuses(hall, content, card, slot, linked, bonuses)

    def link_shards(self, hall: Hall, content: Content) -> int:
        """Headliner Trick (TR-D53)."""
        return armed_card(hall, content).payment_times

    # --- Performance

    def before_performances(self, hall: Hall) -> Sequence[Frame]:
        return performing.before_performances(hall)

    def instead_of_choosing(self, hall: Hall, performer: int) -> Sequence[Frame]:
        return performing.instead_of_choosing(hall, performer)

    def before_yields(self, hall: Hall, performer: int, card: int) -> Sequence[Frame]:
        return performing.before_yields(hall, performer, card)

    def trick_yield(self, hall: Hall, content: Content, markers: Sequence[int], slot: int) -> Yield:
        return performing.trick_yield(hall, content, markers, slot)

    def yield_day(self, hall: Hall, owner: int, performer: int, day: int) -> int:
        """Prophecy 19 (TR-D109)."""
        if in_force(hall, content_of(hall)).performers_day:
            return theater_day(hall, performer)
        return day

    def day_modifier(self, hall: Hall, content: Content, day: int) -> tuple[int, int]:
        """Prophecies 11, 16, 22 (TR-D101, TR-D106, TR-D112)."""
        changed = in_force(hall, content).days.get(day)
        return super().day_modifier(hall, content, day) if changed is None else changed

    def modifiers(
        self, hall: Hall, content: Content, performer: int, markers: Sequence[int], slot: int, day: Change
    ) -> Iterable[Sequence[Change]]:
        return performing.modifiers(hall, content, performer, markers, slot, day)

    def final_yield(
        self, hall: Hall, content: Content, markers: Sequence[int], slot: int, performer: int, modified: Yield
    ) -> Yield:
        return performing.final_yield(hall, content, markers, slot, performer, modified)

    def performer_bonus(self, hall: Hall, content: Content, bonus: Yield) -> Yield:
        """Prophecy 6 (TR-D96)."""
        times = in_force(hall, content).bonus_times
        return Yield(bonus.fame * times, bonus.coins * times, bonus.shards * times)

    def card_performed(self, table: HallTable, performer: int, card: int) -> None:
        performing.card_performed(table, performer, card)

    def after_performances(self, hall: Hall) -> Sequence[Frame]:
        return performing.after_performances(hall)

    # --- End Turn, final scoring, the view

    def characters_returned(self, hall: Hall) -> Sequence[Frame]:
        """Hidden talents show, in initiative order (TR-D69, TR-A50)."""
        talents = alley_of(hall).talents
        return [workshop_cards.Talent(seat) for seat in hall.initiative if talents[seat]]

    def before_orders(self, table: HallTable) -> None:
        market_cards.quick_order_comes(table)

    def turn_ended(self, table: HallTable) -> None:
        end_turn.end_turn(table)

    def final_fame(
        self, hall: Hall, content: Content, seat: int, lines: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Level 3 Tricks score their bonuses (TR-D26)."""
        bonuses = [tricks.end_bonus(hall, content, seat, trick) for trick in hall.tricks[seat] if trick]
        return lines + [(int(Cause.FINAL_TRICK), fame) for fame in bonuses if fame]

    def view(self, hall: Hall) -> DarkAlleyView:
        return alley_view.view(hall)

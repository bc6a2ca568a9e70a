"""Tables set up so that each decision of the game is open, for seat a: some are rare in random play."""

from collections.abc import Callable

from tests.games.trickerion.script import (
    ALLEY,
    Script,
    advertise,
    assign,
    end_turn,
    new_game,
    perform,
    place,
    seat,
    seat_number,
)


def after(t: Script, *commands: str) -> Script:
    """A script after some commands of seat a."""
    t.a.does(*commands)
    return t


def setting_up(kind: str, **chosen: str) -> Script:
    """A new game in which seat a is asked that; before it everybody takes what is first listed, or `chosen` by kind."""
    t = new_game(2)
    while t.asked != {"a": kind}:
        ((name, asked),) = t.asked.items()
        player = t.players[seat_number(name)]
        player.does(chosen.get(asked) or player.may[0])
    return t


def with_bonus(location: str, card: str, *commands: str) -> Script:
    """Seat a's Magician acts with the bonus of that special card."""
    t = place(
        a=seat(
            f"magician:{card} assistant apprentice_1",
            "linking_rings:spades*1 mind_reading:hearts",
            "metal*2 glass*2 fabric*2",
            hand="empower",
        ),
        dice="any X / engineer apprentice / 4 X",
        options=ALLEY,
    )
    slot = "friday_1" if location == "theater" else f"{location}_1"
    return after(t, f"place magician {slot}", "keep", "bonus", *commands)


def on_stage(card: str, *commands: str, rulings: dict[str, str] | None = None) -> Script:
    """Seat a's Magician performs with that special card."""
    t = place(
        2,
        a=seat(f"magician:{card}"),
        b=seat("magician"),
        stage="a/mind_reading@R01:0.0>down b/walled@R01:0.2>up",
        options=ALLEY,
        rulings=rulings,
    )
    return after(t, "place magician thursday_stage", "keep", *commands)


def talent() -> Script:
    """Seat a's Apprentice has prepared a Trick with Hidden Talent, and the Characters return."""
    told = seat("magician apprentice:hidden_talent", "linking_rings", "metal*2", shards=0)
    t = place(2, a=told, b=seat("magician"), options=ALLEY)
    return after(t, "place apprentice workshop_1", "keep", "bonus", "prepare linking_rings")


STAGE = "a/linking_rings@R01:0.0>down b/living_piano@R10:1.0>left"
OPEN: dict[str, Callable[[], Script]] = {
    "choose_magician": lambda: setting_up("choose_magician"),
    "starting_components": lambda: setting_up("starting_components"),
    "starting_trick": lambda: setting_up("starting_trick"),
    "specialist": lambda: setting_up("specialist"),
    "manager_components": lambda: setting_up("manager_components", specialist="specialist manager"),
    "engineer_trick": lambda: setting_up("engineer_trick", specialist="specialist engineer"),
    "advertise": advertise,
    "assign": lambda: assign(2, a=seat("magician engineer apprentice_1")),
    "place": lambda: place(a=seat("magician:downtown engineer:theater", "linking_rings", "wood*2"), stage=STAGE),
    "act": lambda: after(
        place(a=seat("magician:downtown", "linking_rings", "wood*2"), dice="any X / X X / 4 X"),
        "place magician downtown_1",
    ),
    "trick_slot": lambda: after(
        place(a=seat("magician:downtown engineer"), dice="any X / X X / X X"),
        "place magician downtown_1",
        "learn mind_reading dahlgaard_a",
    ),
    "symbol": lambda: after(
        place(a=seat("magician:downtown"), dice="any X / X X / X X"),
        "place magician downtown_1",
        "learn mind_reading dahlgaard_a",
    ),
    "reschedule": lambda: after(
        place(a=seat("engineer:theater"), stage=STAGE), "place engineer friday_1", "reschedule R01:0.0"
    ),
    "link_bonus": lambda: after(
        place(a=seat("engineer:theater", "levitation*1"), stage="b/linking_rings@R01:0.0>down"),
        "place engineer friday_1",
        "set_up levitation R01:0.1>up",
    ),
    "perform": lambda: perform(a=seat("magician@friday_stage"), stage=STAGE + " a/linking_rings@R10:0.0>right"),
    "house_apprentice": lambda: end_turn(a=seat("magician assistant apprentice_1", hired="apprentice")),
    "special_use": lambda: after(place(a=seat("magician:empower"), options=ALLEY), "place magician downtown_1"),
    "copy_special": lambda: after(
        place(a=seat("engineer:workshop", magician="great_optico"), b=seat("magician:test_run"), options=ALLEY),
        "place engineer workshop_1",
    ),
    "keep_card": lambda: after(
        place(a=seat("magician:dark_alley"), options=ALLEY, specials="headliner_trick new_twist"),
        "place magician dark_alley_1",
        "draw theater",
    ),
    "swap_cards": lambda: with_bonus("theater", "buying_time", "set_up linking_rings R01:0.0>down"),
    "spare_parts": lambda: with_bonus("workshop", "replaceable_parts", "prepare mind_reading"),
    "use_up": lambda: with_bonus("workshop", "unstable_prototype", "prepare mind_reading"),
    "on_stage": lambda: with_bonus("workshop", "on_stage_preparation", "prepare mind_reading"),
    "talent": talent,
    "second_apprentice": lambda: with_bonus("downtown", "mass_recruitment", "hire inn_b"),
    "house_now": lambda: with_bonus("downtown", "hypnotic_motivation", "hire inn_b"),
    "motivate": lambda: with_bonus("downtown", "hypnotic_motivation", "hire inn_a"),
    "overhaul": lambda: with_bonus("downtown", "trick_overhaul", "trick linking_rings"),
    "overhaul_slot": lambda: with_bonus(
        "downtown", "trick_overhaul", "trick linking_rings", "learn enchanted_butterflies dahlgaard_a"
    ),
    "invest": lambda: with_bonus("downtown", "investments", "take bank_a"),
    "sale": lambda: with_bonus("market_row", "component_sale", "component wood"),
    "barter": lambda: with_bonus("market_row", "barter_with_power", "component wood"),
    "restock": lambda: with_bonus("market_row", "shoplifting", "buy wood 1"),
    "merchants": lambda: after(
        place(a=seat("magician:traveling_merchants"), options=ALLEY),
        "place magician market_row_1",
        "keep",
        "order cog 0",
    ),
    "break_free": lambda: perform(a=seat("magician", magician="master_of_chains"), stage=STAGE, options=ALLEY),
    "possess": lambda: perform(
        a=seat("magician", magician="yoruba_spiritmaster"), b=seat("magician@friday_stage"), stage=STAGE, options=ALLEY
    ),
    "premiere": lambda: on_stage("grand_premiere", "perform R01"),
    "steal": lambda: after(
        perform(
            a=seat("magician@friday_stage", magician="red_lotus"),
            stage="a/linking_rings@R01:0.0>down b/living_piano@R01:0.2>up",
            options=ALLEY,
        ),
        "perform R01",
    ),
    "modifier_order": lambda: on_stage("arranged_fiasco", "perform R01", rulings={"yield_modifier_order": "ask"}),
    "durable": lambda: on_stage("durable_components", "perform R01"),
}
"""A table at which that decision is open."""

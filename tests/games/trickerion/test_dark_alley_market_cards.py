"""Special cards of the Market Row (TR-D81 to TR-D90)."""

from typing import Any

import pytest

from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import ALLEY, Script, place, seat


def acting(card: str, components: str = "", *, kind: str = "apprentice", armed: bool = True, **more: Any) -> Script:
    """Seat a's Character (+0 slot) acts at the Market Row with the bonus of this card armed."""
    own = {name: more.pop(name) for name in ("coins", "shards", "fame") if name in more}
    told = seat(f"{kind}:{card} {more.pop('team', '')}", "", components, **({"shards": 0} | own))
    t = place(a=told, options=ALLEY, **more)
    t.a.does(f"place {kind} market_row_4", "keep")
    if armed:
        t.a.does("bonus")
    return t


@pytest.mark.rule("TR-D81", "TR-AD51")
def test_a_sale_takes_four_in_any_mix_with_bargain() -> None:
    t = acting("component_sale", kind="magician", buy="wood rope mirror fabric")
    t.a.does("component wood", "component rope", "component mirror", "component wood")
    t.a.cannot("component wood", because="TR-D81")
    assert t.a.may == ["pay 0", "pay 1", "pay 2"]
    t.a.does("pay 2")
    t.a.has(coins=5, components="wood*2 rope*1 mirror*1", ap=0)


@pytest.mark.rule("TR-D81", "TR-AD51")
def test_a_sale_is_limited_by_coins_room_and_three_of_a_type() -> None:
    t = acting("component_sale", "wood*2", buy="wood rope mirror fabric", coins=4)
    t.a.does("component wood")
    assert t.a.may_begin("component") == ["component rope", "component mirror", "component fabric"]
    t.a.does("component rope")
    assert t.a.may == ["pay 0", "component fabric"]
    t.a.does("component fabric", "pay 0")
    t.a.has(coins=0)


@pytest.mark.rule("TR-D81", "TR-083")
def test_bargain_never_takes_a_sale_down_to_nothing() -> None:
    t = acting("component_sale", kind="magician")
    t.a.does("component wood")
    t.a.cannot("pay 1", because="TR-D81")
    t.a.does("pay 0")


@pytest.mark.rule("TR-D82", "TR-AD51")
def test_smuggled_goods_cost_fame() -> None:
    t = acting("smuggled_goods", kind="engineer", buy="mirror wood metal glass", fame=4, coins=0)
    t.a.cannot("buy mirror 2", because="TR-D12")
    t.a.does("buy mirror 2 bargain 1")
    t.a.has(fame=0, coins=0, components="mirror*2", ap=0)


@pytest.mark.rule("TR-D83", "TR-AD51")
def test_a_shard_buys_components_worth_four() -> None:
    t = acting("barter_with_power", buy="mirror wood rope glass", shards=1, coins=0)
    t.a.does("component mirror")
    assert t.a.may == ["decline", "component wood", "component glass"]
    t.a.does("component wood")
    t.a.has(components="wood*1 mirror*1", shards=0, coins=0, ap=0)
    assert t.asked != {"a": "barter"}


@pytest.mark.rule("TR-D83", "TR-AD51", "TR-D111")
def test_a_barter_goes_by_current_prices_and_may_end_early() -> None:
    t = acting("barter_with_power", buy="mirror wood rope glass", shards=1, prophecies="p21 / p23 p17 p13 / p10")
    t.a.does("component mirror", "component mirror")
    t.a.has(components="mirror*2")
    t = acting("barter_with_power", shards=1)
    t.a.does("component wood", "decline")
    t.a.has(components="wood*1", shards=0)
    t = acting("barter_with_power", armed=False)
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D84", "TR-AD52")
@pytest.mark.parametrize(("command", "coins", "fame"), [("buy wood 1", 9, 5), ("buy mirror 2 bargain 1", 5, 9)])
def test_an_exhibition_brings_fame_for_coins_paid(command: str, coins: int, fame: int) -> None:
    t = acting("workshop_exhibition", kind="engineer", buy="mirror wood metal glass")
    t.a.does(command)
    t.a.has(coins=coins, fame=fame)


@pytest.mark.rule("TR-D85", "TR-AD53")
def test_shoplifting_takes_one_from_the_stock_itself() -> None:
    t = acting("shoplifting", buy="mirror wood metal glass", coins=3)
    t.a.does("buy mirror 2")
    assert t.a.may == ["component wood", "component glass", "component metal", "component fabric"]
    t.a.does("component fabric")
    t.a.has(coins=0, components="mirror*2", ap=0)
    t.has(buy="fabric wood metal glass")


@pytest.mark.rule("TR-D85", "TR-AD53")
def test_shoplifting_a_single_one_costs_nothing_and_serves_the_quick_order_slot() -> None:
    t = acting("shoplifting", quick="cog", coins=0)
    t.a.does("buy cog 1", "component wood")
    t.a.has(coins=0, components="cog*1")
    t.has(quick="wood")


@pytest.mark.rule("TR-D85", "TR-AD53", "TR-D94")
def test_nobody_lifts_from_the_order_area() -> None:
    t = acting("shoplifting", order="- cog - -", prophecies="p04 / p23 p17 p13 / p10", kind="engineer")
    t.a.cannot("buy cog 1", because="TR-D12")


@pytest.mark.rule("TR-D86", "TR-AD54")
def test_logistics_bring_a_type_into_stock_for_this_turn() -> None:
    t = acting("logistics", kind="engineer", order="cog mirror saw animal")
    assert "stock cog" in t.a.may and "stock wood" not in t.a.may
    t.a.does("stock cog", "buy cog 1")
    t.a.has(components="cog*1", coins=7, ap=0)
    assert t.hall.alley is not None and t.hall.alley.in_stock == [wire.Component.COG]
    t.begins("advertise")
    assert t.hall.alley.in_stock == []
    t.has(buy="cog mirror saw animal")


@pytest.mark.rule("TR-D87", "TR-AD54")
def test_merchants_sell_each_ordered_component_once() -> None:
    t = acting("traveling_merchants", kind="engineer", armed=False, coins=5)
    t.a.does("order cog 0")
    assert t.a.may == ["decline", "component cog"]
    t.a.does("component cog", "order mirror 1")
    assert t.asked != {"a": "merchants"}  # too few coins
    t.a.has(coins=1, components="cog*1", ap=0)
    t.has(order="cog mirror - -")


@pytest.mark.rule("TR-D87", "TR-AD54")
def test_merchants_go_on_for_any_number_of_orders() -> None:
    t = acting("traveling_merchants", kind="engineer", armed=False)
    t.a.does("order cog 0", "decline", "order rope 1", "component rope")
    t.a.has(coins=7, components="rope*1")


@pytest.mark.rule("TR-D88", "TR-AD55")
@pytest.mark.parametrize(("components", "gained"), [("", "cog*1"), ("cog*3", "cog*3")])
def test_dubious_sources_bring_what_lies_on_the_quick_order_slot(components: str, gained: str) -> None:
    t = acting("dubious_sources", components, kind="engineer")
    t.a.does("quick_order cog")
    t.a.has(components=components)
    t.begins("advertise")
    t.a.has(components=gained)
    t.has(quick="-")


@pytest.mark.rule("TR-D88", "TR-AD55")
def test_dubious_sources_bring_what_lies_there_last() -> None:
    b = seat("engineer:market_row")
    t = acting("dubious_sources", kind="engineer", b=b)
    t.a.does("quick_order cog")
    t.b.does("place engineer market_row_1", "quick_order saw", "end")
    t.begins("advertise")
    t.a.has(components="saw*1")
    t.b.has(components="")


@pytest.mark.rule("TR-D89", "TR-AD56")
def test_a_business_share_receives_what_opponents_pay() -> None:
    b = seat("apprentice:market_row")
    t = place(a=seat("apprentice:business_share", shards=0), b=b, options=ALLEY)
    t.a.does("place apprentice market_row_4", "keep", "buy wood 1")
    t.a.has(coins=9)
    t.b.does("place apprentice market_row_1", "buy wood 2", "buy glass 1")
    t.b.has(coins=7)
    t.a.has(coins=12)


@pytest.mark.rule("TR-AD56", "TR-D89", "TR-D108", "TR-AD18")
@pytest.mark.parametrize(("ruling", "coins"), [("true", 13), ("false", 10)])
def test_whether_the_fee_of_prophecy_18_is_shared(ruling: str, coins: int) -> None:
    t = place(
        a=seat("apprentice:business_share", shards=0),
        b=seat("apprentice:market_row"),
        options=ALLEY,
        prophecies="p18 / p23 p17 p13 / p10",
        rulings={"business_share_slot_fee": ruling},
    )
    t.a.does("place apprentice market_row_4", "keep", "end")
    t.b.does("place apprentice market_row_1")
    t.b.has(coins=7)
    t.a.has(coins=coins)


@pytest.mark.rule("TR-AD56", "TR-D89", "TR-D30")
def test_of_two_holders_the_earlier_one_who_is_not_the_payer_receives() -> None:
    t = place(
        a=seat("apprentice:business_share magician:market_row", shards=0),
        b=seat("apprentice:market_row", magician="great_optico"),
        c=seat("apprentice:market_row"),
        options=ALLEY,
        players=4,
        d=seat(),
    )
    t.a.does("place apprentice market_row_4", "keep", "end")
    t.b.does("place apprentice market_row_2", "copy a apprentice_1", "keep", "buy wood 1", "end")
    t.a.has(coins=11)
    t.c.does("place apprentice market_row_3", "buy wood 1", "end")
    t.a.has(coins=12)
    t.a.does("place magician market_row_1", "buy wood 1")
    t.a.has(coins=11)
    t.b.has(coins=10)


@pytest.mark.rule("TR-D90", "TR-AD57")
def test_a_delivery_sells_own_types_cheaper() -> None:
    t = acting("workshop_delivery", "cog*1 fabric*1", kind="engineer", buy="wood metal glass wood", coins=4)
    assert {words.split()[1] for words in t.a.may_begin("buy")} == {"cog", "fabric"}
    t.a.does("buy cog 2")
    t.a.has(coins=0, components="fabric*1 cog*3", ap=1)


@pytest.mark.rule("TR-D90", "TR-AD57")
def test_a_delivery_may_cost_nothing_without_bargain() -> None:
    t = acting("workshop_delivery", "wood*1", kind="engineer", coins=0)
    assert t.a.may_begin("buy") == ["buy wood 1", "buy wood 2"]
    t.a.does("buy wood 2")
    t.a.has(coins=0, components="wood*3")

"""Rules of the Market Row and of Components."""

import pytest

from tests.games.trickerion.script import Script, place, seat

SIX = "wood*1 glass*1 metal*1 fabric*1 rope*1 saw*1"


def market(components: str = "", *, team: str = "magician:market_row", slot: int = 1, **told: object) -> Script:
    """Seat a's magician stands at the Market Row; on slot 1 with 5 action points, on 4 with 3."""
    table = {name: told.pop(name) for name in ("buy", "order", "quick", "rulings") if name in told}
    t = place(a=seat(team, components=components, **told), **table)
    t.a.does(f"place magician market_row_{slot}")
    return t


@pytest.mark.rule("TR-073", "TR-074", "TR-076", "TR-A48")
@pytest.mark.parametrize(("kind", "price"), [("wood", 1), ("rope", 2), ("cog", 3)])
def test_buying(kind: str, price: int) -> None:
    t = market(buy=f"metal {kind} glass fabric")
    t.a.does(f"buy {kind} 3")
    t.a.has(components=f"{kind}*3", coins=10 - 3 * price, ap=4)
    t.has(buy=f"metal {kind} glass fabric")
    t.a.cannot(f"buy {kind} 4")
    t.a.cannot(f"buy {kind} 0")


@pytest.mark.rule("TR-074")
def test_buying_without_the_coins() -> None:
    t = market(coins=3, buy="wood cog glass fabric")
    t.a.cannot("buy cog 2", because="TR-074")
    t.a.does("buy cog 1")
    t.a.has(coins=0)
    t.a.cannot("buy wood 1", because="TR-074")


@pytest.mark.rule("TR-075", "TR-085")
def test_only_what_is_in_stock_is_sold() -> None:
    t = market(order="- mirror - -")
    assert {words.split()[1] for words in t.a.may_begin("buy")} == {"wood", "metal", "glass", "fabric"}
    for kind in ("mirror", "cog"):
        t.a.cannot(f"buy {kind} 1", because="TR-075")


@pytest.mark.rule("TR-077")
def test_each_type_needs_a_slot() -> None:
    t = market(SIX, buy="wood cog glass animal")
    t.a.cannot("buy cog 1", because="TR-077")
    t.a.does("buy wood 1", "return saw 1", "buy cog 1")
    t.a.has(components="wood*2 glass*1 metal*1 fabric*1 rope*1 cog*1")


@pytest.mark.rule("TR-077", "TR-A43")
def test_a_new_type_on_a_manager_slot() -> None:
    team = "magician:market_row manager"
    t = market("wood*1", team=team)
    t.a.does("buy metal 2 manager")
    t.a.has(components="wood*1 metal*2!")
    t.a.cannot("buy wood 1 manager")
    t.a.does("buy wood 1")
    t.a.has(components="wood*2 metal*2!")
    t = market("wood*1", team=team, rulings={"extension_slots": "normal_first"})
    t.a.cannot("buy metal 2 manager", because="TR-A43")
    t = market(SIX, team=team, buy="cog animal glass fabric", rulings={"extension_slots": "normal_first"})
    t.a.does("buy animal 1 manager")
    t.a.has(components="wood*1 glass*1 metal*1 fabric*1 rope*1 saw*1 animal*1!")
    t = market()
    t.a.cannot("buy metal 1 manager")


@pytest.mark.rule("TR-078", "TR-081", "TR-A12")
@pytest.mark.parametrize(("ruling", "most"), [("effective", 2), ("physical", 3)])
def test_the_limit_of_a_manager_slot(ruling: str, most: int) -> None:
    t = market(team="magician:market_row manager", rulings={"manager_limit": ruling})
    amounts = {words.split()[2] for words in t.a.may_begin("buy glass") if words.endswith("manager")}
    assert amounts == {str(n) for n in range(1, most + 1)}
    t.a.does(f"buy glass {most} manager")
    t.a.cannot("buy glass 1", because="TR-081")


@pytest.mark.rule("TR-A12", "TR-080")
def test_three_on_a_manager_slot_count_three() -> None:
    told = seat("engineer:workshop manager", "card_manipulation", "fabric*3! wood*3")
    t = place(a=told, rulings={"manager_limit": "physical"})
    t.a.does("place engineer workshop_1", "prepare card_manipulation")
    assert t.a.markers("card_manipulation") == 2


@pytest.mark.rule("TR-079")
def test_components_go_back() -> None:
    t = market("wood*3 glass*1!", team="magician:market_row manager")
    t.a.does("return wood 2", "return glass 1")
    t.a.has(components="wood*1", ap=5)
    t.a.does("buy glass 1")
    t.a.has(components="wood*1 glass*1")


@pytest.mark.rule("TR-082", "TR-083")
def test_bargaining() -> None:
    t = market(coins=3)
    t.a.does("buy wood 3 bargain 2")
    t.a.has(coins=2, ap=2, components="wood*3")
    t = market(coins=3)
    t.a.cannot("buy wood 3 bargain 3", because="TR-083")
    t.a.cannot("buy wood 3 bargain 5", because="TR-073")
    t = market(coins=9, slot=4, buy="cog metal glass fabric")
    t.a.cannot("buy cog 3 bargain 3", because="TR-073")
    t.a.does("buy cog 3 bargain 2")
    t.a.has(coins=2, components="cog*3")


@pytest.mark.rule("TR-084", "TR-C5")
def test_ordering() -> None:
    t = market()
    t.a.does("order wood 0", "order cog 3")
    t.has(order="wood - - cog")
    t.a.has(coins=10, ap=3)
    t = market(rulings={"order_excludes_buy_area": "true"})
    t.a.cannot("order wood 0", because="TR-C5")
    t.a.does("order cog 0")
    t = market(order="rope saw cog mirror")
    assert not t.a.may_begin("order")


@pytest.mark.rule("TR-086", "TR-A38", "TR-A39")
def test_quick_orders() -> None:
    t = market(quick="rope")
    t.a.cannot("quick_order rope", because="TR-A38")
    t.a.does("quick_order saw")
    t.has(quick="saw")
    t.a.has(ap=3, coins=10)
    t.a.does("quick_order wood")
    t.has(quick="wood")
    t = market(order="mirror - - -")
    t.a.does("quick_order mirror")


@pytest.mark.rule("TR-088", "TR-A11")
def test_prices_of_the_quick_order_slot() -> None:
    t = market(quick="rope")
    t.a.does("buy rope 2")
    t.a.has(coins=4)
    t = market(quick="wood")
    t.a.does("buy wood 2")
    t.a.has(coins=8)


@pytest.mark.rule("TR-087")
def test_what_another_player_ordered_is_stock() -> None:
    t = place(a=seat("magician:market_row"), b=seat("magician:market_row"))
    t.a.does("place magician market_row_1", "quick_order cog", "end")
    t.b.does("place magician market_row_4", "buy cog 2")
    t.b.has(coins=2, components="cog*2")

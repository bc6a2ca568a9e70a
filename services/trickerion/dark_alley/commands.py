"""Commands of the Dark Alley, each made once (see the base game's commands.py)."""

from functools import cache

from guildhall.trickerion.v1 import structs as wire

KEEP_BONUS = wire.KeepBonus()
TAKE_ACTION_POINT = wire.TakeActionPoint()
USE_BONUS = wire.UseBonus()
USE_ABILITY = wire.UseAbility()
HIRE_SECOND = wire.HireSecond()
TELL_FORTUNE = wire.TellFortune()

copy_special = cache(wire.CopySpecial)
draw_cards = cache(wire.DrawCards)
put_under = cache(wire.PutUnder)
weave_fate = cache(wire.WeaveFate)
set_up_pile = cache(wire.SetUpPile)
invite_guest = cache(wire.InviteGuest)
invite_pile = cache(wire.InvitePile)
swap_cards = cache(wire.SwapCards)
perform_in_street = cache(wire.PerformInStreet)
choose_trick = cache(wire.ChooseTrick)
choose_premiere = cache(wire.ChoosePremiere)
steal_yield = cache(wire.StealYield)
possess = cache(wire.Possess)
choose_component = cache(wire.ChooseComponent)
pay_for_sale = cache(wire.PayForSale)
give_card = cache(wire.GiveCard)
headhunt = cache(wire.Headhunt)
order_into_stock = cache(wire.OrderIntoStock)
order_modifiers = cache(wire.OrderModifiers)

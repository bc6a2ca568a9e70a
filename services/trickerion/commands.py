"""Commands, each made once: listings ask for the same ones over and over. All domains are small."""

from functools import cache

from guildhall.trickerion.v1 import structs as wire

ADVERTISE = wire.Advertise()
DECLINE = wire.Decline()
ENHANCE = wire.Enhance()
END_PLACEMENT = wire.EndPlacement()

choose_magician = cache(wire.ChooseMagician)
pick_trick = cache(wire.PickTrick)
pick_specialist = cache(wire.PickSpecialist)
place = cache(wire.Place)
make_idle = cache(wire.MakeIdle)
return_components = cache(wire.ReturnComponents)
return_trick = cache(wire.ReturnTrick)
learn_trick = cache(wire.LearnTrick)
choose_trick_slot = cache(wire.ChooseTrickSlot)
choose_symbol = cache(wire.ChooseSymbol)
hire = cache(wire.Hire)
take_coins = cache(wire.TakeCoins)
reroll_die = cache(wire.RerollDie)
set_die = cache(wire.SetDie)
buy = cache(wire.Buy)
order = cache(wire.Order)
quick_order = cache(wire.QuickOrder)
prepare = cache(wire.Prepare)
move_trick = cache(wire.MoveTrick)
move_components = cache(wire.MoveComponents)
move_apprentice = cache(wire.MoveApprentice)
set_up_trick = cache(wire.SetUpTrick)
reschedule = cache(wire.Reschedule)
move_marker = cache(wire.MoveMarker)
take_link_bonus = cache(wire.TakeLinkBonus)
perform = cache(wire.Perform)
house_apprentice = cache(wire.HouseApprentice)

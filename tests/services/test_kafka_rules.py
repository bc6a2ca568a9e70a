"""Several rules processes of one game on a real broker: any of them takes any request."""

from pathlib import Path
from random import Random
from typing import Any

import grpc

from guildhall.rpc.forwarding import FORWARDED
from tests.kafka_broker import Broker
from tests.kernel.tiny.build import structs as t
from tests.services.hall import Client, failure
from tests.services.rules_process import owner_of, owners, replicas, rules_processes, until_spread

CODE = grpc.StatusCode


async def test_any_process_takes_any_request(broker: Broker, tmp_path: Path) -> None:
    """Partitions are spread; what is legal, refusals and retries are the same wherever one asks."""
    random = Random(1)
    async with rules_processes(broker.bootstrap, tmp_path, 3) as processes:
        await until_spread(broker.bootstrap, processes)
        assert len(await owners(broker.bootstrap)) == 12
        async with replicas(processes, tmp_path, random, broker.bootstrap) as game:
            steps = [step for _ in range(7) if (step := await game.step()) is not None]

            for step in steps:
                for port in game.ports:
                    fields = {"command_id": step.command_id, "decision_id": step.decision_id, "command": step.command}
                    assert await game.at(port, step.seat).submit(game.game_id, **fields) == step.version

            async def told(port: int) -> list[Any]:
                client = game.at(port)
                return [
                    await client.legal(game.game_id),
                    await failure(client.submit(game.game_id, "1.0", t.Bid(0))),
                    await failure(client.submit(game.game_id, "1.1", t.Bid(0))),
                    await failure(client.submit("x" * 26, "1.0", t.Bid(0))),
                    await failure(client.call("SubmitCommand", game_id=game.game_id, command_id="c", decision_id="?")),
                ]

            first, *rest = [await told(port) for port in game.ports]
            assert all(each == first for each in rest)
            assert [reason for reason, *_ in first[1:]] == [
                "STALE_DECISION",
                "NOT_YOUR_SEAT",
                "GAME_NOT_FOUND",
                "INVALID_DECISION_ID",
            ]


async def test_a_play_stream_is_passed_on_from_where_it_names_its_game(broker: Broker, tmp_path: Path) -> None:
    from guildhall.tiny.v1.rules_service_pb2 import PlayResponse  # generated when the tiny game is imported

    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(2), broker.bootstrap) as game,
    ):
        await until_spread(broker.bootstrap, processes)
        owner = await owner_of(broker.bootstrap, game.game_id, processes)
        [other] = [process for process in processes if process is not owner]
        for process, elsewhere in ((owner, other), (other, owner)):
            client = game.at(process.port)
            call = client.channel.stream_stream(client.path("Play"))(metadata=client.metadata)

            async def play(command_id: str, bid: int, game_id: str = "", decision: str = "1.0", to: Any = call) -> Any:
                await to.write(t.encode_PlayRequest(t.PlayRequest(game_id, command_id, decision, t.Bid(bid))))
                return PlayResponse.FromString(await to.read())

            name = str(process.port)
            # A message without a game is refused by whoever reads it; the stream goes on.
            assert b"MALFORMED_MESSAGE" in (await play(f"{name}-0", 1)).error.SerializeToString()
            first = await play(f"{name}-1", 1, game.game_id)
            second = await play(f"{name}-2", 0)
            assert first.version and second.version == first.version + 1
            assert b"STALE_DECISION" in (await play(f"{name}-3", 0, decision="9.0")).error.SerializeToString()
            # The first answer again, through the other process.
            again = game.at(elsewhere.port).submit(game.game_id, "1.0", t.Bid(1), command_id=f"{name}-1")
            assert await again == first.version
            await call.done_writing()
            assert await call.code() == CODE.OK


async def test_a_request_is_passed_on_once(broker: Broker, tmp_path: Path) -> None:
    """One that was passed on is answered or refused, with what the non-owner knows."""
    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(3), broker.bootstrap) as game,
    ):
        await until_spread(broker.bootstrap, processes)
        owner = await owner_of(broker.bootstrap, game.game_id, processes)
        [other] = [process for process in processes if process is not owner]
        for method in ("ListLegalCommands", "SubmitCommand"):
            reason, code, metadata = await failure(passed_on(game.at(other.port), method, game.game_id))
            assert (reason, code) == ("NOT_OWNER", CODE.UNAVAILABLE)
            assert metadata == {"owner": f"127.0.0.1:{owner.port}"}
        assert await passed_on(game.at(owner.port), "ListLegalCommands", game.game_id)


async def passed_on(client: Client, method: str, game_id: str) -> bytes:
    """Asks as another process would."""
    fields: dict[str, Any] = {"game_id": game_id}
    if method == "SubmitCommand":
        fields |= {"command_id": "c", "decision_id": "1.0", "command": t.Bid(0)}
    request = getattr(client.wire, f"{method}Request")(**fields)
    data = getattr(client.wire, f"encode_{method}Request")(request)
    metadata = (*client.metadata, (FORWARDED, "1"))
    answer: bytes = await client.channel.unary_unary(client.path(method))(data, metadata=metadata, timeout=20.0)
    return answer


async def test_strangers_are_strangers_everywhere(broker: Broker, tmp_path: Path) -> None:
    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(4), broker.bootstrap) as game,
    ):
        await until_spread(broker.bootstrap, processes)
        for port in game.ports:
            async with Client(port, tmp_path, "mallory", ("play",)) as mallory:
                assert (await failure(mallory.legal(game.game_id)))[0] == "GAME_NOT_FOUND"
                assert (await failure(mallory.submit(game.game_id, "1.0", t.Bid(0))))[0] == "GAME_NOT_FOUND"
            async with Client(port, tmp_path, "alice", ("spectate",)) as unarmed:
                assert (await failure(unarmed.legal(game.game_id)))[0] == "MISSING_SCOPE"

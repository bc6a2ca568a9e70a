"""What any gRPC client may expect of a hall: health, reflection, services that are the same for every game."""

from pathlib import Path

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from guildhall.host.messages import Messages
from services.arcane_alley.rules import RULES as ARCANE_ALLEY
from tests.contract.grpcurl import reflected
from tests.kernel.tiny.game import RULES
from tests.services.hall import hall

SERVICES = ("guildhall.tiny.v1.RulesService", "guildhall.tiny.v1.ViewService")


async def test_health_answers_for_each_service(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", *SERVICES):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_and_describes(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        [answer] = [answer async for answer in stub.ServerReflectionInfo(iter([asked]))]
        names = {service.name for service in answer.list_services_response.service}
        assert names >= {*SERVICES, "grpc.health.v1.Health"}
        described = await reflected(channel, SERVICES[0])
        assert "SubmitCommand" in described.methods_by_name


def shape(service: ServiceDescriptor, game: str) -> list[tuple[str, ...]]:
    """Methods with their messages' fields, whatever the game."""
    found = []
    for method in service.methods:
        for message in (method.input_type, method.output_type):
            for field in message.fields:
                of = field.message_type.full_name if field.message_type else str(field.type)
                found.append((method.name, message.name, field.name, str(field.number), of.replace(game, "GAME")))
    return found


def test_services_are_the_same_for_every_game() -> None:
    tiny, real = Messages(RULES), Messages(ARCANE_ALLEY)
    assert shape(tiny.rules_service, "tiny") == shape(real.rules_service, "arcane_alley")
    assert shape(tiny.view_service, "tiny") == shape(real.view_service, "arcane_alley")

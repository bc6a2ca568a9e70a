"""Whether another instance is there: it answers for its instance id in its health."""

import grpc
from grpc_health.v1 import health_pb2


async def alive(address: str, instance: str, seconds: float) -> bool:
    """Whether the process that listens at this address is that instance, and is not about to stop."""
    async with grpc.aio.insecure_channel(address) as channel:
        check: grpc.aio.UnaryUnaryMultiCallable[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(health_pb2.HealthCheckRequest(service=instance), timeout=seconds)
        except grpc.aio.AioRpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

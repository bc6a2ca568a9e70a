"""The grpcurl commands of docs/clients.md: with grpcurl where it is installed, else by a stand-in.

The stand-in takes the same arguments and, like grpcurl, knows nothing but what reflection tells.
"""

import asyncio
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from guildhall.rpc.errors import error_info


@dataclass(frozen=True)
class Ran:
    """What a command printed (JSON messages), or the reason of its failure."""

    messages: list[Any]
    failure: str


async def run(command: str, variables: dict[str, str]) -> Ran:
    """Run one command line; `$NAME` stands for a variable."""
    if shutil.which("grpcurl"):
        return await _with_grpcurl(command, variables)
    words = [word for word in shlex.split(command.replace("\\\n", " ")) if word]
    for name, value in variables.items():
        words = [word.replace(f"${name}", value) for word in words]
    assert words.pop(0) == "grpcurl"
    headers: list[tuple[str, str]] = []
    body, seconds, rest = "{}", 20.0, []
    while words:
        match words.pop(0):
            case "-plaintext":
                pass
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                headers.append((name, value))
            case "-d":
                body = words.pop(0)
            case "-max-time":
                seconds = float(words.pop(0))
            case word:
                rest.append(word)
    address, method = rest
    return await _call(address, method, headers, body, seconds)


async def _with_grpcurl(command: str, variables: dict[str, str]) -> Ran:
    process = await asyncio.create_subprocess_shell(
        command,
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    messages, decoder, text = [], json.JSONDecoder(), out.decode().lstrip()
    while text:
        message, end = decoder.raw_decode(text)
        messages.append(message)
        text = text[end:].lstrip()
    reason = ""
    if b'"reason":' in err:
        reason = err.decode().split('"reason":')[1].split('"')[1]
    elif process.returncode and "DeadlineExceeded" not in err.decode():
        reason = err.decode()
    return Ran(messages, reason)


async def _call(address: str, path: str, headers: list[tuple[str, str]], body: str, seconds: float) -> Ran:
    service_name, _, method_name = path.partition("/")
    async with grpc.aio.insecure_channel(address) as channel:
        service = await reflected(channel, service_name)
        method: MethodDescriptor = service.methods_by_name[method_name]
        request = json_format.Parse(body, message_factory.GetMessageClass(method.input_type)())
        parse = message_factory.GetMessageClass(method.output_type).FromString
        messages: list[Any] = []
        try:
            if method.server_streaming:
                stream = channel.unary_stream(f"/{path}", response_deserializer=parse)
                async for message in stream(request.SerializeToString(), metadata=headers, timeout=seconds):
                    messages.append(json_format.MessageToDict(message, preserving_proto_field_name=True))
            else:
                unary = channel.unary_unary(f"/{path}", response_deserializer=parse)
                answer = await unary(request.SerializeToString(), metadata=headers, timeout=seconds)
                messages.append(json_format.MessageToDict(answer, preserving_proto_field_name=True))
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            if info is not None or error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                return Ran(messages, info.reason if info is not None else str(error))
        return Ran(messages, "")


async def reflected(channel: grpc.aio.Channel, service: str) -> ServiceDescriptor:
    """The service as the server's reflection describes it."""
    pool = descriptor_pool.DescriptorPool()
    files: dict[str, FileDescriptorProto] = {}
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[no-untyped-call]  # generated
    ask = reflection_pb2.ServerReflectionRequest
    pending = [ask(file_containing_symbol=service)]
    while pending:
        async for answer in stub.ServerReflectionInfo(iter(pending)):
            for data in answer.file_descriptor_response.file_descriptor_proto:
                file = FileDescriptorProto.FromString(data)
                files[file.name] = file
        missing = {name for file in files.values() for name in file.dependency} - files.keys()
        pending = [ask(file_by_filename=name) for name in sorted(missing)]

    def add(name: str) -> None:
        for dependency in files[name].dependency:
            add(dependency)
        pool.Add(files[name])

    for name in files:
        add(name)
    return pool.FindServiceByName(service)

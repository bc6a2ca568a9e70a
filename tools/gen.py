"""Generates gen/ from proto/: protobuf modules, one descriptor set, and the frozen Structs that rules see.

Everything is made in a temporary directory first and then laid over gen/, file by file and only where something
changed, so that a program running from gen/ never finds it half made.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import google.rpc.status_pb2

ROOT = Path(__file__).resolve().parent.parent
COMMON_PROTOS = Path(google.rpc.status_pb2.__file__).parents[2]
"""The import path of google/rpc/*.proto, which googleapis-common-protos installs beside its modules."""


def protoc(proto: Path, *options: str) -> None:
    """Run protoc over every .proto file below `proto`. Raises CalledProcessError for a fault, which it has printed."""
    files = sorted(str(path.relative_to(proto)) for path in proto.rglob("*.proto"))
    if not files:
        raise SystemExit(f"no .proto file in {proto}")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={proto}", f"--proto_path={COMMON_PROTOS}"]
    subprocess.run([*command, *options, *files], check=True)


def descriptors(proto: Path, image: Path) -> None:
    """Write to `image` the FileDescriptorSet of all below `proto`, with its imports and the comments of the source."""
    protoc(proto, f"--descriptor_set_out={image}", "--include_imports", "--include_source_info")


def lay(source: Path, target: Path) -> None:
    """Make the files below `target` those below `source`; equal ones keep their time, and foreign ones go."""
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    for name in sorted(wanted):
        new, old = source / name, target / name
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            beside = old.with_name(f"{old.name}.{os.getpid()}.new")
            shutil.copyfile(new, beside)
            beside.replace(old)
    for path in sorted(target.rglob("*"), reverse=True):
        if path.is_file() and path.suffix != ".pyc" and path.relative_to(target) not in wanted:
            path.unlink()


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory)
        protoc(ROOT / "proto", f"--python_out={made}", f"--pyi_out={made}")
        descriptors(ROOT / "proto", made / "guildhall.binpb")
        structgen = [sys.executable, str(ROOT / "tools" / "structgen.py")]
        subprocess.run([*structgen, str(made / "guildhall.binpb"), str(made)], check=True)
        lay(made, ROOT / "gen")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)

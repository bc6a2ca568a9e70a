"""Where a process of the hall listens: its server, and what every request passes on its way in."""

from dataclasses import dataclass, field
from pathlib import Path

from guildhall.rpc.identity import KEY_FILE, Authenticator, FixedKeys, Keys, bots_key, key_id, own_key
from guildhall.rpc.limits import Limits, Meter
from guildhall.rpc.server import Gate, Server
from guildhall.telemetry import logs, metrics

_log = logs.get("door")


@dataclass(frozen=True, kw_only=True)
class DoorConfig:
    """Of every process of the hall. `port` 0 takes any free one; `keys` None trusts the hall's own key alone."""

    data: Path
    """Directory of the hall's key."""
    one_of_several: bool = False
    """Whether there are other processes of the hall. Then all need the same key; a start waits for a log that can't be
    reached, and ends before anything is claimed; a hall that is alone fails where that fails.
    """
    address: str = "127.0.0.1"
    port: int = 50051
    metrics_port: int | None = None
    keys: Keys | None = None
    limits: Limits = field(default_factory=Limits)
    drain_seconds: float = 5.0


class Door:
    """The server and its gate; `bind` takes the port."""

    def __init__(self, config: DoorConfig) -> None:
        """Raises OSError or ValueError for the directory or its key."""
        config.data.mkdir(parents=True, exist_ok=True)
        path = config.data / KEY_FILE
        made = not path.exists()
        self.key = own_key(config.data)
        if made and config.one_of_several:
            _log.warning("made a key of its own: all processes of a hall need the same one", file=str(path))
        self.config = config
        self.key_id = key_id(self.key.public_key())
        self.meter = Meter(config.limits)
        keys = config.keys or FixedKeys({self.key_id: self.key.public_key()})
        bots = bots_key(self.key).public_key()
        self.gate = Gate(Authenticator(keys, self.key.public_key(), bots), self.meter)
        self.server = Server()
        if config.metrics_port is not None:
            metrics.serve(config.metrics_port, config.address)

    def bind(self) -> int:
        """The port that is taken. Raises PortTaken."""
        return self.server.bind(self.config.address, self.config.port)

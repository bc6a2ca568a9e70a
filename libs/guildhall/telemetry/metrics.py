"""Every metric of the hall: one typed list (design section 8). Dashboards and alerts name nothing else."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

REGISTRY = CollectorRegistry()

_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

REQUESTS = Counter(
    "guildhall_requests",
    "Requests answered, by method and reason (OK: answered).",
    ["method", "reason"],
    registry=REGISTRY,
)
COMMANDS = Counter(
    "guildhall_commands",
    "Commands judged, by game and result (accepted, or the reason of the refusal).",
    ["game", "result"],
    registry=REGISTRY,
)
DECIDE_SECONDS = Histogram(
    "guildhall_decide_seconds",
    "Time that the rules took for an accepted command.",
    ["game"],
    buckets=(0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1),
    registry=REGISTRY,
)
APPEND_SECONDS = Histogram(
    "guildhall_append_seconds",
    "Time from a decided command to its acknowledged record.",
    ["game"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
APPENDED_TOGETHER = Histogram(
    "guildhall_appended_together",
    "Records of one group commit.",
    ["topic"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "guildhall_request_seconds",
    "Time from a unary request to its answer.",
    ["method"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
VOID_RECORDS = Counter(
    "guildhall_void_records", "Records that did not count, by why.", ["game", "why"], registry=REGISTRY
)
CLAIMS = Counter("guildhall_claims", "Claims folded, by whose they were.", ["game", "whose"], registry=REGISTRY)
PARTITIONS = Gauge(
    "guildhall_partitions",
    "Whether this process serves the partition (1), or only was to do so (0).",
    ["game", "partition"],
    registry=REGISTRY,
)
ASSIGNMENTS = Counter(
    "guildhall_assignments",
    "Partitions that this process was told to own (assigned) or to leave to others (revoked).",
    ["game", "change"],
    registry=REGISTRY,
)
STAND_DOWNS = Counter(
    "guildhall_stand_downs",
    "Partitions that were to be owned here, and that another process has claimed.",
    ["game"],
    registry=REGISTRY,
)
FORWARDED = Counter(
    "guildhall_forwarded",
    "Requests and streams that were passed on to the owner, by method and reason (OK: answered).",
    ["method", "reason"],
    registry=REGISTRY,
)
FOLDED = Counter(
    "guildhall_folded_records", "Records folded that this process did not decide.", ["game"], registry=REGISTRY
)
READY_SECONDS = Gauge("guildhall_ready_seconds", "Time that the start took, until ready.", ["game"], registry=REGISTRY)
GAMES = Gauge("guildhall_games", "Games in memory.", ["game"], registry=REGISTRY)
QUARANTINED = Gauge("guildhall_quarantined_games", "Games whose records cannot be folded.", ["game"], registry=REGISTRY)
QUARANTINED_POOLS = Gauge(
    "guildhall_quarantined_pools",
    "Pools of matchmaking whose records cannot be folded, served here.",
    ["game"],
    registry=REGISTRY,
)
RULES_FAILURES = Counter(
    "guildhall_rules_failures",
    "Commands that failed unexpectedly in the rules; each is an alarm.",
    ["game"],
    registry=REGISTRY,
)
STUCK = Gauge(
    "guildhall_stuck_games",
    "Games that nobody can bring forward, though they are neither over, nor paused, nor quarantined.",
    ["game"],
    registry=REGISTRY,
)
PAUSED = Gauge("guildhall_paused_games", "Games that an operator has paused.", ["game"], registry=REGISTRY)
OPERATIONS = Counter(
    "guildhall_operations", "What operators did: abort, pause, resume, repair, drain.", ["operation"], registry=REGISTRY
)
DAMAGED_RECORDS = Counter(
    "guildhall_damaged_records",
    "Records of the log that cannot be read, by what they are of (game, claim).",
    ["game", "of"],
    registry=REGISTRY,
)
UNREADABLE_STATES = Counter(
    "guildhall_unreadable_states",
    "Stored states that cannot be read (snapshot, checkpoint, marker): events are folded in their place.",
    ["topic"],
    registry=REGISTRY,
)
TIMEOUTS = Counter("guildhall_timeouts", "Decisions that the clock answered.", ["game"], registry=REGISTRY)
STREAMS = Gauge("guildhall_streams", "Open streams, by method.", ["method"], registry=REGISTRY)
SLOW_WATCHERS = Counter("guildhall_slow_watchers", "Watchers dropped for being slow.", ["game"], registry=REGISTRY)

GROUP_COMMANDS = Histogram(
    "guildhall_matchmaking_entry_commands",
    "Commands in one entry of a pool's log.",
    ["game"],
    buckets=(0, 1, 2, 5, 10, 20, 50, 100, 200),
    registry=REGISTRY,
)
WAITING_TICKETS = Gauge(
    "guildhall_matchmaking_waiting_tickets", "Tickets that wait for a match.", ["game"], registry=REGISTRY
)
UNMADE_SECONDS = Gauge(
    "guildhall_matchmaking_unmade_seconds",
    "Since everybody has confirmed the oldest game that is not in its log yet; 0: there is none.",
    ["game"],
    registry=REGISTRY,
)
GAMES_MADE = Counter(
    "guildhall_matchmaking_games_made",
    "Games that matchmaking asked for, by result (made, or the reason of the refusal).",
    ["game", "result"],
    registry=REGISTRY,
)
UNSTORED_ENTRIES = Gauge(
    "guildhall_matchmaking_unstored_entries",
    "Entries of a pool's log since its newest stored state: a start has to fold them.",
    ["game"],
    registry=REGISTRY,
)
SEATED_SECONDS = Histogram(
    "guildhall_matchmaking_seated_seconds",
    "Time from a ticket to the seat in its game.",
    ["game"],
    buckets=(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 7200),
    registry=REGISTRY,
)
TICKETS_ENDED = Counter(
    "guildhall_matchmaking_tickets_ended", "Tickets that ended, by how.", ["game", "outcome"], registry=REGISTRY
)
OFFERS_LAPSED = Counter(
    "guildhall_matchmaking_offers_lapsed", "Offers that came to nothing.", ["game"], registry=REGISTRY
)
CREATIONS_IN_DOUBT = Gauge(
    "guildhall_matchmaking_creations_in_doubt",
    "Games that were asked for, and of which it is not known yet whether they were made.",
    ["game"],
    registry=REGISTRY,
)
WRONG_CODES = Counter("guildhall_matchmaking_wrong_codes", "Codes that were nobody's.", ["game"], registry=REGISTRY)

PROJECTED = Counter("guildhall_projected_records", "Records folded into read models.", ["game"], registry=REGISTRY)
PROJECTION_RETRIES = Counter(
    "guildhall_projection_retries", "Times that a projection waited for log or Redis.", ["game"], registry=REGISTRY
)
PROJECTION_STOPPED = Gauge(
    "guildhall_projection_stopped_games", "Games (or pools) whose models stand still.", ["game"], registry=REGISTRY
)
UNREADABLE_MODELS = Counter(
    "guildhall_unreadable_models", "Stored models that could not be read.", ["game"], registry=REGISTRY
)
PROJECTION_FAILING = Gauge(
    "guildhall_projection_failing",
    "1 for a partition whose models cannot be brought forward, though log and Redis answer.",
    ["game", "partition"],
    registry=REGISTRY,
)
PROJECTION_LAG = Gauge(
    "guildhall_projection_lag_records", "Records in the log that the read models lack.", ["game"], registry=REGISTRY
)
PROJECTION_AGE = Gauge(
    "guildhall_projection_age_seconds",
    "Age of the oldest version that the read models lack; it grows where nobody can tell.",
    ["game"],
    registry=REGISTRY,
)


def begin_owner(game: str) -> None:
    """What alarms count of the owners of a game's partitions, or of matchmaking's, is there from the start, at 0: to
    `increase` and `rate` a first event is none where the series begins with it. So it is with the other two.
    """
    for of in ("game", "claim"):
        DAMAGED_RECORDS.labels(game, of)
    for kind in ("snapshot", "checkpoint", "marker"):
        UNREADABLE_STATES.labels(kind)
    RULES_FAILURES.labels(game)
    STAND_DOWNS.labels(game)


def begin_models(game: str) -> None:
    """What alarms count of those who write or read a game's models."""
    UNREADABLE_MODELS.labels(game)


def begin_method(method: str) -> None:
    """What alarms count of a method's failures."""
    for reason in ("LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "READ_MODELS_UNAVAILABLE", "VIEW_BEHIND"):
        REQUESTS.labels(method, reason)


def serve(port: int, address: str = "127.0.0.1") -> None:
    """Answer Prometheus on this port. Raises OSError where the port is taken."""
    start_http_server(port, addr=address, registry=REGISTRY)

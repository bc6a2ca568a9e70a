"""Structured logs: game, version, seat; never a secret (no seed, no token, no hand)."""

import logging
import sys
from typing import Any, Literal

import structlog

Format = Literal["console", "json"]


def configure(form: Format, level: int = logging.INFO) -> None:
    """Log lines go to standard error, for people (`console`) or for machines (`json`)."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Looked up for each line: standard error may be another one by then.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def said(error: BaseException) -> str:
    """What an error says; what it is, where it says nothing, as TimeoutError does."""
    return str(error) or repr(error)


def get(name: str) -> Any:
    """A logger whose lines carry the name of the part that wrote them."""
    return structlog.get_logger(part=name)

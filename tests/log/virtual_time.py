"""An event loop in virtual time: waiting costs nothing, and equal programs give equal schedules.

Code runs for an *actor*, such as a simulated process, or for nobody in particular. An actor can be held, as by SIGSTOP,
with its clock going on or stopped as well, and ended, as by SIGKILL: no step of it runs any more, no `finally` either.
"""

import asyncio
import contextlib
import contextvars
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

MOST_STEPS = 1_000_000
"""Of one run, unless told otherwise; more means that something goes round without end."""


class Actor:
    """Whose steps run, wait, or don't run any more. `behind`: seconds for which its clock has stood still."""

    def __init__(self) -> None:
        self.held = False
        self.ended = False
        self.behind = 0.0
        self.waiting: list[_Step] = []
        self._held_at = 0.0

    def hold(self, loop: "VirtualLoop") -> None:
        self.held, self._held_at = True, loop.now

    def release(self, loop: "VirtualLoop", clock_stood_still: bool) -> None:
        """Goes on with everything that came meanwhile, in its order."""
        if clock_stood_still:
            self.behind += loop.now - self._held_at
        self.held = False
        waiting, self.waiting = self.waiting, []
        loop.take(waiting)


_actor: contextvars.ContextVar[Actor | None] = contextvars.ContextVar("actor", default=None)


def context_of(actor: Actor | None) -> Context:
    """A context for that actor's tasks and callbacks; what they start is the actor's too."""
    context = Context()
    context.run(_actor.set, actor)
    return context


class _Step:
    """A callback that is due: now, or at `at` on its actor's clock. Serves as asyncio's handle."""

    __slots__ = ("actor", "args", "at", "callback", "context", "gone")

    def __init__(
        self, actor: Actor | None, at: float | None, callback: Callable[..., Any], args: Any, context: Context
    ) -> None:
        self.actor = actor
        self.at = at
        self.callback = callback
        self.args = args
        self.context = context
        self.gone = False

    def cancel(self) -> None:
        self.gone = True

    def cancelled(self) -> bool:
        return self.gone

    def when(self) -> float:
        assert self.at is not None
        return self.at


class VirtualLoop(asyncio.AbstractEventLoop):
    """What asyncio needs of a loop that does no I/O. `now` is the world's clock, from 0."""

    def __init__(self, most_steps: int) -> None:
        self.now = 0.0
        self.steps = 0
        self.most_steps = most_steps
        self.failures: list[BaseException] = []
        self._ready: deque[_Step] = deque()
        self._timers: list[tuple[float, int, _Step]] = []
        self._timers_made = 0
        self._current: Actor | None = None
        self._closed = False

    # --- what asyncio calls

    def time(self) -> float:
        """The clock of whoever asks."""
        return self.now if self._current is None else self.now - self._current.behind

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        if context is None:
            context = contextvars.copy_context()
        step = _Step(context.get(_actor), None, callback, args, context)
        self._ready.append(step)
        return step

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        if context is None:
            context = contextvars.copy_context()
        step = _Step(context.get(_actor), when, callback, args, context)
        self._set_timer(step)
        return step

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> Any:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        task._log_destroy_pending = False  # an ended actor's tasks never finish
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(context.get("exception") or RuntimeError(context["message"]))

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self._closed

    def is_closed(self) -> bool:
        return self._closed

    # --- running

    def take(self, steps: "list[_Step]") -> None:
        """Has steps that waited run before any newer one, or when their actor's clock says so."""
        due = []
        for step in steps:
            if step.at is not None and step.actor is not None and step.at + step.actor.behind > self.now:
                self._set_timer(step)
            else:
                due.append(step)
        self._ready.extendleft(reversed(due))

    def _set_timer(self, step: _Step) -> None:
        assert step.at is not None
        at = step.at if step.actor is None else step.at + step.actor.behind
        self._timers_made += 1
        heapq.heappush(self._timers, (at, self._timers_made, step))

    def run_until(self, task: "asyncio.Task[T]") -> T:
        """Runs until the task is done. Raises RuntimeError where nothing can happen any more, or too much does."""
        ready, timers = self._ready, self._timers
        while not task.done():
            if not ready:
                self._next_timers()
            step = ready.popleft()
            actor = step.actor
            if step.gone:
                continue
            if actor is not None and (actor.held or actor.ended):
                if actor.held and not actor.ended:
                    actor.waiting.append(step)
                continue
            self._current = actor
            self.steps += 1
            try:
                step.context.run(step.callback, *step.args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.failures.append(error)
            self._current = None
            if self.steps > self.most_steps:
                raise RuntimeError(f"no end after {self.steps} steps, at {self.now} s")
            if timers and timers[0][0] <= self.now:
                self._next_timers()
        return task.result()

    def _next_timers(self) -> None:
        """Makes those ready that are due next; moves the clock to them."""
        timers = self._timers
        while timers and timers[0][2].gone:
            heapq.heappop(timers)
        if not timers:
            raise RuntimeError("every task waits for another one: a deadlock")
        self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            self._ready.append(heapq.heappop(timers)[2])

    def close(self) -> None:
        self._closed = True


@contextlib.contextmanager
def virtual_loop(most_steps: int = MOST_STEPS) -> Iterator[VirtualLoop]:
    """A loop, as the running one. Tasks that aren't done at the end are left as they are."""
    loop = VirtualLoop(most_steps)
    asyncio._set_running_loop(loop)
    try:
        yield loop
    finally:
        asyncio._set_running_loop(None)
        loop.close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time. Raises what a callback raised, too."""
    with virtual_loop() as loop:
        result = loop.run_until(loop.create_task(main))
        rest = [task for task in asyncio.all_tasks(loop) if not task.done()]
        for task in rest:
            task.cancel()
        if rest:
            loop.run_until(loop.create_task(_finished(rest)))
    if loop.failures:
        raise loop.failures[0]
    return result


async def _finished(tasks: "list[asyncio.Task[Any]]") -> None:
    await asyncio.gather(*tasks, return_exceptions=True)

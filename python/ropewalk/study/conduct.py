"""Has the missing replications of a study computed, wherever that is, and stores them."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ropewalk.executors import ExecutorError
from ropewalk.numbers import count
from ropewalk.statistics import estimate
from ropewalk.study.store import CASE, ReadOnly
from ropewalk.study.work import Order, Outcome, Part, Stopped, WrongModel, carry_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ropewalk.executors import Executor
    from ropewalk.study.plan import Case, Plan
    from ropewalk.study.store import Store

SHORTEST_UNIT_S = 0.1
SLACK = 3
"""A unit of work may be longer by this part of it if a case fits then."""
ATTEMPTS = 3
"""How often a unit of work is tried whose worker dies."""
POLL_S = 0.2
"""How often to look at signals, and for what another process is computing."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A run without results."""

    case: Case
    seed: int
    message: str


@dataclass(slots=True)
class Conducted:
    """The runs that have been done."""

    computed: int = 0
    """Replications computed by this call."""
    found: int = 0
    """Replications that were there before, or that another process has computed."""
    cpu_s: float = 0.0
    """CPU seconds inside the engine, of this call."""
    failures: list[Failure] = field(default_factory=list)
    replications: dict[int, int] = field(default_factory=dict)
    """Case to the number of its seeds, failed ones included."""
    lost: int = 0
    """Units of work that were done again because their worker was lost."""


class StoreError(OSError):
    """The store could not be written to; what it has is whole."""


@dataclass(slots=True)
class _State:
    """One case on its way."""

    case: Case
    target: int = 0
    """Last of the wanted seeds, which begin with 1."""
    done: set[int] = field(default_factory=set)
    pending: deque[int] = field(default_factory=deque)
    failed: dict[int, str] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)
    """Claimed by other processes."""

    @property
    def settled(self) -> bool:
        return len(self.done) + len(self.failed) == self.target


@dataclass(slots=True)
class _Flight:
    order: Order
    attempt: int


class Conductor:
    """Keeps an executor busy until every case has its replications."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        executor: Executor,
        *,
        progress: Callable[[int, int], object] | None = None,
        check: Callable[[Case, set[int]], None] | None = None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._executor = executor
        self._progress = progress or (lambda _done, _total: None)
        self._check = check
        self._report = Conducted()
        self._flying: dict[Future[Outcome], _Flight] = {}
        self._again: deque[_Flight] = deque()
        self._cost: float | None = None
        self._wanting: deque[_State] = deque()
        """Cases with pending runs."""
        self._away: dict[str, _State] = {}
        """Cases of which other processes compute some."""
        self._touched: dict[str, _State] = {}
        """Cases with news."""
        self._done = self._left = self._total = 0
        store.refresh()
        self._states = {case.key: _State(case) for case in plan.cases}
        for state in self._states.values():
            self._want(state, plan.stopping.minimum)

    def run(self) -> Conducted:
        """Computes what is missing.

        Raises:
            StoreError: a full disk or the like.
            ExecutorError: there is nothing left to compute at.
            KeyboardInterrupt: Ctrl-C.
        """
        try:
            self._news()
            self._tell()
            if self._executor.probes:
                self._probe()
            while self._step():
                self._tell()
        except BaseException:
            self._abandon()
            raise
        self._executor.close(cancel=False)
        self._tell()
        for state in self._states.values():
            self._report.replications[state.case.index] = state.target
            for seed, message in sorted(state.failed.items()):
                self._report.failures.append(Failure(state.case, seed, message))
        return self._report

    def _want(self, state: _State, target: int) -> None:
        """Asks for the seeds up to `target`."""
        stored = self._stored(state.case)
        new = range(state.target + 1, target + 1)
        state.target = target
        self._total += len(new)
        there = [seed for seed in new if seed in stored]
        self._finish(state, there)
        self._report.found += len(there)
        self._queue(state, [seed for seed in new if seed not in stored])

    def _queue(self, state: _State, seeds: list[int]) -> None:
        if seeds and not state.pending:
            self._wanting.append(state)
        state.pending.extend(seeds)
        self._left += len(seeds)

    def _finish(self, state: _State, seeds: Iterable[int]) -> None:
        before = len(state.done)
        state.done.update(seeds)
        self._done += len(state.done) - before
        self._touched[state.case.key] = state

    def _stored(self, case: Case) -> set[int]:
        """Seeds that need no computing: some must have time series."""
        stored, with_series = self._store.seeds(case.key)
        return {seed for seed in stored if seed > self._plan.series or seed in with_series}

    def _tell(self) -> None:
        self._progress(self._done, self._total)

    def _news(self) -> None:
        """Looks at the cases in which something has happened."""
        while self._touched:
            touched, self._touched = list(self._touched.values()), {}
            first = next((state for state in touched if state.done), None)
            if self._check is not None and first is not None:
                # The first runs there are.
                check, self._check = self._check, None
                check(first.case, first.done)
            self._look_at_rule([state for state in touched if state.settled])

    def _probe(self) -> None:
        """Computes one replication here, to know how long they take."""
        order = self._next_order(1)
        if order is not None:
            self._keep(carry_out(order))

    def _step(self) -> bool:
        """Hands over work, waits for some; False if all is done."""
        # Twice as much as can be done at a time: no worker waits for the next unit.
        while len(self._flying) < 2 * self._executor.slots:
            flight = self._next_flight()
            if flight is None:
                break
            self._flying[self._executor.submit(flight.order)] = flight
        if not self._flying:
            if not self._away:
                # Runs found in the store may call for more.
                self._news()
                return bool(self._wanting)
            time.sleep(POLL_S)
        else:
            # Not for ever: a signal that another thread receives must be looked at, too.
            finished, _ = wait(self._flying, POLL_S, FIRST_COMPLETED)
            for future in finished:
                self._settle(future)
        self._look_elsewhere()
        self._news()
        return True

    def _next_flight(self) -> _Flight | None:
        if self._again:
            return self._again.popleft()
        order = self._next_order(self._size())
        return None if order is None else _Flight(order, 1)

    def _size(self) -> int:
        """Replications of the next unit of work."""
        if self._cost is None:
            return 1
        by_time = self._executor.unit_s / self._cost
        fair = self._left / (2 * self._executor.slots)
        shortest = SHORTEST_UNIT_S * self._executor.unit_s / self._cost
        return max(1, math.ceil(max(shortest, min(by_time, fair))))

    def _next_order(self, size: int) -> Order | None:
        parts: list[Part] = []
        slack = size // SLACK
        while self._wanting and not parts:
            claimed: list[tuple[_State, list[int]]] = []
            while self._wanting and size > 0:
                state = self._wanting[0]
                # A case that nearly fits is taken whole: a split case is stored and read in more pieces.
                left = len(state.pending)
                mine = self._claim(state, left if left <= size + slack else size)
                size -= len(mine)
                claimed.append((state, mine))
                if not state.pending:
                    self._wanting.popleft()
            # Looked at after claiming: others may have computed some meanwhile.
            self._store.refresh()
            for state, mine in claimed:
                free = self._not_stored(state, mine)
                size += len(mine) - len(free)
                parts += self._parts(state, free)
        return Order(tuple(parts)) if parts else None

    def _claim(self, state: _State, size: int) -> list[int]:
        """Takes up to `size` pending seeds that no other process is computing."""
        mine: list[int] = []
        while state.pending and len(mine) < size:
            seed = state.pending.popleft()
            self._left -= 1
            if self._claimed(state, seed):
                mine.append(seed)
            else:
                state.elsewhere.add(seed)
                self._away[state.case.key] = state
        return mine

    def _not_stored(self, state: _State, mine: list[int]) -> list[int]:
        """Claimed seeds that are still to be computed."""
        stored = self._stored(state.case)
        for seed in mine:
            if seed in stored:
                self._store.claims.release(state.case.key, seed)
                self._finish(state, [seed])
                self._report.found += 1
        return [seed for seed in mine if seed not in stored]

    def _claimed(self, state: _State, seed: int) -> bool:
        try:
            return self._store.claims.take(state.case.key, seed)
        except ReadOnly as error:
            missing = count(self._total - self._done, "run")
            raise StoreError(
                f"{error}: {missing} of {self._total} are missing there and would have to be stored\n"
                "  fix: name another store with --store; a copy of this one keeps what it has"
            ) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(
                f"{self._store.path}: no file locks there: {reason}\n  fix: name another place with --store"
            ) from error

    def _parts(self, state: _State, seeds: list[int]) -> Iterator[Part]:
        for series in (True, False):
            chosen = tuple(seed for seed in seeds if (seed <= self._plan.series) == series)
            if chosen:
                yield Part(state.case.key, state.case.text, chosen, series)

    def _settle(self, future: Future[Outcome]) -> None:
        flight = self._flying.pop(future)
        try:
            outcome = future.result()
        except (WrongModel, ImportError) as error:
            raise ExecutorError(str(error)) from error
        except (Stopped, CancelledError) as error:
            raise ExecutorError(
                f"{self._executor.name}: the work was called off; finished runs are stored"
            ) from error
        except Exception as error:  # the worker has died, or cannot work
            self._lost(flight, error)
            return
        self._keep(outcome)

    def _lost(self, flight: _Flight, error: Exception) -> None:
        """Does it again, at last one run at a time: one that kills its worker is found out so."""
        self._report.lost += 1
        if flight.attempt < ATTEMPTS:
            self._again.append(_Flight(flight.order, flight.attempt + 1))
        elif flight.order.runs > 1:
            for part in flight.order.parts:
                for seed in part.seeds:
                    alone = Order((replace(part, seeds=(seed,)),))
                    self._again.append(_Flight(alone, ATTEMPTS))
        else:
            part = flight.order.parts[0]
            message = f"its worker was lost: {type(error).__name__}: {error}"
            self._fail(self._states[part.key], part.seeds[0], message)

    def _fail(self, state: _State, seed: int, message: str) -> None:
        self._store.claims.release(state.case.key, seed)
        state.failed[seed] = message
        self._done += 1
        self._touched[state.case.key] = state

    def _keep(self, outcome: Outcome) -> None:
        kept, error = self._store.put(outcome.records)
        for piece in itertools.chain.from_iterable(record.pieces for record in outcome.records[:kept]):
            state = self._states[piece.key]
            self._finish(state, piece.seeds)
            self._report.computed += len(piece.seeds)
            for seed in piece.seeds:
                self._store.claims.release(piece.key, seed)
        self._report.cpu_s += outcome.cpu_s
        if error is not None:
            raise self._store_error(error) from error
        for key, seed, message in outcome.errors:
            self._fail(self._states[key], seed, message)
        self._learn(outcome)

    def _store_error(self, error: OSError) -> StoreError:
        finished = self._report.computed + self._report.found
        reason = error.strerror or str(error)
        return StoreError(
            f"{self._store.path}: {reason}\n"
            f"  {finished} finished runs are stored there, whole; the one that did not fit was left out\n"
            "  fix: make room, then give the same command again: it goes on from here"
        )

    def _learn(self, outcome: Outcome) -> None:
        """A mean in which older runs fade."""
        runs = sum(len(piece.seeds) for record in outcome.records for piece in record.pieces)
        if runs:
            cost = max(outcome.cpu_s / runs, 1e-6)
            self._cost = cost if self._cost is None else 0.7 * self._cost + 0.3 * cost

    def _look_elsewhere(self) -> None:
        """Runs that other processes have finished are done; those that they gave up are claimed here."""
        claimed = {
            key: [seed for seed in sorted(state.elsewhere) if self._claimed(state, seed)]
            for key, state in self._away.items()
        }
        if claimed:
            # Looked at after claiming: runs that were free before may have been finished in between.
            self._store.refresh()
        for key, free in claimed.items():
            state = self._away[key]
            there = state.elsewhere & self._stored(state.case)
            for seed in free:
                self._store.claims.release(state.case.key, seed)
            self._finish(state, there)
            self._report.found += len(there)
            self._queue(state, [seed for seed in free if seed not in there])
            state.elsewhere -= there.union(free)
            if not state.elsewhere:
                del self._away[key]

    def _look_at_rule(self, settled: list[_State]) -> None:
        """Asks for more replications where the interval is still too wide.

        Looked at only when all seeds up to the target are settled: the executor must not matter.
        """
        rule = self._plan.stopping
        going = [state for state in settled if state.target < rule.maximum]
        if not going or rule.metric is None:
            return
        wanted = [(state.case.key, state.done) for state in going]
        rows = self._store.load(wanted, {rule.metric.table})[rule.metric.table]
        values: dict[int, list[float]] = {}
        if rows.height:
            for case, _, value in rule.metric.values(rows, (CASE, "run")).iter_rows():
                values.setdefault(case, []).append(value)
        for index, state in enumerate(going):
            found = estimate(values.get(index, []))
            narrow = (
                found is not None
                and found.ci95 is not None
                and found.ci95 <= rule.half_width * abs(found.mean)
            )
            if not narrow:
                self._want(state, rule.after(state.target))

    def _abandon(self) -> None:
        """Keeps what is finished, gives up the rest."""
        for future in [future for future in self._flying if future.done() and not future.cancelled()]:
            if future.exception() is None:
                try:
                    self._keep(future.result())
                except OSError:
                    break
            del self._flying[future]
        self._executor.close(cancel=True)

"""A receiver that is killed while postbacks arrive: each takes effect once, and in order."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import anyio

from gateway_async.postbacks import PostbackState
from tests.postbacks.inboxes import Store, opened
from tests.reliability.condition import Condition, Result, add_up
from tests.reliability.postback_sender import CHANGES, PostbackSender
from tests.reliability.worker_programs import RestartedWorker, receive_postbacks
from tests.reliability.worker_protections import without
from tests.support.free_port import free_port

_KILLS: Final = 10
"""Kills while the postbacks of one inbox arrive."""

_RECORDS: Final = 3
"""Records for each kill, with ten changes each."""

_DELAY_SECONDS: Final = 0.05
_HANDLED_WITHIN: Final = 60.0
_SEED: Final = 20261121

Kind = Literal["sqlite", "postgres"]


async def make_tables(store: Store) -> None:
    """Make a table of effects without any constraint, and a counter."""
    await store.inbox.list()
    number = "integer PRIMARY KEY AUTOINCREMENT" if store.is_file else "serial"
    await store.ask(f"CREATE TABLE {{effects}} (number {number}, record text, change integer)")
    await store.ask("CREATE TABLE {counter} (handled integer)")
    await store.ask("INSERT INTO {counter} VALUES (0)")


async def wait_until_handled(store: Store) -> None:
    """Wait until no postback is waiting."""
    with anyio.fail_after(_HANDLED_WITHIN):
        while await store.inbox.list(PostbackState.WAITING, limit=1):
            await anyio.sleep(_DELAY_SECONDS)


async def compare_effects(store: Store, records: int, count: int) -> Result:
    """Compare the effects of the handlers with the postbacks that were acknowledged."""
    effects = await store.ask("SELECT record, change FROM {effects} ORDER BY number")
    handled: defaultdict[str, list[int]] = defaultdict(list)
    for record, change in effects:
        handled[record].append(change)
    ((counted,),) = await store.ask("SELECT handled FROM {counter}")
    distinct = len(set(effects))
    return Result(
        count=count,
        double=len(effects) - distinct,
        lost=records * CHANGES - distinct,
        problems=tuple(_describe_problems(handled, effects, counted)),
    )


def _describe_problems(handled: dict[str, list[int]], effects: Sequence[Any], counted: int) -> list[str]:
    disordered = [record for record, changes in handled.items() if changes != sorted(changes)]
    problems = [f"{record}: changes handled out of order" for record in disordered]
    if counted != len(effects):
        problems.append(f"the counter of the handlers is {counted}, with {len(effects)} effects")
    return problems


async def _kill_again_and_again(receiver: RestartedWorker, sender: PostbackSender, kills: int, random: Random) -> None:
    total = _RECORDS * CHANGES * kills
    for number in range(1, kills + 1):
        while sender.acknowledged < number * total / (kills + 1):
            await anyio.sleep(0.001)
        await anyio.sleep(random.uniform(0, _DELAY_SECONDS))
        await anyio.to_thread.run_sync(receiver.restart)


async def _kill_receiver_of_inbox(kind: Kind, kills: int, random: Random) -> Result:
    with TemporaryDirectory() as folder:
        async with opened(kind, Path(folder)) as store:
            await make_tables(store)
            port = free_port()
            receiver = RestartedWorker(receive_postbacks, port, kind, store.location, store.table)
            try:
                sender = PostbackSender(_RECORDS * kills, port)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(sender.send)
                    tasks.start_soon(_kill_again_and_again, receiver, sender, kills, random)
                await wait_until_handled(store)
            finally:
                receiver.kill()
            return await compare_effects(store, _RECORDS * kills, kills)


def _kill_receivers(kind: Kind, count: int) -> Result:
    """Kill receivers so often, with a new inbox after each ten kills."""
    random = Random(_SEED)  # noqa: S311  no secret
    groups = [_KILLS] * (count // _KILLS) + [count % _KILLS] * (count % _KILLS > 0)
    return add_up([anyio.run(_kill_receiver_of_inbox, kind, kills, random) for kills in groups])


RECEIVER_KILL_CONDITIONS: Final = (
    Condition(
        key="kill-receiver",
        text="`kill -9` of a receiver with an inbox file",
        count=200,
        short_count=4,
        run=partial(_kill_receivers, "sqlite"),
        protections=without("commit-before-acknowledgement"),
    ),
    Condition(
        key="kill-receiver-postgres",
        text="`kill -9` of a receiver with an inbox in PostgreSQL",
        count=50,
        short_count=4,
        run=partial(_kill_receivers, "postgres"),
        needs=("GATEWAY_TEST_POSTGRES",),
    ),
)

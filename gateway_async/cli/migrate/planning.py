"""`gateway-async migrate --plan`: what a migration would do."""

import json
from contextlib import aclosing

import anyio
import attrs
import typer

from gateway_async.cli.migrate.order import Order

__all__ = ["show_plan"]


def show_plan(order: Order) -> None:
    """Read everything, and print what would happen; nothing is sent."""
    from gateway_async.migration import Plan, plan_migration

    async def planned() -> Plan:
        async with aclosing(order.input.rows()) as rows:
            return await plan_migration(rows, rate=order.rate, concurrency=order.concurrency)

    plan = anyio.run(planned)
    typer.echo(json.dumps({"event": "plan", **attrs.asdict(plan)}, default=str) if order.as_json else str(plan))

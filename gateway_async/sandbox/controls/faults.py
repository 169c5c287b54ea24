"""Faults: which requests fail, and how."""

from collections.abc import Iterable

from gateway_async.sandbox.fault_effects import close_port
from gateway_async.sandbox.http.responses import unknown_name
from gateway_async.sandbox.routes import OPERATIONS, is_operation
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.faults import FaultName, PlannedFault, make_plans


async def fault(
    gateway: Gateway,
    operation: str,
    fault: FaultName,
    *,
    nth: int = 1,
    times: int | None = None,
    probability: float | None = None,
    seed: int | None = None,
    seconds: float = 1.0,
    retry_after: float | None = 1.0,
) -> None:
    """Plan a fault for requests of one operation, such as "POST /v2/transactions".

    Args:
        operation: Method and path, with ids as `{id}`.
        fault: The name of the fault. `refuse` closes the port after the previous request, or at once for the first.
        nth: The first matching request, counted from now, that gets the fault.
        times: How many requests get the fault; the default is 1, or no limit with a `probability`.
        probability: The chance from 0 to 1 that a matching request gets the fault; it replaces `nth`.
        seed: Makes the random choice repeatable.
        seconds: How long a `delay` or a `refuse` lasts, or how long a `drip` pauses between bytes.
        retry_after: The `Retry-After` header, in seconds; None omits it.

    Raises:
        InvalidRequestError: The fault or the operation is unknown, or the plan is inconsistent.
    """
    plan = PlannedFault(operation, fault, nth, times, probability, seed, seconds, retry_after)
    await add_plans(gateway, [plan])


async def scenario(gateway: Gateway, name: str) -> None:
    """Plan the faults of a named scenario.

    An example is "response lost after approval". The page about faults lists the scenarios.

    Raises:
        InvalidRequestError: The scenario is unknown.
    """
    await add_plans(gateway, make_plans(name))


async def add_plans(gateway: Gateway, plans: Iterable[PlannedFault]) -> None:
    """Add plans; a `refuse` of the first request closes the port at once."""
    for plan in plans:
        plan.check()
        if not is_operation(plan.operation):
            method, _, path = plan.operation.partition(" ")
            expected = "must be a method and a path of the gateway, as in POST /v2/transactions"
            raise unknown_name("operation", f"{method.upper()} {path}", OPERATIONS, expected)
        if plan.starts_immediately:
            await close_port(gateway, plan.seconds)
        else:
            gateway.faults.append(plan)


def faults(gateway: Gateway) -> list[Row]:
    """Return the planned faults.

    Each plan counts the matching requests (`seen`) and those with the fault (`affected`), with `affected_ids`.
    """
    return [plan.describe() for plan in gateway.faults]


async def clear_faults(gateway: Gateway) -> None:
    """Remove every planned fault."""
    gateway.faults.clear()
    await gateway.listener.resume()

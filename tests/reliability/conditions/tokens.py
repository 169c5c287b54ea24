"""Access tokens that end while 200 calls are in flight."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import anyio
import attrs

from gateway_async import PasswordLogin
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TOKEN
from gateway_async.sandbox.state_machines.tokens import IDLE_SECONDS
from tests.reliability import protections
from tests.reliability.condition import Condition, Result
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.traffic import Traffic, compare

_IN_FLIGHT: Final = 200
_ENDS_AFTER: Final = 50
"""The sale of each round after which the token ends; the others are in flight then."""

_UNAUTHORIZED: Final = 401
_CREATED: Final = 201

EndTokens = Callable[[Gateway], None]


def _expire(gateway: Gateway) -> None:
    """Move the clock of the sandbox to a time at which every token has expired."""
    gateway.clock.advance(IDLE_SECONDS + 1)


def _revoke(gateway: Gateway) -> None:
    """Revoke every token, as the user does elsewhere."""
    for row in gateway.store.select(TOKEN, "deleted_ts IS NULL"):
        gateway.store.update(TOKEN, row["id"], {"deleted_ts": gateway.clock.timestamp()})


def _apply(end_tokens: EndTokens, count: int) -> Result:
    """Send sales in rounds of 200; in each, end the tokens after 50 of them."""
    seen = Counter[str]()

    def observe(request: LoggedRequest) -> None:  # in the thread of the sandbox, which owns its state
        operation = f"{request.method} {request.path}"
        seen["logins"] += operation == "POST /v2/token"
        seen["rejected"] += request.status_code == _UNAUTHORIZED
        if operation == "POST /v2/transactions" and request.status_code == _CREATED:
            seen["sales"] += 1
            if seen["sales"] % _IN_FLIGHT == _ENDS_AFTER:
                end_tokens(sandbox._current.gateway)

    with accept_duplicate_ids(), Sandbox(on_request=observe) as sandbox:
        result = anyio.run(_send, sandbox, count)
    return _evaluate(result, seen)


async def _send(sandbox: Sandbox, count: int) -> Result:
    login = PasswordLogin(sandbox.username, sandbox.password, sandbox.domain)
    async with sandbox.gateway(credentials=login, max_connections=_IN_FLIGHT) as gateway:
        traffic = Traffic(gateway, concurrency=_IN_FLIGHT)
        for _ in range(count // _IN_FLIGHT):
            await traffic.sell_many(_IN_FLIGHT)
    return compare(traffic.writes, sandbox)


def _evaluate(result: Result, seen: Counter[str]) -> Result:
    """Add failed sales, and logins that were not necessary."""
    rounds, failed = result.count // _IN_FLIGHT, result.count - seen["sales"]
    problems = [*result.problems]
    if failed:
        problems.append(f"{failed:,} sales were not accepted")
    if seen["logins"] > rounds + 1:
        problems.append(f"{seen['logins']:,} logins for {rounds:,} ended tokens (expected at most {rounds + 1:,})")
    if not seen["rejected"]:
        problems.append("no call was in flight when the token ended")
    note = (
        f"{seen['rejected']:,} requests were rejected with 401; {seen['logins']:,} logins for {rounds:,} ended tokens"
    )
    return attrs.evolve(result, problems=tuple(problems), notes=(*result.notes, note))


def _condition(name: str, text: str, end_tokens: EndTokens, **options: Any) -> Condition:
    return Condition(
        key=f"token-{name}",
        text=f"the token of a login {text} while {_IN_FLIGHT} sales are in flight",
        count=10_000,
        short_count=_IN_FLIGHT,
        run=partial(_apply, end_tokens),
        **options,
    )


TOKEN_CONDITIONS: Final = (
    _condition("expiry", "expires", _expire, protections={"shared-login": protections.shared_login}),
    _condition("revocation", "is revoked", _revoke),
)

"""The Redis client of leases and rate limits: its creation, and its scripts.

The frames of redis-py contain the password. Every error, also a cancellation, is therefore detached from them.
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from gateway_async._extras import import_extra
from gateway_async._secrets import Secret, strip_traceback
from gateway_async.errors import InvalidRequestError

_FORM: Final = "must be redis://, rediss:// or unix://, with options that redis-py knows"
_BAD_PORT: Final = "the port must be a number up to 65535 (in a password, / must be written as %2F)"
"""The port is not quoted: if the password has a `/`, it is a part of the password."""


@attrs.frozen(repr=False)
class _Login:
    """The user and the password of an address, as redis-py asks for them."""

    _user: str
    _password: Secret

    def get_credentials(self) -> tuple[str, ...]:
        return (self._user, self._password.reveal()) if self._user else (self._password.reveal(),)

    async def get_credentials_async(self) -> tuple[str, ...]:
        return self.get_credentials()


async def run_script(script: Any, keys: Sequence[str], args: Sequence[Any]) -> Any:
    """Run a registered script.

    Raises:
        Exception: an error of redis-py, or an `OSError`.
    """
    try:
        return await script(keys=keys, args=args)
    except BaseException as error:  # noqa: BLE001
        failure = strip_traceback(error)
    try:
        raise failure
    finally:
        del failure  # its traceback refers to this frame


def connect_redis(
    url: Secret, problems: Sequence[str], *, who: str, connections: int, timeout: float, retries: int
) -> Any:
    """Create a Redis client, which connects on first use.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.
        problems: problems with other arguments of `who`, to be reported together.
        who: the name of the class that uses it, for messages.
        connections: maximum number of connections; commands wait for a free one.
        timeout: seconds for connecting, for a response and for a free connection.
        retries: how often a command is sent again after its connection was lost.

    Raises:
        ModuleNotFoundError: redis is missing.
        InvalidRequestError: there are problems.
    """
    redis = import_extra("redis.asyncio", extra="redis", user=who)
    retry = import_extra("redis.asyncio.retry", extra="redis", user=who).Retry
    no_backoff = import_extra("redis.backoff", extra="redis", user=who).NoBackoff
    pool = _pool_at(
        url,
        redis,
        decode_responses=True,
        max_connections=connections,
        timeout=timeout,
        socket_connect_timeout=timeout,
        socket_timeout=timeout,
        retry=retry(no_backoff(), retries),
    )
    if pool is None:
        problems = [*problems, f"url: {_BAD_PORT if _has_bad_port(url) else _FORM}"]
    if problems:
        raise InvalidRequestError(problems)
    return redis.Redis.from_pool(pool)


def _pool_at(url: Secret, redis: Any, **options: Any) -> Any:
    """The pool of an address, or None. No error is raised, because its traceback would show the password."""
    try:
        url.reveal().encode()  # a lone surrogate: the error that it would cause later has the password
        found = redis.connection.parse_url(url.reveal())
        user, password = found.pop("username", ""), found.pop("password", "")
        login = {"credential_provider": _Login(user, Secret(password))} if user or password else {}
        if "ssl_password" in found:  # the password of a client's key; OpenSSL calls the function
            found["ssl_password"] = Secret(found["ssl_password"]).reveal
        pool = redis.BlockingConnectionPool(**options, **found, **login)
        pool.connection_class(**pool.connection_kwargs)  # it connects later, but raises TypeError for unknown options
    except (TypeError, ValueError, AttributeError):
        return None
    return pool


def _has_bad_port(url: Secret) -> bool:
    try:
        address = urlsplit(url.reveal())
    except ValueError:
        return False
    try:
        return (address.port or 0) < 0
    except ValueError:
        return True

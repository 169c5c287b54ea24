"""Async Python SDK for a payment gateway, with a local gateway for tests and offline work.

This module exports all public names and imports each one at its first use. `gateway_async/resources/__init__.py`
registers the models that it exports.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateway_async.resources import _MODELS

if TYPE_CHECKING:
    from gateway_async._execution.circuit_breaker import CircuitBreaker as CircuitBreaker
    from gateway_async._execution.circuit_breaker import CircuitState as CircuitState
    from gateway_async._execution.lists.pages import Pages as Pages
    from gateway_async._execution.user_agent import __version__ as __version__
    from gateway_async._secrets import Secret as Secret
    from gateway_async._wire.reply import Reply as Reply
    from gateway_async.client import AsyncGateway as AsyncGateway
    from gateway_async.credentials import AccessToken as AccessToken
    from gateway_async.credentials import BearerToken as BearerToken
    from gateway_async.credentials import HashKey as HashKey
    from gateway_async.credentials import PasswordLogin as PasswordLogin
    from gateway_async.credentials import UserApiKey as UserApiKey
    from gateway_async.errors import *  # noqa: F403
    from gateway_async.leases import *  # noqa: F403
    from gateway_async.ledger.postgres import *  # noqa: F403
    from gateway_async.ledger.protocol import Intent as Intent
    from gateway_async.ledger.protocol import Ledger as Ledger
    from gateway_async.ledger.protocol import ReadableLedger as ReadableLedger
    from gateway_async.ledger.protocol import Recovered as Recovered
    from gateway_async.ledger.protocol import StoredIntent as StoredIntent
    from gateway_async.ledger.reconciliation.result import BatchTotals as BatchTotals
    from gateway_async.ledger.reconciliation.result import Discrepancy as Discrepancy
    from gateway_async.ledger.reconciliation.result import PaymentTotals as PaymentTotals
    from gateway_async.ledger.reconciliation.result import Reconciliation as Reconciliation
    from gateway_async.ledger.sqlite import *  # noqa: F403
    from gateway_async.models.codes import *  # noqa: F403
    from gateway_async.models.identifiers import *  # noqa: F403
    from gateway_async.models.page import *  # noqa: F403
    from gateway_async.models.record import Record as Record
    from gateway_async.models.request import UNSET as UNSET
    from gateway_async.models.request import Request as Request
    from gateway_async.models.request import Unset as Unset
    from gateway_async.models.time_range import *  # noqa: F403
    from gateway_async.models.untyped import UntypedRecord as UntypedRecord
    from gateway_async.resources import *  # noqa: F403
    from gateway_async.resources._untyped import UntypedResource as UntypedResource

_PUBLIC_NAMES: dict[str, tuple[str, ...] | None] = {
    "_secrets": ("Secret",),
    "credentials": ("AccessToken", "BearerToken", "HashKey", "PasswordLogin", "UserApiKey"),
    "ledger.protocol": ("Intent", "Ledger", "ReadableLedger", "Recovered", "StoredIntent"),
    "ledger.reconciliation.result": ("BatchTotals", "Discrepancy", "PaymentTotals", "Reconciliation"),
    "ledger.sqlite": ("SqliteLedger",),
    "ledger.postgres": ("PostgresLedger",),
    "models.record": ("Record",),
    "models.request": ("UNSET", "Request", "Unset"),
    **{f"models.{name}": names for name, names in _MODELS.items()},
    "_execution.circuit_breaker": ("CircuitBreaker", "CircuitState"),
    "_execution.lists.pages": ("Pages",),
    "_wire.reply": ("Reply",),
    "models.untyped": ("UntypedRecord",),
    "resources._untyped": ("UntypedResource",),
    "client": ("AsyncGateway",),
    "errors": None,
    "leases": None,
    "models.identifiers": None,
    "models.codes": None,
    "models.page": None,
    "models.time_range": None,
}
"""Module → its public names; None for all, which are found by importing it.

Such modules are last and cheap, so that no name loads a module that it does not need.
"""


def _names_of(module: str) -> tuple[str, ...]:
    return _PUBLIC_NAMES[module] or tuple(import_module(f"{__name__}.{module}").__all__)


def __dir__() -> list[str]:
    return sorted({"__doc__", "__version__", *(name for module in _PUBLIC_NAMES for name in _names_of(module))})


if not TYPE_CHECKING:  # otherwise type checkers would treat every misspelled name as `Any`

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module(f"{__name__}._execution.user_agent").__version__
        if name == "__all__":
            names = {name for module in _PUBLIC_NAMES for name in _names_of(module)}
            return sorted(names, key=lambda name: (not name.isupper(), name))
        for module in _PUBLIC_NAMES if name[:1].isupper() else ():  # a name in lower case is a module
            if name in _names_of(module):
                value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
                return value
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)

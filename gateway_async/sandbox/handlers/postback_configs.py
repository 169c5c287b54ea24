"""Postback configs (contract, "Postback configs"): which changes are reported to which receiver.

Configs can be created, changed and deleted. The contract does not show how to read them, so reading is not allowed.
"""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.expands import EXPANDS
from gateway_async.sandbox.request.records import make_create, make_delete, make_update
from gateway_async.sandbox.schema import POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row, label

__all__ = ["create", "delete", "update"]


_PLURALS = {
    "contact": "contacts",
    "transaction": "transactions",
    "transactionbatch": "transactionbatches",
    "accountvault": "accountvaults",
}
_HAS_MERCHANT_ACCOUNT = frozenset({"transaction", "transactionbatch"})
_FORMATS = ("api-default", "json")
_BOUNDS = {"number_of_attempts": (1, 5), "attempt_interval": (0, 86_400)}
"""The interval may be below the 300 seconds of production gateways, so that a test need not wait."""


def _check(row: Row, values: Row, problems: Problems) -> None:
    config = row | values
    for name, check in _CHECKS.items():
        try:
            if name not in problems:
                check(config)
        except ValueError as reason:
            problems.add(name, f"{label(name)} {reason}")


def _check_resource(config: Row) -> None:
    if config["resource"] not in _PLURALS:
        raise ValueError(f"must be one of {', '.join(_PLURALS)}.")


def _check_product(config: Row) -> None:
    if config.get("resource") in _HAS_MERCHANT_ACCOUNT and config.get("product_transaction_id") is None:
        raise ValueError("cannot be blank.")


def _check_url(config: Row) -> None:
    url: str = config["url"]
    if not (url.isascii() and url.isprintable()) or " " in url or not _is_http(url):
        raise ValueError("must be an http or https address.")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_format(config: Row) -> None:
    if config.get("format", _FORMATS[0]) not in _FORMATS:
        raise ValueError(f"must be one of {', '.join(_FORMATS)}.")


def _check_expands(config: Row) -> None:
    plural = _PLURALS.get(config.get("resource", ""))
    asked = filter(None, (config.get("expands") or "").split(","))
    if plural and set(asked) - EXPANDS[plural].keys():
        raise ValueError("names an unknown relation.")


def _check_username(config: Row) -> None:
    if ":" in (config.get("basic_auth_username") or ""):
        raise ValueError("must not contain a colon.")


def _check_bounds(name: str, config: Row) -> None:
    low, high = _BOUNDS[name]
    if not low <= config.get(name, low) <= high:
        raise ValueError(f"must be from {low} to {high}.")


_CHECKS: dict[str, Callable[[Row], None]] = {
    "resource": _check_resource,
    "product_transaction_id": _check_product,
    "url": _check_url,
    "format": _check_format,
    "expands": _check_expands,
    "basic_auth_username": _check_username,
    **{name: partial(_check_bounds, name) for name in _BOUNDS},
}

create = make_create(POSTBACK_CONFIG, _check)
update = make_update(POSTBACK_CONFIG, _check)
delete = make_delete(POSTBACK_CONFIG)

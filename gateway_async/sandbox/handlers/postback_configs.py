"""Postback configs (contract, "Postback configs"): which changes are reported to which receiver.

Configs can be created, changed and deleted. The contract does not show how to read them, so reading is not allowed.
"""

from urllib.parse import urlsplit

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.expands import EXPANDS
from gateway_async.sandbox.request.standard_handlers import make_create, make_update
from gateway_async.sandbox.request.validation import RecordRule, check_rules
from gateway_async.sandbox.schema import POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row, label

_PLURALS = {
    "contact": "contacts",
    "transaction": "transactions",
    "transactionbatch": "transactionbatches",
    "accountvault": "accountvaults",
}
_HAS_MERCHANT_ACCOUNT = frozenset({"transaction", "transactionbatch"})


def _check(_context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    check_rules(_RULES, row | values, problems)


def _is_http(url: str) -> bool:
    if not (url.isascii() and url.isprintable()) or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _has_unknown_relation(config: Row) -> bool:
    plural = _PLURALS.get(config.get("resource", ""))
    asked = filter(None, (config.get("expands") or "").split(","))
    return plural is not None and bool(set(asked) - EXPANDS[plural].keys())


def _bounds_rule(name: str, low: int, high: int) -> RecordRule:
    sentence = f"{label(name)} must be from {low} to {high}."
    return (name,), sentence, lambda config: not low <= config.get(name, low) <= high


_RULES: tuple[RecordRule, ...] = (
    (
        ("resource",),
        f"Resource must be one of {', '.join(_PLURALS)}.",
        lambda config: config["resource"] not in _PLURALS,
    ),
    (
        ("product_transaction_id",),
        "Product Transaction Id cannot be blank.",
        lambda config: config.get("resource") in _HAS_MERCHANT_ACCOUNT and config.get("product_transaction_id") is None,
    ),
    (("url",), "Url must be an http or https address.", lambda config: not _is_http(config["url"])),
    (("expands",), "Expands names an unknown relation.", _has_unknown_relation),
    (
        ("basic_auth_username",),
        "Basic Auth Username must not contain a colon.",
        lambda config: ":" in (config.get("basic_auth_username") or ""),
    ),
    _bounds_rule("number_of_attempts", 1, 100),
    # the interval may be below the 300 seconds of production gateways, so that a test need not wait
    _bounds_rule("attempt_interval", 0, 86_400),
)

create = make_create(POSTBACK_CONFIG, _check)
update = make_update(POSTBACK_CONFIG, _check)

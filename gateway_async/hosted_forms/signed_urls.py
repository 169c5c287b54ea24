"""Signed URLs of hosted forms: create and check them, and compare the result with what was asked for."""

import binascii
import hmac
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from gateway_async._arguments import check_numbers, number_problems
from gateway_async._secrets import Secret, seal
from gateway_async._wire.amounts import money, subtract, to_cents
from gateway_async._wire.auth import hash_key
from gateway_async._wire.json_text import decode, encode
from gateway_async._wire.response_matching import is_less
from gateway_async.errors import InvalidRequestError
from gateway_async.hosted_forms.fields import (
    address_problems,
    field_problems,
    single_params,
    split_url,
    text_problems,
    write_field,
)
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import TransactionStatus
from gateway_async.models.transactions import Transaction

_WRAPPERS: Final[Mapping[str, str]] = {"payform": "transaction", "accountform": "accountvault"}
"""Form → the JSON key of its fields."""

_SIGNED_PARAMS: Final = ("developer-id", "hash-key", "user-id", "timestamp", "data")
_TIMESTAMP: Final = re.compile("[1-9][0-9]{9}")
"""Unix seconds, of ten digits (contract, *Conventions*).

The signature covers user id and timestamp, one after the other. With another length, or with a leading zero, it
would also be another user's: `till0` and `1…`, or `till` and `01…`.
"""


@attrs.frozen
class SignedForm:
    """The content of a signed URL.

    Attributes:
        form: `payform` or `accountform`.
        developer_id: the developer who made the URL.
        user_id: the user whose key signed it.
        signed_at: when it was signed.
        fields: the fields of the transaction or account vault. The signature does not cover them.
    """

    form: str
    developer_id: str
    user_id: str
    signed_at: datetime
    fields: Mapping[str, Any] = attrs.field(hash=False, repr=lambda fields: f"<{', '.join(fields)}>")


def payform_url(
    base_url: str,
    transaction: Mapping[str, Any],
    *,
    developer_id: str,
    user_id: str,
    user_hash_key: str | Secret,
    now: float | None = None,
) -> str:
    """The URL of a form on which someone pays. It is valid for a few minutes.

    The signature does not cover the fields: compare the result with `compare_form_result`.

    Args:
        base_url: the gateway's address, without `/v2`.
        transaction: the fields of a transaction, as in `TransactionCreate`, and settings of the form, such as
            `redirect_url_on_approval`. `payment_method`, `action`, `product_transaction_id` and `transaction_api_id`
            are required. So is `transaction_amount`, except with `avsonly`, and `ach_sec_code` with `ach`. Amounts are
            a `Decimal`, an `int` or a `str`. Card and bank data, secrets, and data that identifies a person have no
            place in a URL: the form asks for them.
        developer_id: your developer id. It is part of the URL.
        user_id: the user who signs. It is part of the URL.
        user_hash_key: the user's key, which is not part of the URL.
        now: the time of the signature in Unix seconds; this machine's clock by default.

    Raises:
        InvalidRequestError: an argument or a field cannot be sent; `.problems` lists all of them.
    """
    user_hash_key, transaction = Secret(user_hash_key), seal(transaction)  # an error's traceback shows local variables
    return _signed_url(base_url, "payform", transaction, developer_id, user_id, user_hash_key, now)


def accountform_url(
    base_url: str,
    account_vault: Mapping[str, Any],
    *,
    developer_id: str,
    user_id: str,
    user_hash_key: str | Secret,
    now: float | None = None,
) -> str:
    """The URL of a form that stores an account vault.

    The signature does not cover the fields: compare the result with `compare_form_result`.

    Args:
        base_url: the gateway's address, without `/v2`.
        account_vault: the fields of an account vault without its number, as in `CardVaultCreate` or `AchVaultCreate`,
            and settings of the form. What `payform_url` refuses is refused here.
            `payment_method`, `location_id` and `account_vault_api_id` are required.
        developer_id: your developer id. It is part of the URL.
        user_id: the user who signs. It is part of the URL.
        user_hash_key: the user's key, which is not part of the URL.
        now: the time of the signature in Unix seconds; this machine's clock by default.

    Raises:
        InvalidRequestError: an argument or a field cannot be sent; `.problems` lists all of them.
    """
    user_hash_key, account_vault = Secret(user_hash_key), seal(account_vault)  # as above
    return _signed_url(base_url, "accountform", account_vault, developer_id, user_id, user_hash_key, now)


def check_form_url(
    url: str, *, user_hash_key: str | Secret, max_age: float = 300.0, now: float | None = None
) -> SignedForm:
    """Check signature and age of a form's URL; return its content.

    A valid signature says who made a URL, and when. It says nothing about the fields, which anyone may have changed.

    Args:
        url: the whole URL.
        user_hash_key: the key of the user who signed it.
        max_age: maximum seconds between the time of the signature and `now`, in either direction.
        now: Unix seconds; this machine's clock by default.

    Raises:
        InvalidRequestError: the key is empty, or the URL's form, signature or age is wrong; `.problems` says why.
    """
    user_hash_key = Secret(user_hash_key)  # an error's traceback shows local variables
    now = time.time() if now is None else now
    check_numbers(max_age=max_age, now=now)
    parts = split_url(url)
    form = parts.path.rstrip("/").rpartition("/v2/")[2]
    if form not in _WRAPPERS:
        raise InvalidRequestError(f"url: must be a URL of one of the forms {', '.join(_WRAPPERS)}")
    params = single_params(parts.query, _SIGNED_PARAMS)
    problems = [*text_problems(user_hash_key=user_hash_key)]  # anyone can sign with an empty key
    problems = problems or [*_signature_problems(params, user_hash_key, max_age, now)]
    fields = _read_data(params["data"], _WRAPPERS[form])
    if problems or fields is None:
        raise InvalidRequestError(problems + (["data: is not the form's JSON"] if fields is None else []))
    signed_at = datetime.fromtimestamp(int(params["timestamp"]), UTC)
    return SignedForm(form, params["developer-id"], params["user-id"], signed_at, MappingProxyType(fields))


def _signed_url(
    base_url: str,
    form: str,
    fields: Mapping[str, Any],
    developer_id: str,
    user_id: str,
    key: Secret,
    now: float | None,
) -> str:
    problems = [
        *address_problems(base_url),
        *field_problems(form, fields),
        *text_problems(developer_id=developer_id, user_id=user_id, user_hash_key=key),
        *number_problems("seconds", minimum=10**9, maximum=10**10 - 1, optional=True, now=now),
    ]
    if problems:
        raise InvalidRequestError(problems)
    timestamp = str(int(time.time() if now is None else now))
    data = encode({_WRAPPERS[form]: {name: write_field(name, value) for name, value in fields.items()}}).hex()
    params = {
        "developer-id": developer_id,
        "hash-key": hash_key(user_id, key, timestamp).reveal(),
        "user-id": user_id,
        "timestamp": timestamp,
        "data": data,
    }
    return f"{base_url.rstrip('/')}/v2/{form}?{urlencode(params, quote_via=quote)}"


def _signature_problems(params: Mapping[str, str], key: Secret, max_age: float, now: float) -> Iterator[str]:
    timestamp = params["timestamp"]
    digest = hash_key(params["user-id"], key, timestamp).reveal()
    if not hmac.compare_digest(digest.encode(), params["hash-key"].encode(errors="replace")):
        yield "hash-key: does not match the key, the user id and the timestamp"
    if not _TIMESTAMP.fullmatch(timestamp):
        yield "timestamp: must be Unix seconds"
    elif abs(now - int(timestamp)) > max_age:
        yield f"timestamp: is {'older' if int(timestamp) < now else 'later'} than allowed"


def _read_data(data: str, wrapper: str) -> dict[str, Any] | None:
    try:
        content = decode(binascii.unhexlify(data))
    except ValueError:
        return None
    fields = content.get(wrapper) if isinstance(content, dict) and len(content) == 1 else None
    return fields if isinstance(fields, dict) else None


# --- the record that a form has made

_COMPARED: Final = (
    "transaction_api_id",
    "account_vault_api_id",
    "location_id",
    "product_transaction_id",
    "contact_id",
    "payment_method",
)

_BANK_ACCEPTED: Final = frozenset(
    {
        TransactionStatus.PENDING_ORIGINATION,
        TransactionStatus.ORIGINATING,
        TransactionStatus.ORIGINATED,
        TransactionStatus.SETTLED,
    }
)
_GOOD_STATUSES: Final[Mapping[str, frozenset[TransactionStatus]]] = {
    "sale": frozenset({TransactionStatus.APPROVED, TransactionStatus.SETTLED}),
    "authonly": frozenset({TransactionStatus.AUTH_ONLY, TransactionStatus.APPROVED, TransactionStatus.SETTLED}),
    "avsonly": frozenset({TransactionStatus.AVS_ONLY}),
    "refund": _BANK_ACCEPTED | {TransactionStatus.REFUNDED},
    "debit": _BANK_ACCEPTED,
    "credit": _BANK_ACCEPTED,
}
"""Action → the statuses of an approved transaction; it may be completed or settled already."""


def compare_form_result(asked: Mapping[str, Any], record: Transaction | AccountVault) -> tuple[str, ...]:
    """List the differences between a form's fields and its record.

    An empty result means that the payment was approved, for the whole amount and the merchant account of the URL that
    you made, or that the account vault is in the right place. Read the record from the gateway by its integrator id.
    What the customer's browser says about it proves nothing. A later refund is a payment of its own and is not noticed:
    deliver an order once.

    A surcharge that was asked for may be missing, because the gateway drops it for debit cards.
    """
    return tuple(_result_differences(asked, record))


def _result_differences(asked: Mapping[str, Any], record: Transaction | AccountVault) -> Iterator[str]:
    for name in _COMPARED:
        wanted, got = asked.get(name), getattr(record, name, None)
        if wanted not in (None, "") and hasattr(record, name) and got != wanted:
            yield f"{name} is {got!r}, not {wanted!r}"
    if isinstance(record, Transaction):
        yield from _payment_differences(asked, record)
    elif "action" in asked:
        yield f"the record is an {type(record).__name__}, not a Transaction"


def _payment_differences(asked: Mapping[str, Any], record: Transaction) -> Iterator[str]:
    action, status = str(asked.get("action")), record.status_id
    if status not in _GOOD_STATUSES.get(action, ()):
        yield f"status_id is {status!r}, which no approved {action} has"
    if _is_partial(record):
        yield f"auth_amount is {record.auth_amount}, not {record.transaction_amount}"
    if asked.get("transaction_amount") is None:
        return
    wanted = Decimal(money(asked["transaction_amount"]))
    surcharge = Decimal(money(asked.get("surcharge_amount") or 0))
    got = record.transaction_amount
    if got is None or to_cents(got) not in (wanted, subtract(wanted, surcharge)):
        yield f"transaction_amount is {record.transaction_amount}, not {wanted}"


def _is_partial(record: Transaction) -> bool:
    """Whether less was authorized than is due, by code or amount."""
    return record.partially_approved or is_less(record.auth_amount, record.transaction_amount)

"""Parser of requests to a receiver: returns a `Postback` or raises `PostbackRefusedError` (contract, *Events*).

The contract describes JSON, and some gateways send forms. Both have the same four fields, and `data` is the record as a
JSON text or an object. The form of the body decides, not its content type.

A rejected postback may be lost. The parser therefore rejects only what leaves unclear what happened to which record: a
missing type, resource, record or record id, a name that an object has twice, or an invalid money amount. The error
names the field and quotes nothing else of the body.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs
import msgspec

from gateway_async._secrets import Secret, quote_text
from gateway_async._wire.convert import FieldError
from gateway_async._wire.json_text import INVALID_CHARACTER, as_utf8, decode, is_utf8, repeated_name
from gateway_async._wire.rows import structure
from gateway_async.errors import PostbackRefusedError
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import PostbackResource, PostbackType
from gateway_async.models.contacts import Contact
from gateway_async.models.postbacks import Postback
from gateway_async.models.record import Record
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction

Passwords = str | Secret | Sequence[str | Secret]
"""One password, or several that are valid at the same time."""

RECORDS: Final[Mapping[str, type[Record]]] = {
    "contact": Contact,
    "transaction": Transaction,
    "transactionbatch": TransactionBatch,
    "accountvault": AccountVault,
}
"""Resource in a postback → the model class of its record."""

_FIELDS: Final = frozenset({"type", "resource", "number_of_attempts", "data"})
_MOST_FIELDS: Final = 64
_LONGEST_WORD: Final = 64
_LONGEST_ID: Final = 255
_DEEPEST: Final = 64
"""The maximum nesting depth of a record. Deeper values could exceed the stack when they are stored or read again."""

_ATTEMPTS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_canonical: Final = msgspec.json.Encoder(order="deterministic", decimal_format="string")


# --- authentication


class BasicCredentials:
    """The Basic credentials that a receiver expects, stored as digests and compared in constant time.

    Args:
        username: the username of the postback config; None, together with `passwords`, to accept any caller.
        passwords: the valid passwords, without `credentials_problems`; None, together with `username`, to accept any
            caller.
    """

    def __init__(self, username: str | None, passwords: Sequence[Secret] | None) -> None:
        self._digests = [_digest(f"{username}:{each.reveal()}".encode()) for each in passwords or ()]

    def check(self, headers: Mapping[str, str]) -> None:
        """Check that a request has the expected credentials.

        Args:
            headers: the request's headers by lower-case name.

        Raises:
            PostbackRefusedError: 401; the credentials are missing or wrong.
        """
        if not self._digests:
            return
        given = _digest(_read_credentials(headers.get("authorization", "")))
        matches = [compare_digest(given, expected) for expected in self._digests]  # all, to take the same time
        if not any(matches):
            raise PostbackRefusedError(401, "authorization: not the Basic credentials of this receiver")


def seal_passwords(passwords: Passwords | None) -> Sequence[Secret] | None:
    """Seal passwords, so that no traceback shows them."""
    if passwords is None:
        return None
    if isinstance(passwords, str | Secret) or not isinstance(passwords, Iterable):
        return [Secret(passwords)]
    return [Secret(each) for each in passwords]


def credentials_problems(username: str | None, passwords: Sequence[Secret] | None) -> Iterator[str]:
    """Yield one line for each problem of the expected credentials. None and None are no problem."""
    if username is None and passwords is None:
        return
    if not isinstance(username, str) or not username or not passwords or not all(each.reveal() for each in passwords):
        yield "username, password: both must be given"
        return
    if ":" in username:
        yield "username: must not contain a colon in Basic authorization"
    if not all(map(is_utf8, (username, *(each.reveal() for each in passwords)))):
        yield f"username, password: one {INVALID_CHARACTER}"


def _digest(credentials: bytes) -> bytes:
    return sha256(credentials).digest()  # of a fixed length, so that a comparison does not reveal theirs


def _read_credentials(authorization: str) -> bytes:
    scheme, _, encoded = authorization.partition(" ")
    try:
        return b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""


def by_lower_name(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by lower-case name. Repeated headers are joined by commas, as HTTP specifies."""
    named: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        named[lower] = f"{named[lower]}, {value}" if lower in named else value
    return named


# --- content


def read_postback(headers: Mapping[str, str], body: bytes) -> Postback[Any]:
    """Parse the postback in a request.

    Args:
        headers: the request's headers by lower-case name.
        body: the complete body.

    Raises:
        PostbackRefusedError: 400; the body is not a postback.
    """
    fields = _fields(headers.get("content-type", ""), body)
    data = fields.get("data")
    if isinstance(data, str):
        data = _decode_json(data.encode(), "data")
    if not isinstance(data, dict):
        raise PostbackRefusedError(400, "data: must be a record, as a JSON text")
    attempts = _attempts(fields.get("number_of_attempts"))
    return postback_of(_word(fields, "type"), _word(fields, "resource"), data, attempts=attempts)


def postback_of(
    type_: str, resource: str, raw: Mapping[str, Any], *, attempts: int | None = None, caught_up: bool = False
) -> Postback[Any]:
    """Build a postback from a raw record.

    Raises:
        PostbackRefusedError: 400; the record cannot be read.
    """
    _check_depth(raw)
    record = _record(resource, raw)
    return Postback(
        type=PostbackType(type_),
        resource=PostbackResource(resource),
        number_of_attempts=attempts,
        record=record,
        raw=raw,
        record_id=_identifier(raw.get("id") if record is None else getattr(record, "id", None), needed=bool(record)),
        modified_ts=_last_changed(resource, raw),
        key=sha256(_canonical.encode([type_, resource, raw])).hexdigest(),
        caught_up=caught_up,
    )


@attrs.frozen(kw_only=True)
class _Times(Record):
    """The timestamps that a record of any resource may have."""

    modified_ts: datetime | None = None
    batch_close_ts: datetime | None = None
    created_ts: datetime | None = None


def _last_changed(resource: str, raw: Mapping[str, Any]) -> datetime | None:
    times = structure(_Times, {name: raw.get(name) for name in ("modified_ts", "batch_close_ts", "created_ts")})
    if resource == PostbackResource.TRANSACTION_BATCH:  # it has no modified_ts of its own
        return times.modified_ts or times.batch_close_ts or times.created_ts
    return times.modified_ts


def _record(resource: str, raw: Mapping[str, Any]) -> Record | None:
    try:
        return structure(RECORDS[resource], raw) if resource in RECORDS else None
    except FieldError as error:
        raise PostbackRefusedError(400, f"data{error.path}: {error.reason}") from None


def _identifier(value: Any, *, needed: bool) -> str:
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and text.isprintable() and 0 < len(text) <= _LONGEST_ID:
        return text
    if needed:
        raise PostbackRefusedError(400, f"data.id: must be a text of 1 to {_LONGEST_ID} printable characters")
    return ""


def _check_depth(raw: Any) -> None:
    level = [raw]
    for _ in range(_DEEPEST):
        level = [each for value in level for each in _inner(value) if isinstance(each, dict | list)]
        if not level:
            return
    raise PostbackRefusedError(400, f"data: more than {_DEEPEST} levels deep")


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _fields(content_type: str, body: bytes) -> Mapping[str, Any]:
    text = as_utf8(body, content_type)
    fields = _object(text) if text.lstrip()[:1] in (b"{", b"[") else _form(body, content_type)
    if not _FIELDS & fields.keys():
        raise PostbackRefusedError(400, "the body: neither a form nor a JSON object with the fields of a postback")
    return fields


def _object(body: bytes) -> Mapping[str, Any]:
    fields = _decode_json(body, "the body")
    if not isinstance(fields, dict):
        raise PostbackRefusedError(400, "the body: must be an object")
    return fields


def _form(body: bytes, content_type: str) -> Mapping[str, Any]:
    try:
        pairs = parse_qsl(
            body.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise PostbackRefusedError(400, f"the body: must be a form of {_MOST_FIELDS} fields at most") from None
    fields: dict[str, str] = {}
    for pair in pairs:
        name, value = (as_utf8(each.encode("latin-1"), content_type).decode() for each in pair)
        if name in fields and name in _FIELDS:
            raise PostbackRefusedError(400, f"{name}: is given more than once in the form")
        fields[name] = value
    return fields


def _decode_json(text: bytes, place: str) -> Any:
    text = as_utf8(text)  # the text of `data` may have a byte order mark of its own
    try:
        content = decode(text)
    except ValueError:
        raise PostbackRefusedError(400, f"{place}: not JSON") from None
    _check_names(text, place)
    return content


def _check_names(text: bytes, place: str) -> None:
    """Reject an object that has a name twice, at any depth; its sender may mean either value."""
    try:
        name = repeated_name(text.decode())
    except ValueError:
        raise PostbackRefusedError(400, f"{place}: nested too deep") from None
    if name is not None:
        shown = quote_text(name, limit=_LONGEST_WORD)
        raise PostbackRefusedError(400, f"{place}: has {shown!r} more than once")


def _word(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_WORD:
        return value
    raise PostbackRefusedError(400, f"{name}: must be a word")


def _attempts(value: Any) -> int | None:
    """The number of delivery attempts; None if it is invalid, because that does not justify a refusal."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if _ATTEMPTS.fullmatch(text) else None

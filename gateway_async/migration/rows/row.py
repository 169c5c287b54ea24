"""A row of a migration, its task, and the id under which its account is stored (contract, *Account vault*)."""

import re
from base64 import b32encode
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._secrets import is_card_number, is_confidential, luhn_valid, mask_text
from gateway_async._wire.fields import fields_of, once_per_class
from gateway_async._wire.json_text import is_utf8
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import JournalEntry, RowStarted
from gateway_async.models.account_vaults import AccountVault, VaultCreate

_LENGTH: Final = 32
_NUMBERS: Final = re.compile(r"[\d\W_]+")
"""The parts of a key that may be a card number."""


@attrs.frozen(kw_only=True)
class VaultRow:
    """One row of a migration.

    Attributes:
        key: the name of the row within the migration, such as a customer's number; "" if it has no name.
        line: line number in its file, from 1; None if it comes from no file.
        request: the request that stores it; None if the row cannot be read.
        problems: why it cannot be stored, one line each, beginning with the field's name.
        source: the row as it is in its file, with the full card number, for the file of rejects.
        former_key: the key as earlier versions read it, if that differs, such as 1001.0 for 1001. A journal that one of
            them began goes on with it.
        has_full_date: whether the file gives the expiry as a full date, which a spreadsheet may have made.
    """

    key: str
    line: int | None = None
    request: VaultCreate | None = attrs.field(default=None, repr=False)
    problems: tuple[str, ...] = ()
    source: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    former_key: str | None = attrs.field(default=None, repr=False)
    has_full_date: bool = attrs.field(default=False, repr=False)


def key_problems(key: str, api_id: str | None) -> Iterator[str]:
    """Explain why no journal can store a row under these names."""
    if not key:
        yield "key: required (or account_vault_api_id)"
    elif "\0" in key or not is_utf8(key):
        yield "key: contains a character that cannot be stored"
    elif any(map(is_card_number, _NUMBERS.findall(f"{key}a{api_id or ''}"))):
        yield "key: contains a card number (expected another column, because the journal stores keys)"


def api_id_of(migration: str, key: str) -> str:
    """Return the `account_vault_api_id` of a row without one: 32 letters and digits, always the same.

    It is made of names alone, never of the card.
    """
    digest = sha256(f"{len(migration)}:{migration}{key}".encode(errors="surrogatepass")).digest()
    return "m" + b32encode(digest).decode().lower()[: _LENGTH - 1]


def fingerprint_of(row: VaultRow) -> str:
    """Hash the row's content: the hash changes when the content does.

    Of an account number it contains only the last four digits, the length and whether the check digit is valid.
    """
    number, routing = _reveal(row.request, "account_number"), _reveal(row.request, "routing")
    check_digit_valid = number.isascii() and number.isdigit() and luhn_valid(number)
    content = [
        *_public_values(row.request),
        number[-4:],
        len(number),
        check_digit_valid,
        routing[-4:],
        len(routing),
        *sorted(row.problems),
    ]
    return sha256(repr(content).encode()).hexdigest()[:_LENGTH]


def _public_values(request: VaultCreate | None) -> Iterator[str]:
    """Yield the values of a request without its secrets. A card number inside a text is masked."""
    if request is None:
        return
    yield type(request).__name__
    names, values = _reader(type(request))
    for name, value in zip(names, values(request), strict=True):
        if value is not None:
            yield f"{name}={mask_text(str(value))}"
    if request.extra:
        yield mask_text(str(sorted(request.extra.items())))


@once_per_class
def _reader(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[VaultCreate], tuple[Any, ...]]]:
    """Return the fields of a fingerprint, and a getter of their values."""
    names = tuple(name for name in fields_of(kind) if not is_confidential(name))
    return names, attrgetter(*names)


def _reveal(request: VaultCreate | None, name: str) -> str:
    secret = getattr(request, name, None)
    return "" if secret is None else str(secret.reveal())


R = TypeVar("R")

_ROWS_PER_CHECKPOINT: Final = 64
"""Rows of a plain iterable that are read before other tasks may run."""


async def iterate(rows: Iterable[R] | AsyncIterable[R]) -> AsyncGenerator[R, None]:
    """Yield all rows in order. A caller that may stop before the end must close this generator."""
    if isinstance(rows, AsyncIterable):
        async with _closing(aiter(rows)) as iterator:
            async for row in iterator:
                yield row
        return
    for number, row in enumerate(rows):
        if number % _ROWS_PER_CHECKPOINT == 0:
            await anyio.lowlevel.checkpoint()
        yield row


def _closing(iterator: AsyncIterator[R]) -> AbstractAsyncContextManager[AsyncIterator[R]]:
    """Return a context that closes a generator. The caller owns other iterators."""
    return aclosing(iterator) if isinstance(iterator, AsyncGenerator) else nullcontext(iterator)


InputRow = VaultRow | VaultCreate


@attrs.define
class RowTask:
    """A row that is being processed.

    Attributes:
        journal_row: the entry that the journal gets before it is sent.
        earlier_entry: the journal's earlier entry of it; None if it is new.
        sent: whether it may have been sent.
        admitted: whether it has acquired one row of the allowance.
    """

    row: VaultRow
    request: VaultCreate
    journal_row: RowStarted
    earlier_entry: JournalEntry | None = None
    sent: bool = False
    admitted: bool = False

    @property
    def sent_row(self) -> RowStarted:
        """The row with the id and the fingerprint that it was last sent with, perhaps by an earlier run."""
        entry = self.earlier_entry
        if entry is None:
            return self.journal_row
        return attrs.evolve(self.journal_row, api_id=entry.api_id, fingerprint=entry.fingerprint)

    @property
    def has_changed(self) -> bool:
        """Whether the input had other content when an earlier run sent the row."""
        return self.sent_row.fingerprint != self.journal_row.fingerprint


@attrs.frozen
class InvalidRow:
    """A row that cannot be sent, with its problems. It keeps its position among the others."""

    row: VaultRow
    row_number: int
    problems: tuple[str, ...]


async def iterate_rows(rows: Iterable[InputRow] | AsyncIterable[InputRow]) -> AsyncGenerator[InputRow, None]:
    """Yield the rows a user gave, in order.

    Replace the given rows by the result at once, because they may be mappings with card numbers by mistake, and an
    error's traceback shows local variables.

    Raises:
        InvalidRequestError: one of them is not a row.
    """
    async with aclosing(iterate(rows)) as given:
        async for row in given:
            if not isinstance(row, VaultRow | VaultCreate):
                kind = type(row).__name__
                del row, rows
                raise InvalidRequestError(f"rows: must be VaultRows or vault-create requests, not {kind}")
            yield row


def as_vault_row(given: InputRow) -> VaultRow:
    """Wrap a bare request in a row; a row is returned as it is."""
    if isinstance(given, VaultRow):
        return given
    return VaultRow(key=given.account_vault_api_id or "", request=given)


def row_problems(row: VaultRow) -> tuple[str, ...]:
    """Explain why a row cannot be sent; empty if it can."""
    api_id = None if row.request is None else row.request.account_vault_api_id
    problems = row.problems or tuple(key_problems(row.key, api_id))
    return problems or (() if row.request is not None else ("row: nothing to store",))


def storable_key(row: VaultRow) -> str:
    """The key of a row in a form that a journal can store.

    A card number in it is masked. A key with characters that cannot be stored is "".
    """
    return next((key for key in (row.key, mask_text(row.key)) if not any(key_problems(key, None))), "")


def create_row_task(row: VaultRow, request: VaultCreate, migration: str, row_number: int) -> RowTask:
    """Create a row's task. A request without an id gets one made from the migration's name and the row's key."""
    if request.account_vault_api_id is None:
        request = attrs.evolve(request, account_vault_api_id=api_id_of(migration, row.key))
    api_id = str(request.account_vault_api_id)
    fingerprint = fingerprint_of(row)
    return RowTask(
        row,
        request,
        RowStarted(key=row.key, api_id=api_id, fingerprint=fingerprint, line=row.line, row_number=row_number),
    )


def same_key(line: int | None) -> str:
    """Describe a row whose key an earlier row of the input has."""
    return f"key: {_name_row(line)} has the same key"


def other_content(line: int | None) -> str:
    """Describe a row whose key has an account with other content."""
    return f"key: {_name_row(line)} is stored under this key with other content"


def _name_row(line: int | None) -> str:
    return "another row" if line is None else f"line {line}"


def with_former_key(row: VaultRow) -> VaultRow:
    """Give a row its former key and id."""
    if row.former_key is None:
        return row
    request = row.request
    if request is not None and request.account_vault_api_id == row.key:
        request = attrs.evolve(request, account_vault_api_id=row.former_key)
    return attrs.evolve(row, key=row.former_key, request=request)


_COMPARED = ("exp_date", "account_holder_name", "contact_id")


def find_vault_differences(request: VaultCreate, vault: AccountVault) -> tuple[str, ...]:
    """List the differences between a row and its stored account.

    The result is empty if it is the same account. The last four digits, the expiry, the holder and the contact are
    compared, if the row has them.
    """
    return tuple(_differences(request, vault))


def _differences(request: VaultCreate, vault: AccountVault) -> Iterator[str]:
    number = getattr(request, "account_number", None)
    if number is not None and vault.last_four != number.reveal()[-4:]:
        yield f"last_four: is {vault.last_four}, not {number.reveal()[-4:]}"
    for name in _COMPARED:
        wanted = getattr(request, name, None)
        if wanted is not None and wanted != getattr(vault, name):
            yield f"{name}: is not the row's"

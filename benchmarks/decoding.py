"""The CPU time of decoding a page of 5000 records with 45 fields, and one record, beside other libraries.

    pip install -e '.[benchmarks]'
    python benchmarks/decoding.py --rounds 3

`orjson` and `json` make dictionaries. `pydantic` and `msgspec` make objects with typed fields from the whole page at
once, drop unknown fields, and know the same types. This package keeps unknown fields, and pauses between slices. "Loop
held" is the longest time without a pause, including Python's garbage collector; the first page takes longer.
"""

import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import attrs
import msgspec
import orjson
import pydantic
from comparison import Goal, Row, alone, beside, run

from gateway_async import AccountVault, Contact, Transaction
from gateway_async._wire.convert import structure_by_rules
from gateway_async._wire.json_text import decode
from gateway_async._wire.pagination import decode_page, read_raw_page
from gateway_async._wire.rows import structure
from gateway_async.models.record import Record

ROWS: Final = 5000
RECORDS: Final = 2000
"""How often one record is decoded for one measurement."""

LINKS: Final = {"_links": {"self": {"href": "https://gateway.example/v2/transactions/54c1c28a-5506-4935-59c9"}}}
TIMES: Final = {"created_ts": 1421951061, "modified_ts": 1421953145}
TEXTS: Final = (
    *("first_six", "last_four", "account_holder_name", "description", "avs", "batch", "order_num", "verbiage"),
    *("transaction_api_id", "location_id", "contact_id", "account_vault_id", "response_message", "room_num"),
)
ABSENT: Final = (
    *("recurring_id", "transaction_code", "transaction_settlement_status", "routing", "return_date", "terms_agree"),
    *("notification_email_address", "charge_back_date", "po_number", "checkin_date", "checkout_date", "room_rate"),
)
FLAGS: Final = ("notification_email_sent", "is_recurring", "advance_deposit", "no_show")
VAULT_TEXTS: Final = (
    *("title", "account_holder_name", "first_six", "last_four", "billing_address", "billing_city", "billing_state"),
    *("billing_zip", "billing_phone", "exp_date", "location_id", "contact_id", "account_vault_api_id", "customer_id"),
    *("accountvault_c1", "accountvault_c2", "accountvault_c3"),
)
VAULT_ABSENT: Final = ("routing", "ach_sec_code", "dl_number", "dl_state", "ssn4", "dob_year", "terms_agree")

OURS: Final = "gateway_async"
GOALS: Final = {"orjson": Goal(1), "pydantic": Goal(0.45)}
HELD_GOAL: Final = Goal(10)


def transaction(number: int) -> dict[str, Any]:
    """Make a transaction of 45 fields. Its model has 42 of them."""
    return {
        "id": f"54c1c28a-5506-4935-59c9-{number:012}",
        "payment_method": "cc",
        "status_id": 101,
        "type_id": 20,
        "account_type": "mc",
        "transaction_amount": f"{number % 1000}.50",
        "auth_amount": number % 1000,
        "effective_date": "2025-11-18",
        "settle_date": "2025-11-19",
        **{name: f"{name} {number}" for name in TEXTS},
        **dict.fromkeys(ABSENT),
        **dict.fromkeys(FLAGS, False),
        **TIMES,
        "code": "AUTH",
        "auth": "220093",
        "reason_code_id": 1000,
        **LINKS,
    }


def vault(number: int) -> dict[str, Any]:
    """Make an account vault of 45 fields. Its model has 33 of them."""
    return {
        "id": f"54c1c28a-5506-4935-59c9-{number:012}",
        "payment_method": "cc",
        "account_type": "mc",
        "is_company": False,
        "expiring_in_months": 12,
        "has_recurring": 0,
        "active": 1,
        **{name: f"{name} {number}" for name in VAULT_TEXTS},
        **dict.fromkeys(VAULT_ABSENT),
        **TIMES,
        **{f"custom_{extra}": f"value {number}" for extra in range(11)},
        **LINKS,
    }


PAGES: Final[dict[str, tuple[type[Record], Callable[[int], dict[str, Any]]]]] = {
    "transactions": (Transaction, transaction),
    "accountvaults": (AccountVault, vault),
}


def page_of(plural: str) -> bytes:
    """Make the body of a page."""
    rows = [PAGES[plural][1](number) for number in range(ROWS)]
    return json.dumps({plural: rows, "meta": {"pagination": {"totalCount": ROWS, "pageCount": 1}}}).encode()


def typed_fields(kind: type[Record], names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the types of fields that a row has."""
    hints = get_type_hints(kind)
    for name in names:
        if name in hints:
            yield name, hints[name] if NoneType in get_args(hints[name]) else hints[name] | None


def with_msgspec(plural: str, fields: dict[str, Any]) -> Callable[[bytes], Any]:
    """Return a decoder to attrs classes."""
    row = attrs.make_class(
        "Row", {name: attrs.field(default=None, type=kind) for name, kind in fields.items()}, frozen=True, slots=True
    )
    page = msgspec.defstruct("Page", [(plural, list[row])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(page, strict=False).decode


def with_pydantic(plural: str, fields: dict[str, Any]) -> Callable[[bytes], Any]:
    """Return a decoder to pydantic models."""
    row = pydantic.create_model("Row", **{name: (kind, None) for name, kind in fields.items()})
    return pydantic.create_model("Page", **{plural: (list[row], ...)}).model_validate_json


class Ours:
    """Decodes a page as the client does, and measures the longest time without a pause."""

    def __init__(self, plural: str) -> None:
        self._plural = plural
        self.held: list[float] = []

    def decode(self, body: bytes) -> Any:
        """Decode a page in slices."""
        began = time.process_time()
        raw = read_raw_page(decode_page(body, self._plural), self._plural, 1, PAGES[self._plural][0])
        longest, began = time.process_time() - began, time.process_time()
        records: list[Any] = []
        for some in raw.slices():
            records += some
            longest, began = max(longest, time.process_time() - began), time.process_time()
        self.held.append(max(longest, time.process_time() - began))
        return raw.page(records)


def measure(decoders: Mapping[str, Callable[[], Any]], rounds: int, units: float = 1e3) -> dict[str, list[float]]:
    """Measure each decoder once in every round; return its CPU times.

    `units` is how many units of the times are a second.
    """
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for decoder in decoders.values():
        decoder()
    for _ in range(rounds):
        for name, decoder in decoders.items():
            gc.collect()
            began = time.process_time()
            result = decoder()
            times[name].append((time.process_time() - began) * units)
            del result
    return times


def compare(subject: str, unit: str, times: dict[str, list[float]]) -> Iterator[Row]:
    """Compare our times with those of each other decoder."""
    for name, theirs in times.items():
        if name != OURS:
            yield beside(subject, unit, times[OURS], name, theirs, GOALS.get(name))


def page_rows(plural: str, rounds: int) -> Iterator[Row]:
    """Compare the decoding of a page."""
    body, ours = page_of(plural), Ours(plural)
    fields = dict(typed_fields(PAGES[plural][0], [*PAGES[plural][1](0)]))
    peers = {
        "orjson": orjson.loads,
        "json": json.loads,
        "pydantic": with_pydantic(plural, fields),
        "msgspec into attrs": with_msgspec(plural, fields),
    }
    decoders = {OURS: ours.decode} | peers
    times = measure({name: lambda read=read: read(body) for name, read in decoders.items()}, rounds)
    yield from compare(f"page of {plural}", "ms", times)
    yield alone(f"page of {plural}: loop held", "ms", [each * 1000 for each in ours.held[1:]], HELD_GOAL)


def record_rows(rounds: int) -> Iterator[Row]:
    """Compare the decoding of one contact: by generated code, by the rules, and to a dictionary."""
    contact = {"id": "c1", "first_name": "John", "last_name": "Smith", "email": "j@example.com", "email_trx_receipt": 1}
    absent = ("company_name", "address", "city", "state", "zip", "home_phone", "cell_phone", "date_of_birth")
    body = json.dumps({"contact": {**contact, **dict.fromkeys(absent), **TIMES, **LINKS}}).encode()
    decoders: dict[str, Callable[[], Any]] = {
        OURS: lambda: structure(Contact, decode(body)["contact"]),
        "the rules without generated code": lambda: structure_by_rules(Contact, decode(body)["contact"]),
        "orjson.loads": lambda: orjson.loads(body),
    }
    repeated = {name: lambda read=read: [read() for _ in range(RECORDS)] for name, read in decoders.items()}
    yield from compare("one contact", "µs", measure(repeated, rounds, 1e6 / RECORDS))


def main(rounds: int = 11) -> list[Row]:
    """Measure all decoders; return the comparisons with ours."""
    return [*page_rows("transactions", rounds), *page_rows("accountvaults", rounds), *record_rows(rounds)]


if __name__ == "__main__":
    run(main)

"""Payments, and the records of a gateway: what customers, banks and processors do, and what is stored."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import msgspec

from gateway_async.sandbox import seed
from gateway_async.sandbox.handlers import invoice_payments, paylinks, payment_pages, transaction_batches
from gateway_async.sandbox.handlers.payment_pages import AmountInput, PaymentPage
from gateway_async.sandbox.handlers.quick_invoices import read_file
from gateway_async.sandbox.http.responses import decode_json
from gateway_async.sandbox.ledger import COUNTED_EFFECTS
from gateway_async.sandbox.notifications import describe_message
from gateway_async.sandbox.request.records import make_links
from gateway_async.sandbox.runtime.gateway import Gateway, SandboxInfo
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    MESSAGE,
    PRODUCT_TRANSACTION,
    TICKET,
    TRANSACTION,
    TRANSACTION_BATCH,
)
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators import cards, vendor_tables
from gateway_async.sandbox.simulators.cards import TEST_CARDS, Account

_EXP_DATE = "1230"
"""The expiry of cards that customers enter on payment pages."""

_INDUSTRIES = ("retail", "restaurant", "lodging", "mailorder", "ecommerce")
_UPDATED = 1
"""The `cau_summary_status_id` of a changed card. The contract has no list of these codes."""
_VAULTS_PER_TRANSACTION = 5000
_SUMMARY_FIELDS = (
    "id",
    "location_id",
    "transaction_api_id",
    "account_vault_api_id",
    "account_vault_id",
    "transaction_amount",
    "auth_amount",
    "status_id",
    "type_id",
    "reason_code_id",
    "trx_source_id",
    "last_four",
    "is_open",
    "processing_status_id",
    "created_ts",
)


async def pay_quick_invoice(
    gateway: Gateway, quick_invoice_id: str, amount: AmountInput | None = None, *, card: str = "4111111111111111"
) -> Row:
    """Pay an invoice as a customer does on its payment page.

    Args:
        quick_invoice_id: The id of the invoice.
        amount: Two-decimal money; None pays the remaining balance.
        card: The card number that the customer enters.

    Returns:
        The `transaction`, whose `status_id` tells whether it was approved, and the updated `quickinvoice`.

    Raises:
        InvalidRequestError: The invoice or the card is unknown, the invoice is closed or has expired, or it does
            not accept the amount.
    """
    return await _pay(gateway, invoice_payments.INVOICE_PAGE, quick_invoice_id, amount, card)


async def pay_paylink(
    gateway: Gateway, paylink_id: str, amount: AmountInput | None = None, *, card: str = "4111111111111111"
) -> Row:
    """Pay a paylink as a customer does on its payment page.

    The payment covers the whole amount due. It may be declined.

    Args:
        paylink_id: The id of the paylink.
        amount: Two-decimal money, which has to be the amount due; None pays that amount.
        card: The card number that the customer enters.

    Returns:
        The `transaction`, whose `status_id` tells whether it was approved, and the updated `paylink`.

    Raises:
        InvalidRequestError: The paylink or the card is unknown, the paylink is paid or has expired, or the amount is
            not the amount due.
    """
    return await _pay(gateway, paylinks.PAYLINK_PAGE, paylink_id, amount, card)


async def _pay(gateway: Gateway, page: PaymentPage, bill_id: str, amount: AmountInput | None, card: str) -> Row:
    account = read_card_arguments(card, _EXP_DATE)
    transaction, bill = await payment_pages.pay_bill(gateway, page, bill_id, amount, account)
    table = page.table
    return {"transaction": _show(gateway, TRANSACTION, transaction), table.singular: _show(gateway, table, bill)}


def settle_batch(gateway: Gateway, batch_id: str) -> Row:
    """Settle a batch by hand, and return it."""
    batch = gateway.find_known(TRANSACTION_BATCH, batch_id)
    return _show(gateway, TRANSACTION_BATCH, transaction_batches.settle_batch(gateway, batch))


def process_batch(gateway: Gateway, batch_id: str, processing_status_id: int) -> Row:
    """Change the status of a batch as its processor does.

    Args:
        batch_id: The id of the batch.
        processing_status_id: 5 starts processing. Then 2 settles the batch, 3 fails and reopens it,
            and 6 abandons it. After a failure, 4 announces another try by the processor.

    Returns:
        The batch after the change.

    Raises:
        InvalidRequestError: The batch is unknown, or its status does not allow the change.
    """
    batch = gateway.find_known(TRANSACTION_BATCH, batch_id)
    return _show(gateway, TRANSACTION_BATCH, transaction_batches.process(gateway, batch, processing_status_id))


def isolate_payment(gateway: Gateway, transaction_id: str, *, settle: bool = False) -> Row:
    """Move a payment out of its open batch into one of its own, and settle that one if asked.

    Args:
        transaction_id: The id of the payment.
        settle: Whether to settle the new batch.

    Returns:
        The batch, which has no other payments.

    Raises:
        InvalidRequestError: The payment is unknown, or in no open batch.
    """
    batch = transaction_batches.isolate(gateway, gateway.find_known(TRANSACTION, transaction_id))
    if settle:
        batch = transaction_batches.settle_batch(gateway, batch)
    return _show(gateway, TRANSACTION_BATCH, batch)


def return_payment(gateway: Gateway, transaction_id: str, code: str = "R01") -> Row:
    """Let the bank return a bank payment, or correct its data.

    The bank has a payment from the midnight after it was accepted.

    Args:
        transaction_id: The id of the payment.
        code: R and two digits for a return, C for a notice of change, X for the return of a check image.

    Returns:
        The transaction after the change.

    Raises:
        InvalidRequestError: The payment or the code is unknown, or the bank does not have the payment.
    """
    payment = gateway.find_known(TRANSACTION, transaction_id)
    return _show(gateway, TRANSACTION, transaction_batches.return_payment(gateway, payment, code))


def update_card(gateway: Gateway, account_vault_id: str, card: str | None = None, exp_date: str | None = None) -> Row:
    """Let the card updater change a stored card, and post it back.

    Args:
        account_vault_id: The id of the account vault.
        card: The new number of the card; None keeps it.
        exp_date: The new expiry as MMYY; None keeps it.

    Returns:
        The account vault after the change.

    Raises:
        InvalidRequestError: The vault is unknown, deleted or a bank account, nothing is given, or a value is
            invalid.
    """
    vault = gateway.find_known(ACCOUNT_VAULT, account_vault_id)
    if vault["payment_method"] != "cc" or vault["deleted_ts"] is not None:
        raise ValueError(f"accountvault {vault['id']}: it is a bank account or deleted (expected a card).")
    changes: Row = {}
    if card is not None:
        account = read_card_arguments(card)
        changes |= {name: getattr(account, name) for name in ("account_type", "first_six", "last_four")}
    if exp_date is not None:
        changes["exp_date"] = _read_expiry(exp_date)
    if not changes:
        raise ValueError("card: required (or exp_date).")
    now = gateway.clock.timestamp()
    changes |= {"cau_summary_status_id": _UPDATED, "cau_last_updated_ts": now, "modified_ts": now}
    gateway.store.update(ACCOUNT_VAULT, vault["id"], changes)
    return _show(gateway, ACCOUNT_VAULT, vault | changes)


def change_product(
    gateway: Gateway,
    product_transaction_id: str | None = None,
    *,
    allow_partial_authorization: bool | None = None,
    auto_decline_cvv: bool | None = None,
    auto_decline_street: bool | None = None,
    auto_decline_zip: bool | None = None,
    surcharge: bool | None = None,
    level3_allow: bool | None = None,
    run_avs_on_accountvault_create: bool | None = None,
    license_verification: bool | None = None,
    ach_terminal: str | None = None,
    industry_type: str | None = None,
) -> Row:
    """Change settings of a merchant account.

    Args:
        product_transaction_id: The id of the merchant account; the default is the first one for cards.
        allow_partial_authorization: Whether less than the amount may be approved; on at first.
        auto_decline_cvv: Whether a payment is declined if its CVV could not be checked; off at first.
        auto_decline_street: Whether a payment is declined if its street does not match; off at first.
        auto_decline_zip: Whether a payment is declined if its zip does not match; off at first.
        surcharge: Whether a payment must name the parts of its amount; off at first.
        level3_allow: Whether a payment takes level 3 data; off at first.
        run_avs_on_accountvault_create: Whether the address of a card is checked before it is stored; off at first.
        license_verification: Whether a bank account needs a `customer_id`, or else `dl_number` and `dl_state`; off
            at first.
        ach_terminal: The number of a test terminal for bank payments, such as "1010"; "" removes it.
        industry_type: `retail`, `restaurant`, `lodging`, `mailorder` or `ecommerce`, which it is at first.

    Returns:
        The merchant account after the change.

    Raises:
        InvalidRequestError: The merchant account, the test terminal or the industry is unknown.
    """
    product_id = gateway.info.cc_product_transaction_id if product_transaction_id is None else product_transaction_id
    product = gateway.find_known(PRODUCT_TRANSACTION, product_id)
    settings = {
        "allow_partial_authorization": allow_partial_authorization,
        "auto_decline_cvv": auto_decline_cvv,
        "auto_decline_street": auto_decline_street,
        "auto_decline_zip": auto_decline_zip,
        "surcharge": surcharge,
        "level3_allow": level3_allow,
        "run_avs_on_accountvault_create": run_avs_on_accountvault_create,
        "license_verification": license_verification,
    }
    changes: Row = {name: int(value) for name, value in settings.items() if value is not None}
    if ach_terminal:
        vendor_tables.read_terminal(ach_terminal)
    if ach_terminal is not None:
        changes["ach_terminal"] = ach_terminal or None
    if industry_type is not None:
        if industry_type not in _INDUSTRIES:
            raise ValueError(f"industry_type: {industry_type[:20]!r} is unknown (expected {', '.join(_INDUSTRIES)}).")
        changes["industry_type"] = industry_type
    if changes:
        gateway.store.update(PRODUCT_TRANSACTION, product_id, changes)
    return PRODUCT_TRANSACTION.show(product | changes)


def ledger(gateway: Gateway) -> Row:
    """Count how often each integrator id was `charged`, `refunded` or `stored`, and return the records.

    A voided payment still counts as charged. A decline and an address check move no money.
    `settled` counts how often requests, not midnight, settled each batch.
    """
    counts = {name: effect.count_by_id(gateway) for name, effect in COUNTED_EFFECTS.items()}
    counts["settled"] = transaction_batches.count_settling_requests(gateway)
    tables = (TRANSACTION, ACCOUNT_VAULT, TRANSACTION_BATCH)
    return counts | {table.plural: [_summarize(table, row) for row in gateway.store.select(table)] for table in tables}


def _summarize(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _SUMMARY_FIELDS if name in record}


def file(gateway: Gateway, file_id: str) -> bytes:
    """Read the content of a file attached to an invoice.

    Raises:
        InvalidRequestError: The file is unknown.
    """
    content, _ = read_file(gateway, file_id)
    return content


def add_location(gateway: Gateway, name: str = "Second", parent_id: str | None = None) -> SandboxInfo:
    """Add a location with its own user, and return its info. `parent_id` is the location above it, if any."""
    return seed.add_location(gateway, gateway.info.developer_id, name, parent_id)


async def add_vaults(gateway: Gateway, count: int) -> None:
    """Store many account vaults, each with its own `account_vault_api_id`.

    Raises:
        InvalidRequestError: The count is negative.
    """
    if count < 0:
        raise ValueError("count: must be 0 or more.")
    card = cards.read_card(TEST_CARDS["visa"], "1230", "John Smith")
    values = attrs.asdict(card) | {"contact_id": gateway.info.contact_id}
    template = gateway.new_row(ACCOUNT_VAULT, gateway.first_location, values)
    series = secrets.token_hex(4)
    for start in range(0, count, _VAULTS_PER_TRANSACTION):
        with gateway.store.transaction():
            numbers = range(start, min(start + _VAULTS_PER_TRANSACTION, count))
            names = ({"account_vault_api_id": f"seed-{series}-{n}", "title": f"Vault {n}"} for n in numbers)
            gateway.store.insert(ACCOUNT_VAULT, *(template | {"id": gateway.ids.new()} | own for own in names))
        await asyncio.sleep(0)


def ticket(gateway: Gateway, card: str = "4111111111111111", exp_date: str = "1230") -> str:
    """Create a ticket, which can replace a card once.

    Raises:
        InvalidRequestError: The card number is invalid, or the expiry does not have the form MMYY.
    """
    values = attrs.asdict(read_card_arguments(card, exp_date))
    return str(gateway.create(TICKET, gateway.first_location, values)["id"])


def outbox(gateway: Gateway, quick_invoice_id: str | None = None, paylink_id: str | None = None) -> list[Row]:
    """List the e-mails and text messages to customers, newest last.

    The sandbox stores these messages and does not send them.

    Args:
        quick_invoice_id: Return only messages about this invoice.
        paylink_id: Return only messages about this paylink.

    Returns:
        For each message its `channel` ("email" or "sms"), the recipient `to`, the `event` ("created", "resend",
        "before due", "due", "after due", "paid"), `created_ts` in Unix seconds, `subject`, `text` with the
        link, the names of the `attachments`, and `quick_invoice_id` or `paylink_id`.
    """
    found = gateway.store.filter(MESSAGE, quick_invoice_id=quick_invoice_id, paylink_id=paylink_id)
    return [describe_message(row) for row in found]


def read_card_arguments(number: str, exp_date: str | None = None) -> Account:
    """Read the arguments `card` and `exp_date`, which errors name."""
    with _prefix_errors("card"):
        account = cards.read_card(number, exp_date)
    if exp_date is not None:
        _read_expiry(exp_date)
    return account


def _read_expiry(exp_date: str) -> str:
    with _prefix_errors("exp_date"):
        return cards.check_expiry(exp_date)


@contextmanager
def _prefix_errors(argument: str) -> Iterator[None]:
    try:
        yield
    except ValueError as reason:
        raise ValueError(f"{argument}: {reason}") from None


def _show(gateway: Gateway, table: Table, row: Row) -> Row:
    """Return a record as GET shows it, in plain values."""
    record: Row = decode_json(msgspec.json.encode(table.show(row)))
    return record | {"_links": make_links(gateway, table, row)}

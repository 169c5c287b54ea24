"""The public interface as type checkers see it. Never executed: `mypy --strict` and pyright read it.

Every method has its `assert_type`. Every mistake that type checkers must report has a needed ignore.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal, Never, assert_type

from aiohttp import web

import gateway_async as ga
from gateway_async import AsyncGateway
from gateway_async._secrets import Secret
from gateway_async.observe import (
    AttemptFailed,
    CallEnded,
    Event,
    LookupOutcome,
    NextStep,
    OutcomeLookedUp,
    TerminalProgress,
    TerminalState,
)
from gateway_async.postbacks import (
    CatchUpResult,
    InboxHealth,
    Postback,
    PostbackReceiver,
    PostbackRefusedError,
    ReceiverHealth,
    SqliteInbox,
)
from gateway_async.postbacks.http.response import ReceiverResponse
from gateway_async.sandbox import Sandbox, SandboxInfo
from gateway_async.telemetry import Health, OpenTelemetryObserver, Readiness, ReceiverMetrics

KEY = ga.UserApiKey("user", "key")


async def clients() -> None:
    async with AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY) as gateway:
        assert_type(gateway, AsyncGateway)
        assert_type(gateway.base_url, str)
        assert_type(gateway.location_id, str | None)
    assert_type(AsyncGateway.from_env(timeout=5.0), AsyncGateway)
    assert_type(AsyncGateway.from_env(circuit_breaker=ga.CircuitBreaker(failures=5)), AsyncGateway)
    assert_type(ga.CircuitBreaker(reset_after=30).state, ga.CircuitState)
    assert_type(gateway.with_options(timeout=5, max_attempts=1, location_id="loc", check_limits=False), AsyncGateway)
    assert_type(gateway.with_options(terminal_timeout=60), AsyncGateway)
    gateway.with_options(timeout="5")  # type: ignore[arg-type]
    gateway.with_options(max_connections=5)  # type: ignore[call-arg]
    assert_type(await gateway.aclose(), None)
    AsyncGateway("https://api.example.test", "dev", KEY)  # type: ignore[call-arg]
    AsyncGateway("https://api.example.test", developer_id="dev")  # type: ignore[call-arg]
    AsyncGateway("https://api.example.test", developer_id="dev", credentials="key")  # type: ignore[arg-type]
    ga.UserApiKey("user", "key", "cookies")  # type: ignore[arg-type]


async def credentials() -> None:
    async def ask() -> str:
        return "token"

    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.PasswordLogin("ada", "word", "example", "query"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.AccessToken(Secret("token"), send_in="query"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.HashKey("user", "key"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.BearerToken("token"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.BearerToken(ask))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.UserApiKey("user", ask))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.HashKey("user", lambda: Secret("key")))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.PasswordLogin("ada", ask, "example"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=ga.AccessToken(lambda: "token"))
    ga.UserApiKey("user", lambda: 5)  # type: ignore[arg-type, return-value]
    ga.PasswordLogin("ada", "word")  # type: ignore[call-arg]
    ga.AccessToken("token", "basic")  # type: ignore[arg-type]
    ga.HashKey("user", "key", "basic")  # type: ignore[arg-type]


async def tokens(gateway: AsyncGateway) -> None:
    assert_type(await gateway.tokens.create("ada", "word", "example"), ga.Token)
    token = await gateway.tokens.create("ada", "word", "example")
    assert_type(token.token, Secret)
    assert_type(await gateway.tokens.delete(token), None)
    assert_type(await gateway.tokens.delete(token.token), None)
    assert_type(await gateway.tokens.delete("token"), None)
    ga.AccessToken(token.token)
    await gateway.tokens.create("ada", "word")  # type: ignore[call-arg]
    await gateway.tokens.delete(5)  # type: ignore[arg-type]


def observers() -> None:
    """An observer takes events, which are told apart by their class."""

    def watch(event: Event) -> None:
        if isinstance(event, CallEnded):
            assert_type(event.seconds, float)
            assert_type(event.status_code, int | None)
        if isinstance(event, AttemptFailed):
            assert_type(event.next_step, NextStep)
        if isinstance(event, OutcomeLookedUp):
            assert_type(event.outcome, LookupOutcome)

    gateway = AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, observers=[watch])
    assert_type(gateway.observing(watch), AbstractContextManager[None])


def records_and_requests(vault: ga.AccountVault, new: ga.CardVaultCreate, title: str | ga.Unset = ga.UNSET) -> None:
    """Every record is a `Record`, every request a `Request`, and `UNSET` is the one value of `Unset`."""
    record: ga.Record = vault
    request: ga.Request = new
    assert_type(record.extra, Mapping[str, Any])
    assert_type(record.to_dict(), dict[str, Any])
    assert_type(request.extra, Mapping[str, Any])
    assert_type(ga.AccountVaultUpdate(title=title).title, str | ga.Unset | None)
    if title is not ga.UNSET:
        assert_type(title, str)
    ga.AccountVaultUpdate(title=5)  # type: ignore[arg-type]
    vault.title = "new"  # type: ignore[misc]


async def account_vaults(gateway: AsyncGateway) -> None:
    card = ga.CardVaultCreate(account_number="4111111111111111", exp_date="0930")
    assert_type(await gateway.account_vaults.create(card), ga.AccountVault)
    assert_type(await gateway.account_vaults.create_once(card), ga.AccountVault)
    assert_type(await gateway.account_vaults.get("id", expand=("contact",)), ga.AccountVault)
    assert_type(await gateway.account_vaults.get(ga.ApiId("mine", location_id="loc")), ga.AccountVault)
    assert_type(
        gateway.account_vaults.list({"title": "x"}, sort="-created_ts", page_size=10), ga.Pages[ga.AccountVault]
    )
    pages = gateway.account_vaults.list(extra_filters={"new_field": 1})
    assert_type(await pages.to_list(), list[ga.AccountVault])
    assert_type(await pages.to_list(limit=5), list[ga.AccountVault])
    assert_type(await gateway.account_vaults.update("id", ga.AccountVaultUpdate(title=None)), ga.AccountVault)
    assert_type(await gateway.account_vaults.delete(ga.ApiId("mine")), None)
    assert_type(await gateway.account_vaults.bin_info("id"), ga.BinInfo)
    await gateway.account_vaults.create(ga.ContactCreate(last_name="Smith"))  # type: ignore[arg-type]
    await gateway.account_vaults.create({"title": "x"})  # type: ignore[arg-type]
    await gateway.account_vaults.update("id", card)  # type: ignore[arg-type]
    await gateway.account_vaults.get(5)  # type: ignore[arg-type]
    gateway.account_vaults.list(sort=["title"])  # type: ignore[arg-type]


async def contacts(gateway: AsyncGateway) -> None:
    assert_type(
        await gateway.contacts.create(ga.ContactCreate(last_name="Smith", date_of_birth=date(1970, 1, 2))), ga.Contact
    )
    assert_type(await gateway.contacts.create_once(ga.ContactCreate(last_name="Smith")), ga.Contact)
    assert_type(await gateway.contacts.get(ga.ApiId("mine")), ga.Contact)
    assert_type(gateway.contacts.list(), ga.Pages[ga.Contact])
    assert_type(await gateway.contacts.update("id", ga.ContactUpdate(email=None, city=ga.UNSET)), ga.Contact)
    assert_type(await gateway.contacts.delete("id"), None)
    ga.ContactCreate()  # type: ignore[call-arg]
    ga.ContactCreate({}, last_name="Smith")  # type: ignore[call-arg]
    ga.ContactCreate(last_name="Smith", contact_balance=1.5)  # type: ignore[arg-type]
    ga.ContactCreate(last_name="Smith", date_of_birth="1970-01-02")  # type: ignore[arg-type]
    ga.ContactCreate(last_name="Smith", nickname="Jo")  # type: ignore[call-arg]


async def untyped(gateway: AsyncGateway) -> None:
    plans = gateway.resource("plans", name="plan", api_id="plan_api_id")
    assert_type(gateway.resource("plans", name="plan"), ga.UntypedResource)
    assert_type(await plans.create({"title": "Tea"}), ga.UntypedRecord)
    assert_type(await plans.create_once({"title": "Tea"}), ga.UntypedRecord)
    assert_type(await plans.get(ga.ApiId("mine")), ga.UntypedRecord)
    assert_type(plans.list({"title": "Tea"}), ga.Pages[ga.UntypedRecord])
    assert_type(await plans.update("id", {"title": None}), ga.UntypedRecord)
    assert_type(await plans.delete("id"), None)
    assert_type(await plans.action("id", "activate"), ga.UntypedRecord | None)
    assert_type((await plans.get("id"))["title"], Any)
    assert_type(await gateway.request("GET", "/v2/plans"), ga.Reply)
    assert_type((await gateway.request("POST", "/v2/search", body={"q": "Tea"}, kind="read")).json(), Any)
    await gateway.request("get", "/v2/plans")  # type: ignore[arg-type]
    await gateway.request("GET", "/v2/plans", kind="maybe")  # type: ignore[arg-type]
    gateway.resource("plans")  # type: ignore[call-arg]


async def outcomes(gateway: AsyncGateway, unknown: ga.OutcomeUnknownError, taken: ga.DuplicateError) -> None:
    """Each resource resolves the errors of its writes as its own type."""
    plans = gateway.resource("plans", name="plan", api_id="plan_api_id")
    assert_type(await gateway.account_vaults.resolve(unknown), ga.AccountVault | None)
    assert_type(await gateway.contacts.resolve(unknown), ga.Contact | None)
    assert_type(await gateway.notes.resolve(unknown), ga.Note | None)
    assert_type(await gateway.paylinks.resolve(unknown), ga.Paylink | None)
    assert_type(await gateway.postback_configs.resolve(unknown), ga.PostbackConfig | None)
    assert_type(await gateway.product_files.resolve(unknown), ga.ProductFile | None)
    assert_type(await gateway.quick_invoices.resolve(unknown), ga.QuickInvoice | None)
    assert_type(await gateway.recurrings.resolve(unknown), ga.Recurring | None)
    assert_type(await gateway.router_account_vaults.resolve(unknown), ga.AccountVault | None)
    assert_type(await gateway.router_transactions.resolve(unknown), ga.Transaction | None)
    assert_type(await gateway.tags.resolve(unknown), ga.Tag | None)
    assert_type(await gateway.transaction_batches.resolve(unknown), ga.TransactionBatch | None)
    assert_type(await gateway.transactions.resolve(unknown, wait=5), ga.Transaction | None)
    assert_type(await plans.resolve(unknown), ga.UntypedRecord | None)
    assert_type(await gateway.account_vaults.existing(taken), ga.AccountVault)
    assert_type(await gateway.contacts.existing(taken), ga.Contact)
    assert_type(await gateway.paylinks.existing(taken), ga.Paylink)
    assert_type(await gateway.quick_invoices.existing(taken), ga.QuickInvoice)
    assert_type(await gateway.router_transactions.existing(taken), ga.Transaction)
    assert_type(await gateway.transactions.existing(taken), ga.Transaction)
    assert_type(await plans.existing(taken), ga.UntypedRecord)
    assert_type(await taken.fetch(), ga.Record)
    await gateway.transactions.resolve(taken)  # type: ignore[arg-type]
    await gateway.transactions.resolve(unknown, "5")  # type: ignore[arg-type]
    await gateway.transactions.existing(unknown)  # type: ignore[arg-type]
    await gateway.tags.existing(taken)  # type: ignore[attr-defined]
    await gateway.recurrings.create_once  # type: ignore[attr-defined]
    await gateway.terminals.resolve(unknown)  # type: ignore[attr-defined]


async def transactions(gateway: AsyncGateway) -> None:
    sale = ga.TransactionCreate(action="sale", transaction_amount=Decimal("12.50"), account_vault_id="v1")
    assert_type(await gateway.transactions.create(sale), ga.Transaction)
    assert_type(await gateway.transactions.create_once(sale), ga.Transaction)
    assert_type(await gateway.transactions.get("id"), ga.Transaction)
    assert_type(gateway.transactions.list({"created_ts": ga.TimeRange.LAST_30_DAYS}), ga.Pages[ga.Transaction])
    assert_type(await gateway.transactions.update("id", ga.TransactionUpdate(action="edit", tax=0)), ga.Transaction)
    assert_type(await gateway.transactions.void(ga.ApiId("mine")), ga.Transaction)
    assert_type(await gateway.transactions.increment("id", Decimal("15.00")), ga.Transaction)
    assert_type(await gateway.transactions.complete("id"), ga.Transaction)
    assert_type(await gateway.transactions.complete("id", "12.50"), ga.Transaction)
    assert_type(await gateway.transactions.refund("id"), ga.Transaction)
    assert_type(await gateway.transactions.refund(ga.ApiId("mine"), 5, transaction_api_id="back"), ga.Transaction)
    assert_type(await gateway.transactions.tip_adjust("id", Decimal("2.00"), "14.50"), ga.Transaction)
    assert_type(await gateway.transactions.edit("id", description="Tea", contact_id=None), ga.Transaction)
    await gateway.transactions.refund("id", 5.0)  # type: ignore[arg-type]
    await gateway.transactions.tip_adjust("id")  # type: ignore[call-arg]
    assert_type(await gateway.transactions.bin_info("id"), ga.BinInfo)
    ga.TransactionCreate(
        action=ga.TransactionAction("charge"), payment_method=ga.PaymentMethod("cash"), account_vault_id="v1"
    )
    ga.TransactionCreate(action=ga.TransactionAction.SALE, account_type="visa", ach_sec_code="WEB")
    ga.TransactionUpdate(action=ga.TransactionAction("charge"))
    ga.TransactionCreate(action="charge")  # type: ignore[arg-type]
    ga.TransactionCreate(action="void")  # type: ignore[arg-type]
    ga.TransactionCreate(action=gateway.base_url)  # type: ignore[arg-type]
    ga.TransactionCreate(action=ga.PaymentMethod.CARD)  # type: ignore[arg-type]
    ga.TransactionCreate(action="sale", payment_method="card")  # type: ignore[arg-type]
    ga.TransactionCreate(action="sale", account_type="vsia")  # type: ignore[arg-type]
    ga.TransactionCreate(action="sale", ach_sec_code="web")  # type: ignore[arg-type]
    ga.TransactionUpdate(action="sale")  # type: ignore[arg-type]
    ga.AchVaultCreate(account_number="1", routing="1", account_holder_name="A", account_type="visa", is_company=False)  # type: ignore[arg-type]
    ga.TicketVaultCreate(ticket="t", payment_method="card")  # type: ignore[arg-type]
    ga.PaylinkCreate(amount_due=12, paylink_action=ga.PaylinkAction("hold"))
    ga.PaylinkCreate(amount_due=12, paylink_action="auth_only")  # type: ignore[arg-type]
    ga.PostbackConfigCreate(url="https://shop.test", resource="transactions")  # type: ignore[arg-type]
    ga.RouterTransactionCreate(action="settle", terminal_id="t", transaction_amount=1)
    ga.RouterTransactionCreate(action=ga.TransactionAction("charge"), terminal_id="t", transaction_amount=1)
    ga.RouterTransactionCreate(action="charge", terminal_id="t", transaction_amount=1)  # type: ignore[arg-type]
    await gateway.transactions.increment("id", 15.0)  # type: ignore[arg-type]
    await gateway.transactions.increment("id")  # type: ignore[call-arg]
    ga.TransactionCreate(action="sale", transaction_amount=12.5)  # type: ignore[arg-type]
    ga.TransactionCreate(transaction_amount=12)  # type: ignore[call-arg]


async def quick_invoices(gateway: AsyncGateway, file: BinaryIO) -> None:
    invoices = gateway.quick_invoices
    new = ga.QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": Decimal("2.50")})
    files = [ga.Attachment("a.pdf", b"%PDF"), ga.Attachment("b", Path("b"), "text/plain"), ga.Attachment("c", file)]
    assert_type(await invoices.create(new), ga.QuickInvoice)
    assert_type(await invoices.create(new, files=files), ga.QuickInvoice)
    assert_type(await invoices.create_once(new), ga.QuickInvoice)
    assert_type(await invoices.create_once(new, files=files), ga.QuickInvoice)
    assert_type(await invoices.get(ga.ApiId("mine"), expand=("files",)), ga.QuickInvoice)
    assert_type(invoices.list({"status_id": [0, 1]}), ga.Pages[ga.QuickInvoice])
    assert_type(
        await invoices.update("id", ga.QuickInvoiceUpdate(item_list={"Tea": "3.00"}, note=None)), ga.QuickInvoice
    )
    assert_type(await invoices.delete("id"), None)
    assert_type(await invoices.reopen("id"), ga.QuickInvoice)
    assert_type(await invoices.add_transaction("id", "transaction"), ga.QuickInvoice)
    assert_type(await invoices.remove_transaction(ga.ApiId("mine"), "transaction"), ga.QuickInvoice)
    assert_type(await invoices.resend("id", email=True, sms=False), None)
    await invoices.resend("id", False)  # type: ignore[call-arg]
    assert_type(await invoices.attach_file("id", files[0]), ga.QuickInvoiceFile | None)
    assert_type(await invoices.remove_file("id", "file"), None)
    assert_type(invoices.payment_url(ga.ApiId("mine")), str)
    ga.QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1))  # type: ignore[call-arg]
    ga.QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": 2.5})  # type: ignore[dict-item]
    ga.Attachment("a.pdf", "a.pdf")
    ga.Attachment("a.pdf", 5)  # type: ignore[arg-type]
    await invoices.create(new, files[0])  # type: ignore[arg-type]
    await invoices.add_transaction("id", ga.ApiId("mine"))  # type: ignore[arg-type]


async def paylinks(gateway: AsyncGateway) -> None:
    new = ga.PaylinkCreate(amount_due=Decimal("12.50"), delivery_method=ga.DeliveryMethod.EMAIL)
    assert_type(await gateway.paylinks.create(new), ga.Paylink)
    assert_type(await gateway.paylinks.create_once(new), ga.Paylink)
    assert_type(await gateway.paylinks.get("id"), ga.Paylink)
    assert_type(gateway.paylinks.list(), ga.Pages[ga.Paylink])
    assert_type(await gateway.paylinks.update(ga.ApiId("mine"), ga.PaylinkUpdate(email=None)), ga.Paylink)
    assert_type(await gateway.paylinks.delete("id"), None)
    assert_type(await gateway.paylinks.resend("id"), None)
    assert_type(gateway.paylinks.payment_url("id"), str)
    ga.PaylinkCreate()  # type: ignore[call-arg]
    ga.PaylinkCreate(amount_due=12.5)  # type: ignore[arg-type]


async def recurrings(gateway: AsyncGateway) -> None:
    new = ga.RecurringCreate(
        transaction_amount="10.00", interval=1, interval_type="m", start_date=date(2030, 1, 31), account_vault_id="v"
    )
    assert_type(await gateway.recurrings.create(new), ga.Recurring)
    plan = await gateway.recurrings.get("id")
    assert_type(plan.next_run_date, date | None)
    assert_type(plan.status, ga.RecurringStatus | None)
    assert_type(plan.recurring_type_id, ga.RecurringType | None)
    assert_type(plan.interval_type, ga.IntervalType | None)
    assert_type(plan.transaction_amount, Decimal | None)
    assert_type(await gateway.recurrings.get("id"), ga.Recurring)
    assert_type(gateway.recurrings.list(), ga.Pages[ga.Recurring])
    assert_type(await gateway.recurrings.update("id", ga.RecurringUpdate(end_date=None)), ga.Recurring)
    assert_type(await gateway.recurrings.skip("id", 2), ga.Recurring)
    assert_type(await gateway.recurrings.defer("id", 2), ga.Recurring)
    assert_type(await gateway.recurrings.hold("id"), ga.Recurring)
    assert_type(await gateway.recurrings.activate("id"), ga.Recurring)
    assert_type(await gateway.recurrings.delete("id"), None)
    ga.RecurringCreate(transaction_amount="10.00", interval=1, interval_type="m")  # type: ignore[call-arg]
    ga.RecurringUpdate(transaction_amount="10.00")  # type: ignore[call-arg]


async def tags_and_notes(gateway: AsyncGateway) -> None:
    assert_type(await gateway.tags.create(ga.TagCreate(title="Rent")), ga.Tag)
    assert_type(await gateway.tags.get("id"), ga.Tag)
    assert_type(gateway.tags.list(), ga.Pages[ga.Tag])
    assert_type(await gateway.tags.update("id", ga.TagUpdate(title="Lease")), ga.Tag)
    assert_type(await gateway.tags.delete("id"), None)
    assert_type(await gateway.notes.create(ga.NoteCreate(resource="Contact", resource_id="c")), ga.Note)
    note = await gateway.notes.get("id")
    assert_type(note.resource, ga.NoteResource | None)
    assert_type(await gateway.notes.get("id"), ga.Note)
    assert_type(gateway.notes.list(), ga.Pages[ga.Note])
    assert_type(await gateway.notes.update("id", ga.NoteUpdate(note=None)), ga.Note)
    assert_type(await gateway.notes.delete("id"), None)
    ga.NoteCreate(resource="Contact")  # type: ignore[call-arg]
    ga.TagCreate()  # type: ignore[call-arg]


async def accounts(gateway: AsyncGateway) -> None:
    assert_type(await gateway.locations.get(ga.ApiId("mine")), ga.Location)
    assert_type(gateway.locations.list(), ga.Pages[ga.Location])
    assert_type(gateway.locations.infos({"relationship": "all"}), ga.Pages[ga.LocationInfo])
    assert_type(await gateway.terminals.get("id"), ga.Terminal)
    assert_type(gateway.terminals.list(), ga.Pages[ga.Terminal])
    assert_type(await gateway.users.get("id"), ga.User)
    assert_type(gateway.users.list(), ga.Pages[ga.User])
    assert_type(await gateway.users.me(), ga.User)


async def transaction_batches(gateway: AsyncGateway) -> None:
    assert_type(await gateway.transaction_batches.get("id"), ga.TransactionBatch)
    assert_type(gateway.transaction_batches.list({"created_ts": ga.TimeRange.TODAY}), ga.Pages[ga.TransactionBatch])
    assert_type(await gateway.transaction_batches.settle("id"), ga.TransactionBatch)
    await gateway.transaction_batches.settle(ga.ApiId("mine"))  # type: ignore[arg-type]


async def postback_configs(gateway: AsyncGateway) -> None:
    new = ga.PostbackConfigCreate(url="https://shop.test", resource="contact", basic_auth_password="pw")
    assert_type(await gateway.postback_configs.create(new), ga.PostbackConfig)
    changes = ga.PostbackConfigUpdate(on_update=True, basic_auth_password=None)
    assert_type(await gateway.postback_configs.update("id", changes), ga.PostbackConfig)
    assert_type(await gateway.postback_configs.delete("id"), None)
    storage = ga.ProductFileCreate(title="Files", product_file_credential_id="credential")
    assert_type(await gateway.product_files.create(storage), ga.ProductFile)
    ga.PostbackConfigCreate(url="https://shop.test")  # type: ignore[call-arg]
    ga.ProductFileCreate(title="Files")  # type: ignore[call-arg]


async def router(gateway: AsyncGateway) -> None:
    pay = ga.RouterTransactionCreate(action="sale", terminal_id="term", transaction_amount=12)
    assert_type(await gateway.router_transactions.create(pay), ga.Transaction)
    assert_type(await gateway.router_transactions.create(pay, on_progress=show), ga.Transaction)
    assert_type(await gateway.router_transactions.create_once(pay), ga.Transaction)
    assert_type(await gateway.router_transactions.create_once(pay, on_progress=show), ga.Transaction)
    store = ga.RouterAccountVaultCreate(terminal_id="term", contact_id="c1")
    assert_type(await gateway.router_account_vaults.create(store), ga.AccountVault)
    assert_type(await gateway.router_account_vaults.create(store, on_progress=print), ga.AccountVault)
    ga.RouterTransactionCreate(action="sale", terminal_id="term")  # type: ignore[call-arg]
    ga.RouterAccountVaultCreate(terminal_id="term")  # type: ignore[call-arg]
    await gateway.router_transactions.create(store)  # type: ignore[arg-type]
    await gateway.router_transactions.create(pay, on_progress=len)  # type: ignore[arg-type]
    await gateway.router_transactions.create_once(store)  # type: ignore[arg-type]


def show(progress: TerminalProgress) -> None:
    """A till's screen."""
    assert_type(progress.state, TerminalState)
    assert_type((progress.holder, progress.waited, progress.left), tuple[str, float, float | None])


def leases() -> None:
    """A lease of the package's, or one's own."""
    lease: ga.TerminalLease = ga.RedisTerminalLease("redis://till", owner="till-7", seconds=30, wait=None)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, terminal_lease=lease)
    ga.RedisTerminalLease("redis://till")  # type: ignore[call-arg]


async def ledgers(gateway: AsyncGateway) -> None:
    ledger: ga.Ledger = ga.SqliteLedger(Path("payments.db"), keep_days=7)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, ledger=ledger)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, ledger="payments.db")  # type: ignore[arg-type]
    assert_type(await ledger.open_intents("till"), Sequence[ga.Intent])
    assert_type(gateway.health(), Health)
    assert_type(await gateway.check(timeout=2), Readiness)
    shared: ga.Ledger = ga.PostgresLedger("postgresql://127.0.0.1/shop", table="payments", keep_days=7, create=False)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, ledger=shared)
    ga.PostgresLedger(Path("payments.db"))  # type: ignore[arg-type]
    found = await gateway.recover(wait=5)
    assert_type(await gateway.recover(wait=None), list[ga.Recovered])
    assert_type(found[0].api_id, str | None)
    assert_type(found[0].outcome, str)
    assert_type(found[0].sent_at, datetime)
    assert_type(found[0].error, ga.GatewayError | None)
    reconciled = await gateway.reconcile(found[0].sent_at, None, margin=600, page_size=5000)
    assert_type(await gateway.reconcile(found[0].sent_at), ga.Reconciliation)
    assert_type(reconciled.ledger, ga.PaymentTotals)
    assert_type(reconciled.gateway.charged, Decimal)
    assert_type(reconciled.open_intents, tuple[ga.Intent, ...])
    assert_type(reconciled.batches, tuple[ga.BatchTotals, ...])
    for each in reconciled.discrepancies:
        assert_type(each, ga.Discrepancy)
        assert_type(each.gateway_amount, Decimal | None)
    readable: ga.ReadableLedger = ga.SqliteLedger("payments.db")
    async for stored in readable.entries(found[0].sent_at):
        assert_type(stored, ga.StoredIntent)


def ways_of_storing() -> None:
    """One class for each way of storing an account: what it needs is a matter of types."""
    ga.AchVaultCreate(
        account_number="123456789012",
        routing="072000326",
        account_holder_name="Jo",
        account_type=ga.AccountType.CHECKING,
        is_company=False,
    )
    ga.SwipedVaultCreate(track_data="track")
    ga.TicketVaultCreate(ticket="ticket", payment_method="ach")
    ga.TransactionVaultCreate(previous_transaction_api_id="mine")
    ga.VaultCopyCreate(previous_account_vault_id="v1")
    ga.CardVaultCreate(account_number="4111111111111111")  # type: ignore[call-arg]
    ga.AchVaultCreate(account_number="123456789012", routing="072000326")  # type: ignore[call-arg]
    ga.TicketVaultCreate()  # type: ignore[call-arg]


async def pages(gateway: AsyncGateway) -> None:
    listed = gateway.account_vaults.list()
    async for vault in listed:
        assert_type(vault, ga.AccountVault)
    assert_type(listed.by_page(), AsyncIterator[ga.Page[ga.AccountVault]])
    async for page in listed.by_page():
        assert_type(page, ga.Page[ga.AccountVault])
    first_page = await listed
    assert_type(first_page.records, tuple[ga.AccountVault, ...])
    assert_type(list(first_page), list[ga.AccountVault])
    assert_type(len(first_page), int)
    assert_type(bool(first_page), bool)
    assert_type(first_page.number, int)
    assert_type(first_page.total_count, int | None)
    assert_type(first_page.page_count, int | None)
    assert_type(await listed.first(), ga.AccountVault | None)
    assert_type(await listed.count(), int)
    for _ in listed:  # type: ignore[attr-defined]
        pass


def records(vault: ga.AccountVault, contact: ga.Contact, sale: ga.Transaction, bin_info: ga.BinInfo) -> None:
    assert_type(vault.id, str)
    assert_type(vault.active, bool | None)
    assert_type(vault.account_type, ga.AccountType | None)
    assert_type(vault.created_ts, datetime | None)
    assert_type(vault.extra, Mapping[str, Any])
    assert_type(contact.date_of_birth, date | None)
    assert_type(contact.contact_balance, Decimal | None)
    assert_type(sale.status_id, ga.TransactionStatus | None)
    assert_type(sale.transaction_amount, Decimal | None)
    assert_type(sale.void_date, datetime | date | None)
    assert_type(sale.additional_amounts, Sequence[Any] | None)
    assert_type(sale.approved, bool)
    assert_type(sale.declined, bool)
    assert_type(sale.partially_approved, bool)
    assert_type(sale.voided, bool)
    assert_type(sale.raise_for_decline(), ga.Transaction)
    assert_type(ga.TransactionStatus.APPROVED.known, bool)
    assert_type(bin_info.country_code, str | None)
    vault.title = "x"  # type: ignore[misc]
    vault.extra["x"] = 1  # type: ignore[index]
    vault.number  # type: ignore[attr-defined]  # noqa: B018


def records_of_invoices(
    invoice: ga.QuickInvoice, link: ga.Paylink, batch: ga.TransactionBatch, config: ga.PostbackConfig
) -> None:
    assert_type(invoice.item_list, Mapping[str, Decimal] | None)
    assert_type(invoice.status_id, ga.QuickInvoiceStatus | None)
    assert_type(invoice.payment_status_id, ga.PaymentStatus | None)
    assert_type(invoice.due_date, date | None)
    assert_type(invoice.transactions, tuple[ga.Transaction, ...] | None)
    assert_type(invoice.files, tuple[ga.QuickInvoiceFile, ...] | None)
    assert_type(invoice.is_closed, bool)
    assert_type(invoice.is_active, bool | None)
    assert_type(link.amount_due, Decimal | None)
    assert_type(batch.is_open, bool | None)
    assert_type(batch.processing_status_id, ga.BatchStatus | None)
    assert_type(config.resource, ga.PostbackResource | None)
    assert_type(config.basic_auth_password, Secret | None)


async def errors(error: ga.GatewayError) -> None:
    assert_type(error.call, str)
    if isinstance(error, ga.InvalidRequestError):
        assert_type(error.problems, tuple[str, ...])
        assert_type(error.fields, Mapping[str, tuple[str, ...]])
    if isinstance(error, ga.StatusError):
        assert_type(error.status_code, int)
        assert_type(error.message, str)
    if isinstance(error, ga.InvalidFieldsError):
        assert_type(error.fields, Mapping[str, tuple[str, ...]])
    if isinstance(error, ga.RateLimitError):
        assert_type(error.retry_after, float | None)
    if isinstance(error, ga.MalformedReplyError):
        assert_type(error.path, str)
    if isinstance(error, ga.MismatchedReplyError):
        assert_type(error.differences, tuple[str, ...])
    if isinstance(error, ga.OutcomeUnknownError):
        assert_type(error.api_id, str | None)
        assert_type(error.sent, Mapping[str, Any])
        assert_type(error.reached, ga.SendStage)
        made = await error.resolve()
        assert_type(await error.resolve(wait=5), ga.Record | Literal[True] | None)
        made.transaction_amount  # type: ignore[union-attr]  # noqa: B018
        if isinstance(made, ga.Transaction):
            assert_type(made.transaction_amount, Decimal | None)
        await error.resolve("5")  # type: ignore[arg-type]
    if isinstance(error, ga.DeclinedError):
        assert_type(error.reason_code_id, int | None)


def stores(error: ga.LedgerError | ga.InboxError | ga.JournalError) -> None:
    """Each error of a store says where the store is."""
    assert_type(error.location, str)
    assert_type(error.reason, str)


def truth(error: ga.OutcomeUnknownError) -> None:
    """An unknown outcome is neither true nor false: `if error:` does not pass a type checker."""
    assert_type(error.__bool__(), Never)


def values(moment: datetime) -> None:
    assert_type(ga.ApiId("mine").location_id, str | None)
    assert_type(ga.TimeRange.TODAY, ga.TimeRange)
    assert_type(ga.TimeRange.custom(moment, moment), ga.TimeRange)
    ga.TimeRange.custom("2025-01-01", moment)  # type: ignore[arg-type]
    ga.ApiId(5)  # type: ignore[arg-type]


async def postbacks(
    gateway: AsyncGateway, moment: datetime, body: bytes, chunks: AsyncIterable[bytes], request: web.Request
) -> None:
    receiver = PostbackReceiver(allow_unauthenticated=True)
    async with PostbackReceiver("shop", Secret("pass"), inbox=SqliteInbox("inbox.db"), max_bytes=1000) as entered:
        assert_type(entered, PostbackReceiver)
    PostbackReceiver("shop", [Secret("new"), "old"], allowed_networks=["203.0.113.0/24"], max_per_second=100)

    @receiver.on("contact")
    async def on_contact(postback: Postback[ga.Contact]) -> None:
        assert_type(postback.record, ga.Contact)

    @receiver.on("transaction", "UPDATE", include_stale=True)
    async def on_transaction(postback: Postback[ga.Transaction]) -> None:
        assert_type(postback.record.transaction_amount, Decimal | None)
        assert_type(postback.type.known, bool)
        assert_type(postback.raw, Mapping[str, Any])
        assert_type(postback.modified_ts, datetime | None)
        postback.execute("INSERT INTO effects VALUES (?)", 1)
        postback.record_id = "x"  # type: ignore[misc]

    @receiver.on("transactionbatch")
    async def on_batch(postback: Postback[ga.TransactionBatch]) -> None:
        assert_type(postback.record, ga.TransactionBatch)

    @receiver.on("accountvault", type="DELETE")
    async def on_vault(postback: Postback[ga.AccountVault]) -> None:
        assert_type(postback.record, ga.AccountVault)

    @receiver.on()
    @receiver.on("coupon")
    async def on_anything(postback: Postback[Any]) -> None:
        assert_type(postback.number_of_attempts, int | None)

    receiver.on("contact")(on_transaction)  # type: ignore[type-var]
    receiver.on()(on_contact)
    receiver.on("transaction")(on_anything)
    await on_contact(receiver.parse({}, body))
    assert_type(receiver.parse({}, body), Postback[Any])
    assert_type(await receiver.handle(receiver.parse({}, body)), None)
    assert_type(await receiver.accept(receiver.parse({}, body)), bool)
    assert_type(await receiver.receive("POST", {}, chunks), ReceiverResponse)
    assert_type(await receiver.aiohttp(request), web.Response)
    assert_type(await receiver.work(until_empty=True), None)
    await receiver.work(True)  # type: ignore[call-arg]
    health = await receiver.health(timeout=1)
    assert_type(health, ReceiverHealth)
    assert_type(health.inbox, InboxHealth | None)
    ReceiverMetrics().record(health)
    await ReceiverMetrics().watch(receiver, interval=30)
    OpenTelemetryObserver().record_readiness(await gateway.check())
    assert_type(await receiver.catch_up(gateway, since=moment), CatchUpResult)


def refusals(error: PostbackRefusedError) -> None:
    """Return a postback's response."""
    assert_type(error.status_code, int)
    assert_type(error.reason, str)


async def sandboxes(sandbox: Sandbox) -> None:
    assert_type(sandbox.start(), None)
    assert_type(sandbox.stop(), None)
    assert_type(sandbox.reset(), None)
    assert_type(sandbox.info, SandboxInfo)
    assert_type(sandbox.environment(), dict[str, str])
    assert_type(sandbox.gateway(timeout=5), AsyncGateway)
    assert_type(sandbox.fault("POST /v2/transactions", "close_after_commit", nth=2), None)
    assert_type(sandbox.scenario("a bad day"), None)
    assert_type(sandbox.faults(), list[dict[str, Any]])
    assert_type(sandbox.clear_faults(), None)
    assert_type(sandbox.now(), float)
    assert_type(sandbox.set_clock(0), None)
    assert_type(sandbox.advance(60), None)
    assert_type(sandbox.ledger(), dict[str, Any])
    assert_type(sandbox.outbox(quick_invoice_id="id"), list[dict[str, Any]])
    assert_type(sandbox.pay_quick_invoice("id", Decimal(5), card="4111111111111111"), dict[str, Any])
    assert_type(sandbox.pay_paylink("id"), dict[str, Any])
    assert_type(sandbox.file("id"), bytes)
    assert_type(sandbox.process_batch("id", 5), dict[str, Any])
    assert_type(sandbox.isolate_payment("id", settle=True), dict[str, Any])
    assert_type(sandbox.change_product(surcharge=True), dict[str, Any])
    assert_type(sandbox.return_payment("id", "R01"), dict[str, Any])
    assert_type(sandbox.update_card("id", exp_date="1230"), dict[str, Any])
    assert_type(sandbox.postbacks(config_id="id"), list[dict[str, Any]])
    assert_type(sandbox.set_postback_format("form"), None)
    assert_type(sandbox.replay_postback("id"), dict[str, Any])
    assert_type(sandbox.terminals(), list[dict[str, Any]])
    assert_type(sandbox.wait_for_call(timeout=5), dict[str, Any])
    assert_type(await sandbox.await_call(timeout=5), dict[str, Any])
    assert_type(sandbox.present(entry_mode="K"), None)
    assert_type(sandbox.accept_terms(), None)
    assert_type(sandbox.decline(), None)
    assert_type(sandbox.reject_pin(), None)
    assert_type(sandbox.cancel(), None)
    assert_type(sandbox.silence(), None)
    assert_type(sandbox.add_location(), SandboxInfo)
    assert_type(sandbox.add_terminal("Bar"), str)
    assert_type(sandbox.add_vaults(5), None)
    assert_type(sandbox.ticket(), str)
    assert_type(sandbox.wait_until_idle(postbacks=False), None)
    Sandbox(0, "127.0.0.1", None, "manual")  # type: ignore[call-arg]
    sandbox.fault("POST /v2/transactions", "close")  # type: ignore[arg-type]

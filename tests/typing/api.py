"""The public interface as type checkers see it. Never executed: `mypy --strict` and pyright read it.

Every method has its `assert_type`. Every mistake that type checkers must report has a needed ignore.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal, Never, assert_type

from gateway_async import (
    UNSET,
    AccessToken,
    AccountType,
    AccountVault,
    AccountVaultUpdate,
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    Attachment,
    BatchStatus,
    BearerToken,
    BinInfo,
    CardVaultCreate,
    Contact,
    ContactCreate,
    ContactUpdate,
    DeclinedError,
    DeliveryMethod,
    GatewayError,
    HashKey,
    Intent,
    InvalidRequestError,
    Ledger,
    MalformedReplyError,
    MismatchedReplyError,
    OutcomeUnknownError,
    Page,
    Pages,
    PasswordLogin,
    Paylink,
    PaylinkAction,
    PaylinkCreate,
    PaylinkUpdate,
    PaymentMethod,
    PaymentStatus,
    PostbackConfig,
    PostbackConfigCreate,
    PostbackConfigUpdate,
    PostbackResource,
    ProductFile,
    ProductFileCreate,
    QuickInvoice,
    QuickInvoiceCreate,
    QuickInvoiceFile,
    QuickInvoiceStatus,
    QuickInvoiceUpdate,
    RateLimitError,
    Reached,
    Recovered,
    RedisTerminalLease,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    SqliteLedger,
    StatusError,
    SwipedVaultCreate,
    TerminalLease,
    TicketVaultCreate,
    TimeRange,
    Token,
    Transaction,
    TransactionAction,
    TransactionBatch,
    TransactionCreate,
    TransactionStatus,
    TransactionUpdate,
    TransactionVaultCreate,
    UserApiKey,
    ValidationError,
    VaultCopyCreate,
)
from gateway_async._secrets import Secret
from gateway_async.models.record import Record
from gateway_async.observe import CallEnded, Event, TerminalProgress, TerminalState
from gateway_async.postbacks import Postback, PostbackReceiver, PostbackRefusedError, SqliteInbox

KEY = UserApiKey("user", "key")


async def clients() -> None:
    """Making a client, and using it as a context."""
    async with AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY) as gateway:
        assert_type(gateway, AsyncGateway)
        assert_type(gateway.base_url, str)
        assert_type(gateway.location_id, str | None)
    assert_type(AsyncGateway.from_env(timeout=5.0), AsyncGateway)
    assert_type(await gateway.aclose(), None)
    AsyncGateway("https://api.example.test", "dev", KEY)  # type: ignore[call-arg]
    AsyncGateway("https://api.example.test", developer_id="dev")  # type: ignore[call-arg]
    AsyncGateway("https://api.example.test", developer_id="dev", credentials="key")  # type: ignore[arg-type]
    UserApiKey("user", "key", "cookies")  # type: ignore[arg-type]
    assert_type(KEY.user_api_key, Secret)


async def credentials() -> None:
    """Build credentials of every kind."""

    async def ask() -> str:
        return "token"

    AsyncGateway("https://a.test", developer_id="dev", credentials=PasswordLogin("ada", "word", "example", "query"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=AccessToken(Secret("token"), send_in="query"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=HashKey("user", "key"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=BearerToken("token"))
    AsyncGateway("https://a.test", developer_id="dev", credentials=BearerToken(ask))
    PasswordLogin("ada", "word")  # type: ignore[call-arg]
    AccessToken("token", "basic")  # type: ignore[arg-type]
    HashKey("user", "key", "basic")  # type: ignore[arg-type]


async def tokens(gateway: AsyncGateway) -> None:
    """Every verb of tokens."""
    token = await gateway.tokens.create("ada", "word", "example")
    assert_type(token, Token)
    assert_type(token.token, Secret)
    assert_type(await gateway.tokens.delete(token), None)
    assert_type(await gateway.tokens.delete(token.token), None)
    assert_type(await gateway.tokens.delete("token"), None)
    AccessToken(token.token)
    await gateway.tokens.create("ada", "word")  # type: ignore[call-arg]
    await gateway.tokens.delete(5)  # type: ignore[arg-type]


def observers() -> None:
    """An observer takes events, which are told apart by their class."""

    def watch(event: Event) -> None:
        if isinstance(event, CallEnded):
            assert_type(event.seconds, float)

    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, observers=[watch])


async def account_vaults(gateway: AsyncGateway) -> None:
    """Every verb of account vaults."""
    card = CardVaultCreate(account_number="4111111111111111", exp_date="0930")
    assert_type(await gateway.account_vaults.create(card), AccountVault)
    assert_type(await gateway.account_vaults.get("id", expand=("contact",)), AccountVault)
    assert_type(await gateway.account_vaults.get(ApiId("mine", location_id="loc")), AccountVault)
    assert_type(gateway.account_vaults.list({"title": "x"}, sort="-created_ts", page_size=10), Pages[AccountVault])
    assert_type(await gateway.account_vaults.update("id", AccountVaultUpdate(title=None)), AccountVault)
    assert_type(await gateway.account_vaults.delete(ApiId("mine")), None)
    assert_type(await gateway.account_vaults.bin_info("id"), BinInfo)
    await gateway.account_vaults.create(ContactCreate(last_name="Smith"))  # type: ignore[arg-type]
    await gateway.account_vaults.create({"title": "x"})  # type: ignore[arg-type]
    await gateway.account_vaults.update("id", card)  # type: ignore[arg-type]
    await gateway.account_vaults.get(5)  # type: ignore[arg-type]
    gateway.account_vaults.list(sort=["title"])  # type: ignore[arg-type]


async def contacts(gateway: AsyncGateway) -> None:
    """Every verb of contacts."""
    assert_type(
        await gateway.contacts.create(ContactCreate(last_name="Smith", date_of_birth=date(1970, 1, 2))), Contact
    )
    assert_type(await gateway.contacts.get(ApiId("mine")), Contact)
    assert_type(gateway.contacts.list(), Pages[Contact])
    assert_type(await gateway.contacts.update("id", ContactUpdate(email=None, city=UNSET)), Contact)
    assert_type(await gateway.contacts.delete("id"), None)
    ContactCreate()  # type: ignore[call-arg]
    ContactCreate({}, last_name="Smith")  # type: ignore[call-arg]
    ContactCreate(last_name="Smith", contact_balance=1.5)  # type: ignore[arg-type]
    ContactCreate(last_name="Smith", date_of_birth="1970-01-02")  # type: ignore[arg-type]
    ContactCreate(last_name="Smith", nickname="Jo")  # type: ignore[call-arg]


async def transactions(gateway: AsyncGateway) -> None:
    """Every verb of transactions."""
    sale = TransactionCreate(action="sale", transaction_amount=Decimal("12.50"), account_vault_id="v1")
    assert_type(await gateway.transactions.create(sale), Transaction)
    assert_type(await gateway.transactions.get("id"), Transaction)
    assert_type(gateway.transactions.list({"created_ts": TimeRange.LAST_30_DAYS}), Pages[Transaction])
    assert_type(await gateway.transactions.update("id", TransactionUpdate(action="edit", tax=0)), Transaction)
    assert_type(await gateway.transactions.void(ApiId("mine")), Transaction)
    assert_type(await gateway.transactions.increment("id", Decimal("15.00")), Transaction)
    assert_type(await gateway.transactions.complete("id"), Transaction)
    assert_type(await gateway.transactions.complete("id", "12.50"), Transaction)
    TransactionCreate(action=TransactionAction("charge"), payment_method=PaymentMethod("cash"), account_vault_id="v1")
    TransactionCreate(action=TransactionAction.SALE, account_type="visa", ach_sec_code="WEB")
    TransactionUpdate(action=TransactionAction("charge"))
    TransactionCreate(action="charge")  # type: ignore[arg-type]
    TransactionCreate(action="void")  # type: ignore[arg-type]
    TransactionCreate(action=gateway.base_url)  # type: ignore[arg-type]
    TransactionCreate(action=PaymentMethod.CARD)  # type: ignore[arg-type]
    TransactionCreate(action="sale", payment_method="card")  # type: ignore[arg-type]
    TransactionCreate(action="sale", account_type="vsia")  # type: ignore[arg-type]
    TransactionCreate(action="sale", ach_sec_code="web")  # type: ignore[arg-type]
    TransactionUpdate(action="sale")  # type: ignore[arg-type]
    AchVaultCreate(account_number="1", routing="1", account_holder_name="A", account_type="visa", is_company=False)  # type: ignore[arg-type]
    TicketVaultCreate(ticket="t", payment_method="card")  # type: ignore[arg-type]
    PaylinkCreate(amount_due=12, paylink_action=PaylinkAction("hold"))
    PaylinkCreate(amount_due=12, paylink_action="auth_only")  # type: ignore[arg-type]
    PostbackConfigCreate(url="https://shop.test", resource="transactions")  # type: ignore[arg-type]
    RouterTransactionCreate(action="settle", terminal_id="t", transaction_amount=1)
    RouterTransactionCreate(action=TransactionAction("charge"), terminal_id="t", transaction_amount=1)
    RouterTransactionCreate(action="charge", terminal_id="t", transaction_amount=1)  # type: ignore[arg-type]
    await gateway.transactions.increment("id", 15.0)  # type: ignore[arg-type]
    await gateway.transactions.increment("id")  # type: ignore[call-arg]
    TransactionCreate(action="sale", transaction_amount=12.5)  # type: ignore[arg-type]
    TransactionCreate(transaction_amount=12)  # type: ignore[call-arg]


async def quick_invoices(gateway: AsyncGateway, file: BinaryIO) -> None:
    """Every verb of quick invoices."""
    invoices = gateway.quick_invoices
    new = QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": Decimal("2.50")})
    files = [Attachment("a.pdf", b"%PDF"), Attachment("b", Path("b"), "text/plain"), Attachment("c", file)]
    assert_type(await invoices.create(new), QuickInvoice)
    assert_type(await invoices.create(new, files=files), QuickInvoice)
    assert_type(await invoices.get(ApiId("mine"), expand=("files",)), QuickInvoice)
    assert_type(invoices.list({"status_id": [0, 1]}), Pages[QuickInvoice])
    assert_type(await invoices.update("id", QuickInvoiceUpdate(item_list={"Tea": "3.00"}, note=None)), QuickInvoice)
    assert_type(await invoices.delete("id"), None)
    assert_type(await invoices.reopen("id"), QuickInvoice)
    assert_type(await invoices.add_transaction("id", "transaction"), QuickInvoice)
    assert_type(await invoices.remove_transaction(ApiId("mine"), "transaction"), QuickInvoice)
    assert_type(await invoices.resend("id", email=True, sms=False), None)
    assert_type(await invoices.attach_file("id", files[0]), QuickInvoiceFile | None)
    assert_type(await invoices.remove_file("id", "file"), None)
    assert_type(invoices.payment_url(ApiId("mine")), str)
    QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1))  # type: ignore[call-arg]
    QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": 2.5})  # type: ignore[dict-item]
    Attachment("a.pdf", "a.pdf")
    Attachment("a.pdf", 5)  # type: ignore[arg-type]
    await invoices.create(new, files[0])  # type: ignore[arg-type]
    await invoices.add_transaction("id", ApiId("mine"))  # type: ignore[arg-type]


async def paylinks(gateway: AsyncGateway) -> None:
    """Every verb of paylinks."""
    new = PaylinkCreate(amount_due=Decimal("12.50"), delivery_method=DeliveryMethod.EMAIL)
    assert_type(await gateway.paylinks.create(new), Paylink)
    assert_type(await gateway.paylinks.get("id"), Paylink)
    assert_type(gateway.paylinks.list(), Pages[Paylink])
    assert_type(await gateway.paylinks.update(ApiId("mine"), PaylinkUpdate(email=None)), Paylink)
    assert_type(await gateway.paylinks.delete("id"), None)
    assert_type(await gateway.paylinks.resend("id"), None)
    assert_type(gateway.paylinks.payment_url("id"), str)
    PaylinkCreate()  # type: ignore[call-arg]
    PaylinkCreate(amount_due=12.5)  # type: ignore[arg-type]


async def transaction_batches(gateway: AsyncGateway) -> None:
    """Every verb of transaction batches."""
    assert_type(await gateway.transaction_batches.get("id"), TransactionBatch)
    assert_type(gateway.transaction_batches.list({"created_ts": TimeRange.TODAY}), Pages[TransactionBatch])
    assert_type(await gateway.transaction_batches.settle("id"), TransactionBatch)
    await gateway.transaction_batches.settle(ApiId("mine"))  # type: ignore[arg-type]


async def postback_configs(gateway: AsyncGateway) -> None:
    """Every verb of postback configs, and file storage's one."""
    new = PostbackConfigCreate(url="https://shop.test", resource="contact", basic_auth_password="pw")
    assert_type(await gateway.postback_configs.create(new), PostbackConfig)
    changes = PostbackConfigUpdate(on_update=True, basic_auth_password=None)
    assert_type(await gateway.postback_configs.update("id", changes), PostbackConfig)
    assert_type(await gateway.postback_configs.delete("id"), None)
    storage = ProductFileCreate(title="Files", product_file_credential_id="credential")
    assert_type(await gateway.product_files.create(storage), ProductFile)
    PostbackConfigCreate(url="https://shop.test")  # type: ignore[call-arg]
    ProductFileCreate(title="Files")  # type: ignore[call-arg]


async def router(gateway: AsyncGateway) -> None:
    """Both router endpoints."""
    pay = RouterTransactionCreate(action="sale", terminal_id="term", transaction_amount=12)
    assert_type(await gateway.router_transactions.create(pay), Transaction)
    assert_type(await gateway.router_transactions.create(pay, on_progress=show), Transaction)
    store = RouterAccountVaultCreate(terminal_id="term", contact_id="c1")
    assert_type(await gateway.router_account_vaults.create(store), AccountVault)
    assert_type(await gateway.router_account_vaults.create(store, on_progress=print), AccountVault)
    RouterTransactionCreate(action="sale", terminal_id="term")  # type: ignore[call-arg]
    RouterAccountVaultCreate(terminal_id="term")  # type: ignore[call-arg]
    await gateway.router_transactions.create(store)  # type: ignore[arg-type]
    await gateway.router_transactions.create(pay, on_progress=len)  # type: ignore[arg-type]


def show(progress: TerminalProgress) -> None:
    """A till's screen."""
    assert_type(progress.state, TerminalState)
    assert_type((progress.holder, progress.waited, progress.left), tuple[str, float, float | None])


def leases() -> None:
    """A lease of the package's, or one's own."""
    lease: TerminalLease = RedisTerminalLease("redis://till", owner="till-7", seconds=30, wait=None)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, terminal_lease=lease)
    RedisTerminalLease("redis://till")  # type: ignore[call-arg]


async def ledgers(gateway: AsyncGateway) -> None:
    """Recover after a crash."""
    ledger: Ledger = SqliteLedger(Path("payments.db"), keep_days=7)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, ledger=ledger)
    AsyncGateway("https://api.example.test", developer_id="dev", credentials=KEY, ledger="payments.db")  # type: ignore[arg-type]
    assert_type(await ledger.open_intents("till"), Sequence[Intent])
    found = await gateway.recover(wait=5)
    assert_type(found, list[Recovered])
    assert_type(found[0].api_id, str | None)
    assert_type(found[0].outcome, str)
    assert_type(found[0].sent_at, datetime)
    assert_type(found[0].error, GatewayError | None)


def ways_of_storing() -> None:
    """One class for each way of storing an account: what it needs is a matter of types."""
    AchVaultCreate(
        account_number="123456789012",
        routing="072000326",
        account_holder_name="Jo",
        account_type=AccountType.CHECKING,
        is_company=False,
    )
    SwipedVaultCreate(track_data="track")
    TicketVaultCreate(ticket="ticket", payment_method="ach")
    TransactionVaultCreate(previous_transaction_api_id="mine")
    VaultCopyCreate(previous_account_vault_id="v1")
    CardVaultCreate(account_number="4111111111111111")  # type: ignore[call-arg]
    AchVaultCreate(account_number="123456789012", routing="072000326")  # type: ignore[call-arg]
    TicketVaultCreate()  # type: ignore[call-arg]


async def pages(gateway: AsyncGateway) -> None:
    """A list is iterated, paged, awaited, counted."""
    listed = gateway.account_vaults.list()
    async for vault in listed:
        assert_type(vault, AccountVault)
    async for page in listed.by_page():
        assert_type(page, Page[AccountVault])
    first_page = await listed
    assert_type(first_page.records, tuple[AccountVault, ...])
    assert_type(first_page.number, int)
    assert_type(first_page.total_count, int | None)
    assert_type(first_page.page_count, int | None)
    assert_type(await listed.first(), AccountVault | None)
    assert_type(await listed.count(), int)
    for _ in listed:  # type: ignore[attr-defined]
        pass


def records(vault: AccountVault, contact: Contact, sale: Transaction, bin_info: BinInfo) -> None:
    """Check the types of a record's fields."""
    assert_type(vault.id, str)
    assert_type(vault.active, bool | None)
    assert_type(vault.account_type, AccountType | None)
    assert_type(vault.created_ts, datetime | None)
    assert_type(vault.extra, Mapping[str, Any])
    assert_type(contact.date_of_birth, date | None)
    assert_type(contact.contact_balance, Decimal | None)
    assert_type(sale.status_id, TransactionStatus | None)
    assert_type(sale.transaction_amount, Decimal | None)
    assert_type(sale.void_date, datetime | date | None)
    assert_type(sale.additional_amounts, Sequence[Any] | None)
    assert_type(sale.approved, bool)
    assert_type(sale.declined, bool)
    assert_type(sale.partially_approved, bool)
    assert_type(sale.voided, bool)
    assert_type(sale.raise_for_decline(), Transaction)
    assert_type(TransactionStatus.APPROVED.known, bool)
    assert_type(bin_info.country_code, str | None)
    vault.title = "x"  # type: ignore[misc]
    vault.extra["x"] = 1  # type: ignore[index]
    vault.number  # type: ignore[attr-defined]  # noqa: B018


def records_of_invoices(invoice: QuickInvoice, link: Paylink, batch: TransactionBatch, config: PostbackConfig) -> None:
    """Check the types of these records' fields."""
    assert_type(invoice.item_list, Mapping[str, Decimal] | None)
    assert_type(invoice.status_id, QuickInvoiceStatus | None)
    assert_type(invoice.payment_status_id, PaymentStatus | None)
    assert_type(invoice.due_date, date | None)
    assert_type(invoice.transactions, tuple[Transaction, ...] | None)
    assert_type(invoice.files, tuple[QuickInvoiceFile, ...] | None)
    assert_type(invoice.is_closed, bool)
    assert_type(invoice.is_active, bool | None)
    assert_type(link.amount_due, Decimal | None)
    assert_type(batch.is_open, bool | None)
    assert_type(batch.processing_status_id, BatchStatus | None)
    assert_type(config.resource, PostbackResource | None)
    assert_type(config.basic_auth_password, Secret | None)


async def errors(error: GatewayError) -> None:
    """Check the attributes of each error."""
    assert_type(error.call, str)
    if isinstance(error, InvalidRequestError):
        assert_type(error.problems, tuple[str, ...])
        assert_type(error.fields, Mapping[str, tuple[str, ...]])
    if isinstance(error, StatusError):
        assert_type(error.status_code, int)
        assert_type(error.message, str)
    if isinstance(error, ValidationError):
        assert_type(error.fields, Mapping[str, tuple[str, ...]])
    if isinstance(error, RateLimitError):
        assert_type(error.retry_after, float | None)
    if isinstance(error, MalformedReplyError):
        assert_type(error.path, str)
    if isinstance(error, MismatchedReplyError):
        assert_type(error.differences, tuple[str, ...])
    if isinstance(error, OutcomeUnknownError):
        assert_type(error.api_id, str | None)
        assert_type(error.sent, Mapping[str, Any])
        assert_type(error.reached, Reached)
        made = await error.resolve()
        assert_type(made, Record | Literal[True] | None)
        made.transaction_amount  # type: ignore[union-attr]  # noqa: B018
        if isinstance(made, Transaction):
            assert_type(made.transaction_amount, Decimal | None)
        await error.resolve(wait=5)
        await error.resolve("5")  # type: ignore[arg-type]
    if isinstance(error, DeclinedError):
        assert_type(error.reason_code_id, int | None)


def truth(error: OutcomeUnknownError) -> None:
    """An unknown outcome is neither true nor false: `if error:` does not pass a type checker."""
    assert_type(error.__bool__(), Never)


def values(moment: datetime) -> None:
    """Ids and time ranges."""
    assert_type(ApiId("mine").location_id, str | None)
    assert_type(TimeRange.TODAY, TimeRange)
    assert_type(TimeRange.custom(moment, moment), TimeRange)
    TimeRange.custom("2025-01-01", moment)  # type: ignore[arg-type]
    ApiId(5)  # type: ignore[arg-type]


async def postbacks(gateway: AsyncGateway, moment: datetime, body: bytes) -> None:
    """Register handlers by resource."""
    receiver = PostbackReceiver(username=None, password=None)
    async with PostbackReceiver("shop", Secret("pass"), inbox=SqliteInbox("inbox.db"), max_bytes=1000) as entered:
        assert_type(entered, PostbackReceiver)

    @receiver.on("contact")
    async def on_contact(postback: Postback[Contact]) -> None:
        assert_type(postback.record, Contact)

    @receiver.on("transaction", "UPDATE", include_stale=True)
    async def on_transaction(postback: Postback[Transaction]) -> None:
        assert_type(postback.record.transaction_amount, Decimal | None)
        assert_type(postback.type.known, bool)
        assert_type(postback.raw, Mapping[str, Any])
        assert_type(postback.modified_ts, datetime | None)
        postback.execute("INSERT INTO effects VALUES (?)", 1)
        postback.record_id = "x"  # type: ignore[misc]

    @receiver.on("transactionbatch")
    async def on_batch(postback: Postback[TransactionBatch]) -> None:
        assert_type(postback.record, TransactionBatch)

    @receiver.on("accountvault", type="DELETE")
    async def on_vault(postback: Postback[AccountVault]) -> None:
        assert_type(postback.record, AccountVault)

    @receiver.on()
    @receiver.on("coupon")
    async def on_anything(postback: Postback[Any]) -> None:
        assert_type(postback.number_of_attempts, int | None)

    receiver.on("contact")(on_transaction)  # type: ignore[type-var]
    receiver.on()(on_contact)
    receiver.on("transaction")(on_anything)
    await on_contact(receiver.parse({}, body))
    assert_type(receiver.parse({}, body), Postback[Any])
    await receiver.handle(receiver.parse({}, body))
    await receiver.work(until_empty=True)
    assert_type((await receiver.reconcile(gateway, since=moment)).missed, int)


def refusals(error: PostbackRefusedError) -> None:
    """Return a postback's response."""
    assert_type(error.status_code, int)
    assert_type(error.reason, str)

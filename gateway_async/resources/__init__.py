"""The registry of resources: the attributes of the client, and the models that the package exports.

To add an endpoint, add a method to the module of its resource; the methods of `ResourceSpec` build its call. Register a
new resource here: the client, the public index and the architecture tests read this file. Each resource has a module of
the attribute's name, with a class of the same name in CamelCase. Names with an underscore are not exported.
Start at `account_vaults.py`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gateway_async._execution.execute import CallExecutor
    from gateway_async._wire.scope import Scope
    from gateway_async.models.account_vaults import *  # noqa: F403
    from gateway_async.models.contacts import *  # noqa: F403
    from gateway_async.models.files import *  # noqa: F403
    from gateway_async.models.locations import *  # noqa: F403
    from gateway_async.models.notes import *  # noqa: F403
    from gateway_async.models.paylinks import *  # noqa: F403
    from gateway_async.models.postback_configs import *  # noqa: F403
    from gateway_async.models.quick_invoices import *  # noqa: F403
    from gateway_async.models.recurrings import *  # noqa: F403
    from gateway_async.models.tags import *  # noqa: F403
    from gateway_async.models.terminals import *  # noqa: F403
    from gateway_async.models.tokens import *  # noqa: F403
    from gateway_async.models.transaction_batches import *  # noqa: F403
    from gateway_async.models.transactions import *  # noqa: F403
    from gateway_async.models.users import *  # noqa: F403
    from gateway_async.resources.account_vaults import AccountVaults as _AccountVaults
    from gateway_async.resources.contacts import Contacts as _Contacts
    from gateway_async.resources.locations import Locations as _Locations
    from gateway_async.resources.notes import Notes as _Notes
    from gateway_async.resources.paylinks import Paylinks as _Paylinks
    from gateway_async.resources.postback_configs import PostbackConfigs as _PostbackConfigs
    from gateway_async.resources.product_files import ProductFiles as _ProductFiles
    from gateway_async.resources.quick_invoices import QuickInvoices as _QuickInvoices
    from gateway_async.resources.recurrings import Recurrings as _Recurrings
    from gateway_async.resources.router_account_vaults import RouterAccountVaults as _RouterAccountVaults
    from gateway_async.resources.router_transactions import RouterTransactions as _RouterTransactions
    from gateway_async.resources.tags import Tags as _Tags
    from gateway_async.resources.terminals import Terminals as _Terminals
    from gateway_async.resources.tokens import Tokens as _Tokens
    from gateway_async.resources.transaction_batches import TransactionBatches as _TransactionBatches
    from gateway_async.resources.transactions import Transactions as _Transactions
    from gateway_async.resources.users import Users as _Users

_MODELS: Final[Mapping[str, tuple[str, ...]]] = {
    "account_vaults": (
        "AccountVault",
        "AccountVaultUpdate",
        "AchVaultCreate",
        "BinInfo",
        "CardVaultCreate",
        "RouterAccountVaultCreate",
        "SwipedVaultCreate",
        "TicketVaultCreate",
        "TransactionVaultCreate",
        "VaultCopyCreate",
        "VaultCreate",
    ),
    "contacts": (
        "Contact",
        "ContactCreate",
        "ContactUpdate",
    ),
    "files": (
        "Attachment",
        "ProductFile",
        "ProductFileCreate",
        "QuickInvoiceFile",
    ),
    "locations": (
        "Location",
        "LocationInfo",
        "ProductTransaction",
    ),
    "notes": (
        "Note",
        "NoteCreate",
        "NoteUpdate",
    ),
    "paylinks": (
        "Paylink",
        "PaylinkCreate",
        "PaylinkUpdate",
    ),
    "postback_configs": (
        "PostbackConfig",
        "PostbackConfigCreate",
        "PostbackConfigUpdate",
    ),
    "quick_invoices": (
        "QuickInvoice",
        "QuickInvoiceCreate",
        "QuickInvoiceUpdate",
    ),
    "recurrings": (
        "Recurring",
        "RecurringCreate",
        "RecurringUpdate",
    ),
    "tags": (
        "Tag",
        "TagCreate",
        "TagUpdate",
    ),
    "terminals": ("Terminal",),
    "tokens": ("Token",),
    "transaction_batches": ("TransactionBatch",),
    "transactions": (
        "RouterTransactionCreate",
        "Transaction",
        "TransactionCreate",
        "TransactionUpdate",
    ),
    "users": ("User",),
}
"""The modules of `gateway_async.models` whose public names the package exports, and these names."""


class _Resources:
    """The resources of a client, each created at its first use."""

    account_vaults: "_AccountVaults"
    """Stored cards and bank accounts."""
    contacts: "_Contacts"
    """The customers of a location."""
    locations: "_Locations"
    """The merchants whose records the user sees."""
    notes: "_Notes"
    """Texts about a contact."""
    paylinks: "_Paylinks"
    """Links by which a customer pays one amount."""
    postback_configs: "_PostbackConfigs"
    """The URLs to which the gateway sends postbacks."""
    product_files: "_ProductFiles"
    """File storage for a location."""
    quick_invoices: "_QuickInvoices"
    """Itemized invoices that customers pay online."""
    recurrings: "_Recurrings"
    """Plans by which a stored account is charged again and again."""
    router_account_vaults: "_RouterAccountVaults"
    """Cards stored from a terminal."""
    router_transactions: "_RouterTransactions"
    """Payments at a terminal."""
    tags: "_Tags"
    """Words by which a location groups its records."""
    terminals: "_Terminals"
    """The devices of a location that read cards."""
    tokens: "_Tokens"
    """Explicit login and logout."""
    transaction_batches: "_TransactionBatches"
    """Groups of transactions that are settled together."""
    transactions: "_Transactions"
    """Payments without a terminal, and later changes to any payment."""
    users: "_Users"
    """The people and programs that call the gateway."""

    def __init__(self, executor: "CallExecutor", scope: "Scope") -> None:
        self._executor = executor
        self._scope = scope


class _ResourceAttribute:
    """An attribute of the client that creates its resource at the first use, which loads the resource's modules.

    On the class, it is the resource's class, as autospec of `unittest.mock` and inspectors expect.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, client: _Resources | None, owner: type[_Resources]) -> Any:
        resource = _resource_class(self._name)
        if client is None:
            return resource
        created = vars(client)[self._name] = resource(client._executor, client._scope)  # noqa: SLF001  its client
        return created


for _name in _Resources.__annotations__:
    setattr(_Resources, _name, _ResourceAttribute(_name))


def _resource_class(name: str) -> type[Any]:
    """Return the class of the client's attribute `name`."""
    module = import_module(f"{__name__}.{name}")
    resource: type[Any] = getattr(module, name.title().replace("_", ""))
    return resource

"""Async Python SDK for a payment gateway, with a local gateway for tests and offline work.

This module exports all public names and imports each one at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway_async._execution.pages import Pages
    from gateway_async._secrets import Secret
    from gateway_async.client import AsyncGateway
    from gateway_async.credentials import AccessToken, BearerToken, HashKey, PasswordLogin, UserApiKey
    from gateway_async.errors import (
        AuthenticationError,
        BadRequestError,
        ClientClosedError,
        ConnectionLostError,
        DeadlineExceededError,
        DeclinedError,
        DuplicateError,
        GatewayError,
        InboxError,
        InsecureConnectionWarning,
        InvalidRequestError,
        JournalError,
        LedgerError,
        MalformedReplyError,
        MethodNotAllowedError,
        MismatchedReplyError,
        MismatchedWriteError,
        NotFoundError,
        NotSentError,
        OutcomeUnknownError,
        PermissionDeniedError,
        PostbackRefusedError,
        RateLimitError,
        Reached,
        RecordDeletedError,
        ServerError,
        StatusError,
        TerminalBusyError,
        ValidationError,
    )
    from gateway_async.leases import RedisTerminalLease, TerminalLease
    from gateway_async.ledger.protocol import Intent, Ledger, Recovered
    from gateway_async.ledger.sqlite import SqliteLedger
    from gateway_async.models.account_vaults import (
        AccountVault,
        AccountVaultUpdate,
        AchVaultCreate,
        BinInfo,
        CardVaultCreate,
        RouterAccountVaultCreate,
        SwipedVaultCreate,
        TicketVaultCreate,
        TransactionVaultCreate,
        VaultCopyCreate,
    )
    from gateway_async.models.codes import (
        AccountType,
        AchSecCode,
        BatchStatus,
        DeliveryMethod,
        EntryMode,
        PaylinkAction,
        PaylinkStatus,
        PaymentMethod,
        PaymentStatus,
        PostbackResource,
        PostbackType,
        QuickInvoiceStatus,
        ReasonCode,
        TransactionAction,
        TransactionSource,
        TransactionStatus,
        TransactionType,
    )
    from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate
    from gateway_async.models.files import Attachment, ProductFile, ProductFileCreate, QuickInvoiceFile
    from gateway_async.models.identifiers import ApiId
    from gateway_async.models.page import Page
    from gateway_async.models.paylinks import Paylink, PaylinkCreate, PaylinkUpdate
    from gateway_async.models.postback_configs import PostbackConfig, PostbackConfigCreate, PostbackConfigUpdate
    from gateway_async.models.quick_invoices import QuickInvoice, QuickInvoiceCreate, QuickInvoiceUpdate
    from gateway_async.models.request import UNSET
    from gateway_async.models.time_range import TimeRange
    from gateway_async.models.tokens import Token
    from gateway_async.models.transaction_batches import TransactionBatch
    from gateway_async.models.transactions import (
        RouterTransactionCreate,
        Transaction,
        TransactionCreate,
        TransactionUpdate,
    )

__all__ = [
    "UNSET",
    "AccessToken",
    "AccountType",
    "AccountVault",
    "AccountVaultUpdate",
    "AchSecCode",
    "AchVaultCreate",
    "ApiId",
    "AsyncGateway",
    "Attachment",
    "AuthenticationError",
    "BadRequestError",
    "BatchStatus",
    "BearerToken",
    "BinInfo",
    "CardVaultCreate",
    "ClientClosedError",
    "ConnectionLostError",
    "Contact",
    "ContactCreate",
    "ContactUpdate",
    "DeadlineExceededError",
    "DeclinedError",
    "DeliveryMethod",
    "DuplicateError",
    "EntryMode",
    "GatewayError",
    "HashKey",
    "InboxError",
    "InsecureConnectionWarning",
    "Intent",
    "InvalidRequestError",
    "JournalError",
    "Ledger",
    "LedgerError",
    "MalformedReplyError",
    "MethodNotAllowedError",
    "MismatchedReplyError",
    "MismatchedWriteError",
    "NotFoundError",
    "NotSentError",
    "OutcomeUnknownError",
    "Page",
    "Pages",
    "PasswordLogin",
    "Paylink",
    "PaylinkAction",
    "PaylinkCreate",
    "PaylinkStatus",
    "PaylinkUpdate",
    "PaymentMethod",
    "PaymentStatus",
    "PermissionDeniedError",
    "PostbackConfig",
    "PostbackConfigCreate",
    "PostbackConfigUpdate",
    "PostbackRefusedError",
    "PostbackResource",
    "PostbackType",
    "ProductFile",
    "ProductFileCreate",
    "QuickInvoice",
    "QuickInvoiceCreate",
    "QuickInvoiceFile",
    "QuickInvoiceStatus",
    "QuickInvoiceUpdate",
    "RateLimitError",
    "Reached",
    "ReasonCode",
    "RecordDeletedError",
    "Recovered",
    "RedisTerminalLease",
    "RouterAccountVaultCreate",
    "RouterTransactionCreate",
    "Secret",
    "ServerError",
    "SqliteLedger",
    "StatusError",
    "SwipedVaultCreate",
    "TerminalBusyError",
    "TerminalLease",
    "TicketVaultCreate",
    "TimeRange",
    "Token",
    "Transaction",
    "TransactionAction",
    "TransactionBatch",
    "TransactionCreate",
    "TransactionSource",
    "TransactionStatus",
    "TransactionType",
    "TransactionUpdate",
    "TransactionVaultCreate",
    "UserApiKey",
    "ValidationError",
    "VaultCopyCreate",
]

# The modules with public names, cheapest import first, so that using an error class does not import httpx.
_MODULES = (
    "errors",
    "_secrets",
    "credentials",
    "leases",
    "ledger.protocol",
    "models.identifiers",
    "models.codes",
    "models.page",
    "models.time_range",
    "models.request",
    "models.account_vaults",
    "models.contacts",
    "models.tokens",
    "models.transactions",
    "models.files",
    "models.quick_invoices",
    "models.paylinks",
    "models.transaction_batches",
    "models.postback_configs",
    "_execution.pages",
    "client",
    "ledger.sqlite",
)


if not TYPE_CHECKING:  # otherwise type checkers would treat every misspelt name as `Any`

    def __getattr__(name: str) -> Any:
        if name in __all__:
            for place in _MODULES:
                module = import_module(f"{__name__}.{place}")
                if name in module.__all__:
                    value = globals()[name] = getattr(module, name)
                    return value
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

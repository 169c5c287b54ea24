"""`gateway.transactions` (contract, *Endpoints appearing only as usage*)."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import attrs

from gateway_async._secrets import seal
from gateway_async._wire.amounts import add, subtract, to_cents
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import is_less
from gateway_async.errors import GatewayError, InvalidRequestError, NotSentError, StatusError
from gateway_async.models.account_vaults import BinInfo
from gateway_async.models.codes import AchSecCode, PaymentMethod, TransactionAction
from gateway_async.models.record import ApiId
from gateway_async.models.request import UNSET, Unset
from gateway_async.models.transactions import Transaction, TransactionCreate, TransactionUpdate
from gateway_async.resources._resource import CreatableResource, ListableResource

TRANSACTION_BIN_INFO: Final = ResourceSpec(name="bininfo", plural="transactions", record=BinInfo)
TRANSACTION: Final = ResourceSpec(
    name="transaction",
    plural="transactions",
    record=Transaction,
    creates=(TransactionCreate,),
    updates=(TransactionUpdate,),
    api_id="transaction_api_id",
    moves_money=True,
)


class Transactions(ListableResource[Transaction], CreatableResource[Transaction, TransactionCreate]):
    """Payments without a terminal, and the actions on existing payments.

    `expand` accepts account_vault, changelogs, contact, created_user, entrymode, is_completable, is_refundable,
    is_reversible, is_settled, is_voidable, location, product_transaction, quick_invoice, reason_code,
    recurring, signature, status, surcharge, surcharge_transaction, tags, terminal, transaction_histories,
    transaction_level3 and type.
    """

    spec = TRANSACTION

    async def create(self, new: TransactionCreate) -> Transaction:
        """Charge, reserve or return money.

        A decline is a normal result: check `.approved`, or call `.raise_for_decline()`. `transaction_api_id` is
        generated when omitted. If the response is lost, the client looks up the transaction by this id. It sends the
        transaction again, under the same id, only if the lookup does not find it.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: the money may have moved; `resolve(error)` looks it up again. Do not charge again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(TRANSACTION.create(new, self._defaults))

    async def update(self, id: str | ApiId, changes: TransactionUpdate) -> Transaction:
        """Perform `changes.action` on a transaction.

        If the response is lost or does not show the change, or the gateway refuses, the client reads the transaction.
        If it already shows the change, it is the result. Before a `partialreversal`, the client reads the amount, to
        tell afterwards whether it was executed; it never sends one again.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway refuses, for example because it has settled; `.fields` says why.
            OutcomeUnknownError: it may have been executed; `resolve(error)` looks it up again.
        """
        changes = seal(changes)  # as above
        return await self._executor.execute(TRANSACTION.update_with_action(id, changes, self._defaults))

    async def void(self, id: str | ApiId) -> Transaction:
        """Void a transaction before it settles. Its amount becomes 0, and `auth_amount` stays.

        A transaction that is already voided is returned as it is.

        Raises:
            ValidationError: it cannot be voided, for example because it has settled; `.fields` says why.
        """
        return await self.update(id, TransactionUpdate(action=TransactionAction.VOID))

    async def increment(self, id: str | ApiId, new_total: Decimal | int | str) -> Transaction:
        """Raise an authorization to `new_total`. An authorization that already has this amount is returned as it is.

        Raises:
            ValidationError: it cannot be raised; `.fields` says why.
        """
        changes = TransactionUpdate(action=TransactionAction.AUTH_INCREMENT, transaction_amount=new_total)
        return await self.update(id, changes)

    async def complete(self, id: str | ApiId, amount: Decimal | int | str | None = None) -> Transaction:
        """Capture an authorization, for its full amount or for `amount`.

        A transaction that is already captured, for `amount` if given, is returned as it is.

        Raises:
            ValidationError: it cannot be captured; `.fields` says why.
        """
        capture = UNSET if amount is None else amount
        changes = TransactionUpdate(action=TransactionAction.AUTH_COMPLETE, transaction_amount=capture)
        return await self.update(id, changes)

    async def refund(
        self,
        id: str | ApiId,
        amount: Decimal | int | str | None = None,
        *,
        transaction_api_id: str | None = None,
    ) -> Transaction:
        """Refund a payment: its full amount, or `amount`.

        The refund is a transaction of its own, made by POST like a sale. `transaction_api_id` names it and is generated
        when omitted. The client first reads the payment for its amount, location and product. The read and the refund
        each have the client's `timeout`.

        A bank debit can only be refunded in full, with the SEC code WEB. To return a part of it, create a `credit`.

        Returns:
            The refund. A decline is a normal result: check `.approved`.

        Raises:
            InvalidRequestError: nothing was refunded; `.problems` says why, for example a part of an ACH debit.
            NotFoundError: the payment does not exist.
            NotSentError: the payment could not be read, so nothing was refunded.
            ValidationError: the gateway refuses, for example because less than the amount is left; `.fields` says why.
            OutcomeUnknownError: the money may have moved; `resolve(error)` looks it up again. Do not refund again.
        """
        new = TransactionCreate(
            action=TransactionAction.REFUND,
            previous_transaction_id="-",  # known after the read
            transaction_amount=amount,
            transaction_api_id=transaction_api_id,
        )
        TRANSACTION.create(new, self._defaults)  # reports problems before anything is read
        payment = await self._read_before("refund", id)
        return await self.create(_refund_of(payment, new))

    async def tip_adjust(
        self,
        id: str | ApiId,
        tip: Decimal | int | str,
        new_total: Decimal | int | str | None = None,
    ) -> Transaction:
        """Set the tip of a payment before it settles. A second call replaces the first tip.

        Args:
            id: the payment.
            tip: the tip, which is part of the new total.
            new_total: the amount with the tip. If omitted, the client reads the payment and adds the tip to its amount
                without an earlier tip. The read and the change each have the client's `timeout`.

        Raises:
            InvalidRequestError: nothing was changed; `.problems` says why, for example a partial approval without a
                `new_total`.
            NotSentError: the payment could not be read, so nothing was changed.
            ValidationError: the gateway refuses, for example because it is settled; `.fields` says why.
            OutcomeUnknownError: it may have been executed; `resolve(error)` looks it up again.
        """
        changes = TransactionUpdate(
            action=TransactionAction.TIP_ADJUST,
            tip_amount=tip,
            transaction_amount=UNSET if new_total is None else new_total,
        )
        TRANSACTION.update_with_action(id, changes, self._defaults)  # reports problems before anything is read
        if new_total is None:
            payment = await self._read_before("tip adjustment", id)
            changes = attrs.evolve(changes, transaction_amount=_total_with_tip(payment, tip))
        return await self.update(id, changes)

    async def edit(
        self,
        id: str | ApiId,
        *,
        contact_id: str | Unset | None = UNSET,
        description: str | Unset | None = UNSET,
        tags: Sequence[str] | str | Unset | None = UNSET,
        move_account_vault: bool | Unset = UNSET,
        move_account_vault_transactions: bool | Unset = UNSET,
    ) -> Transaction:
        """Change the description, tags or customer of a payment, even a settled one. No money moves.

        Omitted fields keep their values; None is sent as null. Other fields are changed by `update`.

        Args:
            id: the payment.
            contact_id: the new customer; `""` detaches the payment from its customer.
            description: at most 64 characters.
            tags: titles of tags, which replace the earlier ones.
            move_account_vault: whether the payment's vault moves to `contact_id` as well.
            move_account_vault_transactions: whether all payments of the vault move to `contact_id` as well.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects a value; `.fields` says which.
        """
        changes = TransactionUpdate(
            action=TransactionAction.EDIT,
            contact_id=contact_id,
            description=description,
            tags=tags,
            move_account_vault=move_account_vault,
            move_account_vault_transactions=move_account_vault_transactions,
        )
        return await self.update(id, changes)

    async def bin_info(self, id: str | ApiId) -> BinInfo:
        """Read what the charged card's first digits reveal: issuer, country, product.

        Raises:
            NotFoundError: the transaction does not exist.
            ValidationError: it is a bank payment; only cards have BIN info.
        """
        return await self._executor.execute(TRANSACTION.sub_resource(id, TRANSACTION_BIN_INFO, self._defaults))

    async def _read_before(self, purpose: str, id: str | ApiId) -> Transaction:
        """Read the payment that a write refers to.

        Raises:
            NotSentError: it could not be read, or may be another one, so the write was not sent.
        """
        try:
            call = attrs.evolve(TRANSACTION.get(id, self._defaults), fresh_connection=True)
            payment = await self._executor.execute(call)
        except (InvalidRequestError, NotSentError, StatusError):
            raise
        except GatewayError as error:
            raise NotSentError(f"the payment could not be read: {error}", call=f"the {purpose}") from error
        if isinstance(id, ApiId) and payment.transaction_api_id != id.value:
            raise NotSentError("the payment that was read does not show the id", call=f"the {purpose}")
        return payment


def _refund_of(payment: Transaction, new: TransactionCreate) -> TransactionCreate:
    """Complete the refund `new` of a payment with the payment's own values.

    Raises:
        InvalidRequestError: the payment shows no amount, or is a debit that is refunded in full only.
    """
    full = payment.auth_amount if payment.partially_approved else payment.transaction_amount
    if full is None:
        raise InvalidRequestError("amount: required, because the payment shows none")
    full = to_cents(full)
    is_ach = payment.payment_method == PaymentMethod.ACH
    if is_ach and is_less(new.transaction_amount, full):
        raise InvalidRequestError(
            f"amount: an ACH debit can only be refunded in full (expected {full}, or a transaction with action credit)"
        )
    return attrs.evolve(
        new,
        previous_transaction_id=payment.id,
        payment_method=payment.payment_method or PaymentMethod.CARD,
        transaction_amount=full if new.transaction_amount is None else new.transaction_amount,
        location_id=payment.location_id,
        product_transaction_id=payment.product_transaction_id,
        ach_sec_code=AchSecCode.WEB if is_ach else None,
    )


def _total_with_tip(payment: Transaction, tip: Decimal | int | str) -> Decimal | Unset:
    """The payment's amount with another tip. A payment that shows no amount has none to send.

    Raises:
        InvalidRequestError: the amount is the requested one, and less was approved.
    """
    if payment.partially_approved:
        raise InvalidRequestError("new_total: required, because the payment was approved in part")
    if payment.transaction_amount is None:
        return UNSET
    before_tip = subtract(to_cents(payment.transaction_amount), to_cents(payment.tip_amount or Decimal(0)))
    return add(before_tip, Decimal(tip))

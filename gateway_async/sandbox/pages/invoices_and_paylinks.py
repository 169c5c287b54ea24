"""Find the invoice or paylink of an address, and describe it for its page."""

from urllib.parse import quote, unquote

import attrs

from gateway_async.sandbox.handlers import invoice_payments, paylinks
from gateway_async.sandbox.handlers.payment_pages import BillState, PaymentPage, find_bill, find_required_fields
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import LOCATION, QUICK_INVOICE_FILE
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import cents_by_item

_METHODS = {"cc": "Card", "ach": "Bank account"}


@attrs.frozen
class BillType:
    """Invoices or paylinks, with the address of their pages.

    Attributes:
        page: How they are paid.
        name: What a customer calls one.
        path: The address of their pages, before the id.
        parameter: The parameter of a query that has the id.
        id_field: The field of a transaction that has the id.
        takes_api_id: Whether an integrator id may take the place of the id.
    """

    page: PaymentPage
    name: str
    path: str
    parameter: str
    id_field: str
    takes_api_id: bool = False

    def find_in_path(self, request: PageRequest) -> "Bill | None":
        """Find the bill whose id is in the path."""
        return self._find(request, unquote(request.parameter("id")))

    def find_in_query(self, request: PageRequest) -> "Bill | None":
        """Find the bill whose id is in the query."""
        return self._find(request, request.query(self.parameter))

    def _find(self, request: PageRequest, bill_id: str) -> "Bill | None":
        equal = {"id": bill_id}
        if self.takes_api_id and request.query("api_id").lower() in {"1", "true"}:
            equal = {self.page.table.api_id: bill_id, "location_id": request.query("location_id")}
        found = find_bill(request.gateway, self.page, **equal)
        return Bill(self, *found) if found else None


INVOICES = BillType(
    invoice_payments.INVOICE_PAGE, "invoice", "/quickinvoicepay", "id", "quick_invoice_id", takes_api_id=True
)
PAYLINKS = BillType(paylinks.PAYLINK_PAGE, "payment link", "/paylinkpay", "paylink_id", "paylink_id")


@attrs.frozen
class Bill:
    """One invoice or paylink."""

    type: BillType
    row: Row
    state: BillState

    @property
    def id(self) -> str:
        """The system id."""
        return str(self.row["id"])

    @property
    def path(self) -> str:
        """The address of the payment page."""
        return f"{self.type.path}/{quote(self.id, safe='')}"

    @property
    def title(self) -> str:
        """The title of an invoice, or the description of a paylink."""
        return self.row["title"] if self.type is INVOICES else self.row["description"] or "Payment"

    def text(self, name: str) -> str:
        """A text of an invoice; a paylink has none of them."""
        return self.row.get(name) or ""

    @property
    def due(self) -> int:
        """The cents that are left to pay."""
        if self.type is INVOICES:
            return int(self.row["remaining_balance"])
        return 0 if self.state is BillState.PAID else int(self.row["amount_due"])

    @property
    def paid(self) -> int:
        """The cents that were paid for an invoice; money above the amount due does not count."""
        return int(self.row["amount_due"]) - self.due

    @property
    def items(self) -> list[tuple[str, int]]:
        """The names and the cents of the items."""
        return [*cents_by_item(self.row.get("item_list", "{}")).items()]

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest payment, in cents."""
        return self.type.page.find_limits(self.row)

    @property
    def methods(self) -> dict[str, str]:
        """The names of the payment methods for which the bill has a merchant account."""
        return {method: name for method, name in _METHODS.items() if self.row[f"{method}_product_transaction_id"]}

    @property
    def shows_billing(self) -> bool:
        """Whether the form asks for the billing address."""
        return bool(self.row.get("display_billing_fields", 1))

    @property
    def shows_receipt(self) -> bool:
        """Whether the customer sees the details of an approved payment."""
        return bool(self.row.get("display_product_transaction_receipt_details", 1))

    def find_required_fields(self, gateway: Gateway) -> set[str]:
        """Find the further fields that a bank payment needs."""
        return find_required_fields(gateway, self.row)

    def find_merchant(self, gateway: Gateway) -> str:
        """Find the name of the location that asks for the payment."""
        location = gateway.store.find(LOCATION, id=self.row["location_id"])
        return str(location["name"]) if location else ""

    def find_files(self, gateway: Gateway) -> list[Row]:
        """Find the attached files, oldest first."""
        return gateway.store.select(QUICK_INVOICE_FILE, f"quick_invoice_id = ? AND {ALIVE} ORDER BY id", (self.id,))

"""The contract's "Paylinks": a link to pay one amount, sent to the customer by the gateway or by the merchant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox.http.answers import answer, no_body
from gateway_async.sandbox.http.errors import InvalidError, Problems
from gateway_async.sandbox.notices.messages import BY_SMS, tell_of_paylink
from gateway_async.sandbox.nouns.merchant_accounts import check_products, default_products
from gateway_async.sandbox.requests.records import change, deleter, lister, locate, reader, show
from gateway_async.sandbox.requests.references import check_references
from gateway_async.sandbox.requests.validation import read_fields
from gateway_async.sandbox.states.paylinks import LIFE, State, Trigger
from gateway_async.sandbox.tables import PAYLINK

if TYPE_CHECKING:
    from starlette.responses import Response

    from gateway_async.sandbox.requests.calls import Call
    from gateway_async.sandbox.tables.fields import Row

ACTIONS = {"sale": "sale", "auth-only": "authonly", "authonly": "authonly"}
"""What `paylink_action` may say, and the action of the transaction that the payment form makes."""

_METHODS = range(4)


async def create(call: Call) -> Response:
    """POST /v2/paylinks; the customer is told at once, by `delivery_method`."""
    body = await call.record("paylink")
    problems = Problems()
    values = _read(call, body, problems)
    if values.get("amount_due") == 0:
        problems.add("amount_due", "Amount Due must be greater than 0.00.")
    problems.done()
    given = {name: value for name, value in values.items() if value is not None}
    by = {"created_user_id": call.user["id"], "modified_user_id": call.user["id"]}
    row = call.gateway.new_row(PAYLINK, call.user, default_products(call.gateway, call.user) | given | by)
    with call.gateway.store.transaction():
        call.gateway.store.insert(PAYLINK, row)
        tell_of_paylink(call.gateway, row, "created")
    return answer({"paylink": show(call, PAYLINK, row)}, 201)


async def update(call: Call) -> Response:
    """PUT /v2/paylinks/{id}; refused when it is closed."""
    body = await call.record("paylink")
    row, problems = locate(call, PAYLINK), Problems()
    if LIFE.after(State(row["status_id"]), Trigger.CHANGE) is None:
        raise InvalidError({"status_id": ["The paylink is closed."]})
    values = _read(call, body, problems, current=row)
    problems.done()
    by = {"modified_user_id": call.user["id"]}
    return answer({"paylink": show(call, PAYLINK, change(call, PAYLINK, row, values | by))})


async def resend(call: Call) -> Response:
    """POST /v2/paylinks/{id}/resend: 204, also when there is nobody to reach."""
    tell_of_paylink(call.gateway, locate(call, PAYLINK), "resend")
    return no_body()


def _read(call: Call, body: Row, problems: Problems, *, current: Row | None = None) -> Row:
    values = read_fields(PAYLINK, body, problems, current=current)
    check_references(call.gateway, call.user, PAYLINK, values, problems, current=current)
    check_products(call.gateway, values, problems, current=current)
    _check_words(values, problems)
    _check_delivery((current or {}) | values, problems)
    return values


def _check_words(values: Row, problems: Problems) -> None:
    if values.get("delivery_method", 0) not in _METHODS:
        problems.add("delivery_method", "Delivery Method must be 0, 1, 2 or 3.")
    if values.get("paylink_action", "sale") not in ACTIONS:
        problems.add("paylink_action", f"Paylink Action must be one of {', '.join(ACTIONS)}.")


def _check_delivery(values: Row, problems: Problems) -> None:
    if values.get("delivery_method") in BY_SMS and not values.get("cell_phone") and "cell_phone" not in problems:
        problems.add("cell_phone", "Cell Phone cannot be blank when Delivery Method is 2 or 3.")


get = reader(PAYLINK)
get_list = lister(PAYLINK)
delete = deleter(PAYLINK)

"""Paylinks (contract, "Paylinks"): links to pay one amount.

The gateway or the merchant sends the link.
"""

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import check_products, default_products
from gateway_async.sandbox.http.errors import Problems, ValidationError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.notifications.messages import BY_SMS, notify_about_paylink
from gateway_async.sandbox.request.call import Call
from gateway_async.sandbox.request.records import find_record, make_delete, make_get, make_list, show, update_record
from gateway_async.sandbox.request.references import check_references
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import PAYLINK
from gateway_async.sandbox.schema.codes import DeliveryMethod
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.paylinks import MACHINE, State, Trigger

ACTIONS = {"sale": "sale", "auth-only": "authonly", "authonly": "authonly"}
"""The values of `paylink_action`, and the action of the transaction that each leads to."""


async def create(call: Call) -> Response:
    """Handle POST /v2/paylinks; the customer is notified at once, by `delivery_method`."""
    body = await call.read_record("paylink")
    problems = Problems()
    values = _read(call, body, problems)
    if values.get("amount_due") == 0:
        problems.add("amount_due", "Amount Due must be greater than 0.00.")
    problems.raise_if_any()
    given = {name: value for name, value in values.items() if value is not None}
    by = {"created_user_id": call.user["id"], "modified_user_id": call.user["id"]}
    row = call.gateway.new_row(PAYLINK, call.user, default_products(call.gateway, call.user) | given | by)
    with call.gateway.store.transaction():
        call.gateway.store.insert(PAYLINK, row)
        notify_about_paylink(call.gateway, row, "created")
    return json_response({"paylink": show(call, PAYLINK, row)}, 201)


async def update(call: Call) -> Response:
    """Handle PUT /v2/paylinks/{id}; a closed paylink is refused."""
    body = await call.read_record("paylink")
    row, problems = find_record(call, PAYLINK), Problems()
    if MACHINE.next_state(State(row["status_id"]), Trigger.CHANGE) is None:
        raise ValidationError({"status_id": ["The paylink is closed."]})
    values = _read(call, body, problems, current=row)
    problems.raise_if_any()
    by = {"modified_user_id": call.user["id"]}
    return json_response({"paylink": show(call, PAYLINK, update_record(call, PAYLINK, row, values | by))})


async def resend(call: Call) -> Response:
    """Handle POST /v2/paylinks/{id}/resend: 204, also without an address to send to."""
    notify_about_paylink(call.gateway, find_record(call, PAYLINK), "resend")
    return empty_response()


def _read(call: Call, body: Row, problems: Problems, *, current: Row | None = None) -> Row:
    values = read_fields(PAYLINK, body, problems, current=current)
    check_references(call.gateway, call.user, PAYLINK, values, problems, current=current)
    check_products(call.gateway, values, problems, current=current)
    _check_words(values, problems)
    _check_delivery((current or {}) | values, problems)
    return values


def _check_words(values: Row, problems: Problems) -> None:
    if values.get("delivery_method", 0) not in {*DeliveryMethod}:
        problems.add("delivery_method", "Delivery Method must be 0, 1, 2 or 3.")
    if values.get("paylink_action", "sale") not in ACTIONS:
        problems.add("paylink_action", f"Paylink Action must be one of {', '.join(ACTIONS)}.")


def _check_delivery(values: Row, problems: Problems) -> None:
    if values.get("delivery_method") in BY_SMS and not values.get("cell_phone") and "cell_phone" not in problems:
        problems.add("cell_phone", "Cell Phone cannot be blank when Delivery Method is 2 or 3.")


get = make_get(PAYLINK)
get_list = make_list(PAYLINK)
delete = make_delete(PAYLINK)

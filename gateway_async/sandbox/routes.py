"""The endpoints of the contract: path, method and handler.

To add an endpoint, add its fields in `contract/`, a line here, and what is not standard in `handlers/`.
"""

from gateway_async.sandbox import schema
from gateway_async.sandbox.handlers import (
    account_vaults,
    contacts,
    hosted_pages,
    invoice_payments,
    locations,
    notes_and_signatures,
    paylinks,
    postbacks,
    quick_invoices,
    recurrings,
    terminals,
    tokens,
    transaction_batches,
    transactions,
    users,
)
from gateway_async.sandbox.handlers.payments.change import correct_payment, override_decline, update_payment
from gateway_async.sandbox.handlers.payments.create import create_payment
from gateway_async.sandbox.request.standard_handlers import RequestHandler, make_create, make_routes
from gateway_async.sandbox.simulators.faults import matches_path

ROUTES: dict[str, dict[str, RequestHandler]] = {
    **make_routes(schema.CONTACT, create=contacts.create, update=contacts.update),
    **make_routes(
        schema.ACCOUNT_VAULT, create=account_vaults.create, update=account_vaults.update, delete=account_vaults.delete
    ),
    "/v2/accountvaults/{id}/bininfo": {"GET": account_vaults.bin_info},
    **make_routes(schema.TRANSACTION, create=create_payment, update=update_payment, delete=None),
    "/v2/transactions/{id}/bininfo": {"GET": transactions.bin_info},
    "/v2/transactions/{id}/override": {"POST": override_decline},
    "/v2/transactions/{id}/achupdate": {"POST": correct_payment},
    "/custom/tsvtransactions": {"GET": transactions.get_file},
    **make_routes(schema.TRANSACTION_BATCH, create=None, update=None, delete=None),
    "/v2/transactionbatches/{id}/settle": {"POST": transaction_batches.settle},
    # The contract does not show how to read postback configs, so reading is not allowed.
    **make_routes(schema.POSTBACK_CONFIG, create=postbacks.create, update=postbacks.update, get_list=None, get=None),
    "/v2/token": {"POST": tokens.create},
    "/v2/token/{token}": {"DELETE": tokens.delete},
    **make_routes(schema.QUICK_INVOICE, create=quick_invoices.create, update=quick_invoices.update),
    "/v2/quickinvoices/{id}/reopen": {"POST": quick_invoices.reopen},
    "/v2/quickinvoices/{id}/resend": {"POST": quick_invoices.resend},
    "/v2/quickinvoices/{id}/addTransaction": {"PUT": invoice_payments.add_transaction},
    "/v2/quickinvoices/{id}/removeTransaction": {"PUT": invoice_payments.remove_transaction},
    "/v2/quickinvoices/{id}/files": {"POST": quick_invoices.attach},
    "/v2/quickinvoices/{id}/files/{file_id}": {"DELETE": quick_invoices.remove},
    "/v2/productfiles": {"POST": make_create(schema.PRODUCT_FILE)},
    **make_routes(schema.PAYLINK, create=paylinks.create, update=paylinks.update),
    "/v2/paylinks/{id}/resend": {"POST": paylinks.resend},
    **make_routes(schema.RECURRING, create=recurrings.create, update=recurrings.update, delete=recurrings.delete),
    "/v2/recurrings/{id}/skipPayment": {"POST": recurrings.skip},
    "/v2/recurrings/{id}/deferPayment": {"POST": recurrings.defer},
    "/v2/recurrings/{id}/placeOnHold": {"POST": recurrings.hold},
    "/v2/recurrings/{id}/activate": {"POST": recurrings.activate},
    **make_routes(schema.TAG),
    **make_routes(schema.NOTE, create=notes_and_signatures.create_note),
    **make_routes(schema.HOSTED_PAYMENT_PAGE, create=hosted_pages.create, update=None, delete=None),
    **make_routes(schema.SIGNATURE, create=notes_and_signatures.create_signature, update=None, delete=None),
    **make_routes(schema.DEVICE_TERM, create=terminals.create_terms, update=None, delete=None),
    **make_routes(
        schema.TRANSACTION_LEVEL3,
        create=transactions.create_level3,
        get=transactions.get_level3,
        delete=transactions.delete_level3,
        get_list=None,
        update=None,
    ),
    **make_routes(schema.LOCATION, create=locations.create, update=locations.update, delete=locations.delete),
    "/v2/locationinfos": {"GET": locations.get_infos},
    **make_routes(schema.TERMINAL, create=terminals.create, update=terminals.update),
    "/v2/users/me": {"GET": users.get_self},
    **make_routes(schema.USER, create=users.create, update=users.update, delete=users.delete),
    "/v2/users/{id}/generateuserapikey": {"POST": users.generate_key},
    **make_routes(schema.AUTH_ROLE_USER, create=users.create_role, update=None, delete=users.delete_role),
    "/v2/routertransactions": {"POST": terminals.create_transaction},
    "/v2/routeraccountvaults": {"POST": terminals.create_account_vault},
}
"""The handlers by path and method."""

OPERATIONS = [f"{method} {path}" for path, handlers in ROUTES.items() for method in handlers]
"""Every operation, such as "PUT /v2/contacts/{id}"."""

POSTED_UPDATES = frozenset({"/v2/transactions/{id}"})
"""The paths at which a POST is taken as a PUT, because some clients send it."""

FORMS: dict[str, dict[str, RequestHandler]] = {
    "/v2/accountform": {"GET": hosted_pages.show_account_form},
    "/v2/payform": {"GET": hosted_pages.show_payment_form},
    "/hostedpaymentpage": {"GET": hosted_pages.show_page},
}
"""The pages that a browser opens by a signed or encrypted URL. They are HTML."""


def is_operation(operation: str) -> bool:
    """Whether a method and path, "PUT /v2/contacts/{id}", are an operation."""
    method, _, path = operation.partition(" ")
    return any(matches_path(pattern, path) and method in handlers for pattern, handlers in ROUTES.items())

"""The endpoints of the contract: path, method and handler.

To add an endpoint, add a line here, a function in `handlers/` and its fields in `contract/`.
"""

from gateway_async.sandbox.handlers import (
    account_vaults,
    auth_role_users,
    bank_corrections,
    contacts,
    device_terms,
    hosted_forms,
    hosted_payment_pages,
    invoice_files,
    invoice_payments,
    locations,
    notes,
    paylinks,
    postback_configs,
    quick_invoices,
    recurrings,
    router,
    signatures,
    tags,
    terminals,
    tokens,
    transaction_batches,
    transaction_files,
    transaction_level3s,
    transaction_updates,
    transactions,
    users,
)
from gateway_async.sandbox.request.records import RequestHandler
from gateway_async.sandbox.simulators.faults import matches_path

__all__ = ["FORMS", "OPERATIONS", "POSTED_UPDATES", "ROUTES", "is_operation"]


ROUTES: dict[str, dict[str, RequestHandler]] = {
    "/v2/contacts": {"GET": contacts.get_list, "POST": contacts.create},
    "/v2/contacts/{id}": {"GET": contacts.get, "PUT": contacts.update, "DELETE": contacts.delete},
    "/v2/accountvaults": {"GET": account_vaults.get_list, "POST": account_vaults.create},
    "/v2/accountvaults/{id}": {
        "GET": account_vaults.get,
        "PUT": account_vaults.update,
        "DELETE": account_vaults.delete,
    },
    "/v2/accountvaults/{id}/bininfo": {"GET": account_vaults.bin_info},
    "/v2/transactions": {"GET": transactions.get_list, "POST": transactions.create},
    "/v2/transactions/{id}": {"GET": transactions.get, "PUT": transaction_updates.update},
    "/v2/transactions/{id}/bininfo": {"GET": transactions.bin_info},
    "/v2/transactions/{id}/override": {"POST": bank_corrections.override},
    "/v2/transactions/{id}/achupdate": {"POST": bank_corrections.correct},
    "/custom/tsvtransactions": {"GET": transaction_files.get_file},
    "/v2/transactionbatches": {"GET": transaction_batches.get_list},
    "/v2/transactionbatches/{id}": {"GET": transaction_batches.get},
    "/v2/transactionbatches/{id}/settle": {"POST": transaction_batches.settle},
    "/v2/postbackconfigs": {"POST": postback_configs.create},
    "/v2/postbackconfigs/{id}": {"PUT": postback_configs.update, "DELETE": postback_configs.delete},
    "/v2/token": {"POST": tokens.create},
    "/v2/token/{token}": {"DELETE": tokens.delete},
    "/v2/quickinvoices": {"GET": quick_invoices.get_list, "POST": quick_invoices.create},
    "/v2/quickinvoices/{id}": {
        "GET": quick_invoices.get,
        "PUT": quick_invoices.update,
        "DELETE": quick_invoices.delete,
    },
    "/v2/quickinvoices/{id}/reopen": {"POST": quick_invoices.reopen},
    "/v2/quickinvoices/{id}/resend": {"POST": quick_invoices.resend},
    "/v2/quickinvoices/{id}/addTransaction": {"PUT": invoice_payments.add_transaction},
    "/v2/quickinvoices/{id}/removeTransaction": {"PUT": invoice_payments.remove_transaction},
    "/v2/quickinvoices/{id}/files": {"POST": invoice_files.attach},
    "/v2/quickinvoices/{id}/files/{file_id}": {"DELETE": invoice_files.remove},
    "/v2/productfiles": {"POST": invoice_files.enable_storage},
    "/v2/paylinks": {"GET": paylinks.get_list, "POST": paylinks.create},
    "/v2/paylinks/{id}": {"GET": paylinks.get, "PUT": paylinks.update, "DELETE": paylinks.delete},
    "/v2/paylinks/{id}/resend": {"POST": paylinks.resend},
    "/v2/recurrings": {"GET": recurrings.get_list, "POST": recurrings.create},
    "/v2/recurrings/{id}": {"GET": recurrings.get, "PUT": recurrings.update, "DELETE": recurrings.delete},
    "/v2/recurrings/{id}/skipPayment": {"POST": recurrings.skip},
    "/v2/recurrings/{id}/deferPayment": {"POST": recurrings.defer},
    "/v2/recurrings/{id}/placeOnHold": {"POST": recurrings.hold},
    "/v2/recurrings/{id}/activate": {"POST": recurrings.activate},
    "/v2/tags": {"GET": tags.get_list, "POST": tags.create},
    "/v2/tags/{id}": {"GET": tags.get, "PUT": tags.update, "DELETE": tags.delete},
    "/v2/notes": {"GET": notes.get_list, "POST": notes.create},
    "/v2/notes/{id}": {"GET": notes.get, "PUT": notes.update, "DELETE": notes.delete},
    "/v2/hostedpaymentpages": {"GET": hosted_payment_pages.get_list, "POST": hosted_payment_pages.create},
    "/v2/hostedpaymentpages/{id}": {"GET": hosted_payment_pages.get},
    "/v2/signatures": {"GET": signatures.get_list, "POST": signatures.create},
    "/v2/signatures/{id}": {"GET": signatures.get},
    "/v2/deviceterms": {"GET": device_terms.get_list, "POST": device_terms.create},
    "/v2/deviceterms/{id}": {"GET": device_terms.get},
    "/v2/transactionlevel3s": {"POST": transaction_level3s.create},
    "/v2/transactionlevel3s/{id}": {"GET": transaction_level3s.get, "DELETE": transaction_level3s.delete},
    "/v2/locations": {"GET": locations.get_list, "POST": locations.create},
    "/v2/locations/{id}": {"GET": locations.get, "PUT": locations.update, "DELETE": locations.delete},
    "/v2/locationinfos": {"GET": locations.get_infos},
    "/v2/terminals": {"GET": terminals.get_list, "POST": terminals.create},
    "/v2/terminals/{id}": {"GET": terminals.get, "PUT": terminals.update, "DELETE": terminals.delete},
    "/v2/users": {"GET": users.get_list, "POST": users.create},
    "/v2/users/me": {"GET": users.get_self},
    "/v2/users/{id}": {"GET": users.get, "PUT": users.update, "DELETE": users.delete},
    "/v2/users/{id}/generateuserapikey": {"POST": users.generate_key},
    "/v2/authroleusers": {"GET": auth_role_users.get_list, "POST": auth_role_users.create},
    "/v2/authroleusers/{id}": {"GET": auth_role_users.get, "DELETE": auth_role_users.delete},
    "/v2/routertransactions": {"POST": router.create_transaction},
    "/v2/routeraccountvaults": {"POST": router.create_account_vault},
}

OPERATIONS = [f"{method} {path}" for path, handlers in ROUTES.items() for method in handlers]
"""Every operation, such as "PUT /v2/contacts/{id}"."""

POSTED_UPDATES = frozenset({"/v2/transactions/{id}"})
"""The paths at which a POST is taken as a PUT, because some clients send it."""

FORMS: dict[str, dict[str, RequestHandler]] = {
    "/v2/accountform": {"GET": hosted_forms.show_account_form},
    "/v2/payform": {"GET": hosted_forms.show_payment_form},
    "/hostedpaymentpage": {"GET": hosted_payment_pages.show_page},
}
"""The pages that a browser opens by a signed or encrypted URL. They are HTML."""


def is_operation(operation: str) -> bool:
    """Return whether a method and path, "PUT /v2/contacts/{id}", are an operation."""
    method, _, path = operation.partition(" ")
    return any(matches_path(pattern, path) and method in handlers for pattern, handlers in ROUTES.items())

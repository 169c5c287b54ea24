"""Account vaults (contract, "Account vaults"): stored cards and bank accounts."""

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import find_product
from gateway_async.sandbox.handlers.payments.account import (
    BANK_ACCOUNT_TYPES,
    VAULT_SOURCES,
    check_exp_date,
    check_kind,
    find_account,
    find_sec_code,
    store_account,
    use_up_ticket,
)
from gateway_async.sandbox.handlers.payments.create import verify_account
from gateway_async.sandbox.handlers.payments.rules import check_license
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, read_new, respond
from gateway_async.sandbox.request.standard_handlers import make_delete, make_update
from gateway_async.sandbox.schema import ACCOUNT_VAULT
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import Account, read_bin_info


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/accountvaults; the source in the body selects the mode."""
    values, problems = await read_new(context, ACCOUNT_VAULT)
    found = find_account(context.gateway, context.user, VAULT_SOURCES, values, problems)
    _check_create(context, values, found, problems)
    account = problems.require(found)
    if _needs_verification(context, values, account) and not verify_account(
        context.gateway, context.user, account, values
    ):
        raise RefusedFieldsError({"run_avs": ["Account Verification failed"]})
    row = store_account(context.gateway, context.user, account, values)
    use_up_ticket(context.gateway, values)
    return respond(context, ACCOUNT_VAULT, row, 201)


def _refuse_used(_context: RequestContext, row: Row) -> None:
    if row["has_recurring"]:
        raise RefusedFieldsError({"id": ["Account Vault is used by a recurring and cannot be deleted."]})


async def bin_info(context: RequestContext) -> Response:
    """Handle GET /v2/accountvaults/{id}/bininfo: issuer data for the card's first six digits."""
    return show_bin_info(find_record(context, ACCOUNT_VAULT))


def show_bin_info(row: Row) -> Response:
    """Respond with the BIN info of a stored card."""
    if row["payment_method"] != "cc" or not row["first_six"]:
        raise RefusedFieldsError({"payment_method": ["Only cards have BIN info."]})
    return json_response({"bininfo": read_bin_info(row["account_type"], row["first_six"])})


def _check_create(context: RequestContext, values: Row, account: Account | None, problems: Problems) -> None:
    check_kind(values, account, problems)
    _check_values(values, problems)
    if values.get("payment_method") == "ach" and values.get("account_number"):
        if values.get("is_company") is None:
            problems.add_blank("is_company")
        check_license(_product(context, "ach"), values, problems)


def _needs_verification(context: RequestContext, values: Row, account: Account) -> bool:
    """Whether the address of a card is checked first; `run_avs` replaces the merchant account's setting."""
    if account.payment_method != "cc":
        return False
    asked = values.get("run_avs")
    return bool(_product(context, "cc").get("run_avs_on_accountvault_create") if asked is None else asked)


def _product(context: RequestContext, method: str) -> Row:
    return find_product(context.gateway, context.user, {"payment_method": method})


def _check_change(_context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    _check_values(values, problems)
    if "ach_sec_code" not in values and row["ach_sec_code"] == find_sec_code(row):
        values["ach_sec_code"] = find_sec_code(row | values)
    possible = BANK_ACCOUNT_TYPES if row["payment_method"] == "ach" else (row["account_type"],)
    if values.get("account_type", row["account_type"]) not in possible:
        problems.add("account_type", f"Account Type must be {' or '.join(possible)}.")


def _check_values(values: Row, problems: Problems) -> None:
    check_exp_date(values, problems)
    given = [name for name in ("dl_number", "dl_state") if values.get(name) is not None or name in problems]
    if len(given) == 1:
        problems.add("dl_state", "Dl Number and Dl State must be given together.")


update = make_update(ACCOUNT_VAULT, _check_change)
delete = make_delete(ACCOUNT_VAULT, _refuse_used)

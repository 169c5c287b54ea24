"""The settings of a merchant account, which decide about its payments."""

from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.ach_terminals import read_terminal

__all__ = ["change_product"]


_INDUSTRIES = ("retail", "restaurant", "lodging", "mailorder", "ecommerce")


def change_product(
    gateway: Gateway,
    product_transaction_id: str,
    allow_partial_authorization: bool | None = None,
    auto_decline_cvv: bool | None = None,
    auto_decline_street: bool | None = None,
    auto_decline_zip: bool | None = None,
    surcharge: bool | None = None,
    level3_allow: bool | None = None,
    run_avs_on_accountvault_create: bool | None = None,
    license_verification: bool | None = None,
    ach_terminal: str | None = None,
    industry_type: str | None = None,
) -> Row:
    """Change settings of a merchant account, and return it; None keeps a setting.

    An empty `ach_terminal` removes the terminal.

    Raises:
        UnknownRecordError: The merchant account is unknown.
        ValueError: No test terminal has this number, or the industry is unknown.
    """
    product = gateway.store.find(PRODUCT_TRANSACTION, id=product_transaction_id)
    if product is None:
        raise UnknownRecordError("producttransaction", product_transaction_id)
    settings = {
        "allow_partial_authorization": allow_partial_authorization,
        "auto_decline_cvv": auto_decline_cvv,
        "auto_decline_street": auto_decline_street,
        "auto_decline_zip": auto_decline_zip,
        "surcharge": surcharge,
        "level3_allow": level3_allow,
        "run_avs_on_accountvault_create": run_avs_on_accountvault_create,
        "license_verification": license_verification,
    }
    changes: Row = {name: int(value) for name, value in settings.items() if value is not None}
    if ach_terminal:
        read_terminal(ach_terminal)
    if ach_terminal is not None:
        changes["ach_terminal"] = ach_terminal or None
    if industry_type is not None:
        changes["industry_type"] = _check_industry(industry_type)
    if changes:
        gateway.store.update(PRODUCT_TRANSACTION, product_transaction_id, changes)
    return PRODUCT_TRANSACTION.show(product | changes)


def _check_industry(name: str) -> str:
    if name not in _INDUSTRIES:
        raise ValueError(f"industry_type: {name[:20]!r} is unknown (expected {', '.join(_INDUSTRIES)}).")
    return name

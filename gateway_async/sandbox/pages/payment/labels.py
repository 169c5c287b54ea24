"""The labels of a payment form's fields, and the problems in their words."""

from collections.abc import Mapping, Sequence

from gateway_async.sandbox.schema.fields import label

__all__ = ["find_labels", "reword"]


_COMMON = {
    "billing_street": "Street",
    "billing_city": "City",
    "billing_state": "State",
    "billing_zip": "ZIP code",
    "billing_phone": "Phone",
    "dl_number": "Driver's license",
    "dl_state": "State of the license",
    "ssn4": "Last four digits of the SSN",
}
_LABELS = {
    "cc": {
        "amount": "Amount",
        "account_number": "Card number",
        "exp_date": "Expiration",
        "cvv": "Security code",
        "account_holder_name": "Name on the card",
        **_COMMON,
    },
    "ach": {
        "amount": "Amount",
        "account_holder_name": "Account holder",
        "routing": "Routing number",
        "account_number": "Account number",
        "account_type": "Account type",
        **_COMMON,
    },
}


def find_labels(method: str) -> Mapping[str, str]:
    """Return the labels by field, in the order of the form."""
    return _LABELS[method]


def reword(problems: Mapping[str, Sequence[str]], method: str) -> dict[str, str]:
    """Return the problems of a request in the form's words and order."""
    labels = {**find_labels(method), **{name: label(name) for name in problems if name not in _LABELS[method]}}
    return {
        name: " ".join(problems[name]).replace(label(name), text).replace("MMYY", "MM/YY")
        for name, text in labels.items()
        if name in problems
    }

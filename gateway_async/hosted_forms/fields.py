"""The content of the URL of a hosted form or page: address, ids, settings and fields, with their problems."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from gateway_async._arguments import is_loopback
from gateway_async._secrets import Secret, is_card_number, is_confidential, mask_text
from gateway_async._wire.amounts import money
from gateway_async._wire.json_text import is_text, unsendable, unsendable_text
from gateway_async.credentials import is_header_text
from gateway_async.errors import InvalidRequestError

# --- address and parameters

_ADDRESS: Final = re.compile(r"https?://[^\s?#@]+", re.IGNORECASE)


def split_url(url: Any) -> SplitResult:
    """Split a URL into its parts; all are empty if it is invalid."""
    try:
        return urlsplit(url if is_text(url) else "")
    except ValueError:
        return urlsplit("")


def address_problems(base_url: str) -> Iterator[str]:
    """Yield what is wrong with the gateway's address."""
    parts = split_url(base_url)
    if not parts.hostname or not _ADDRESS.fullmatch(base_url):
        yield 'base_url: must be an http or https address, such as "https://api.example.test"'
    elif parts.path.rstrip("/").endswith("/v2"):
        yield "base_url: leave /v2 out; it is part of every path"
    elif parts.scheme == "http" and not is_loopback(parts.hostname):
        yield "base_url: plain http exposes card numbers (expected https)"


def text_problems(**texts: Any) -> Iterator[str]:
    """Yield a line for each id or key with invalid characters."""
    for name, text in texts.items():
        if not is_header_text(text.reveal() if isinstance(text, Secret) else text):
            yield f"{name}: must be printable ASCII text, not empty, without spaces around it"


def single_params(query: str, names: tuple[str, ...]) -> dict[str, str]:
    """The parameters of a form's URL.

    Raises:
        InvalidRequestError: one of `names` is missing or given twice.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    problems = [f"{name}: must be given once" for name in names if sum(key == name for key, _ in pairs) != 1]
    if problems:
        raise InvalidRequestError(problems)
    return dict(pairs)


# --- settings: where each one belongs, and its valid values

_LONGEST_URL: Final = 256
_LONGEST_PAGE_DELAY: Final = 15
_ENTRY_METHODS: Final = ("manual", "terminal", "both")

_Check = Callable[[Any], str | None]
"""What is wrong with a value, or None."""


def flag_problem(value: Any) -> str | None:
    """What is wrong with a flag, or None. The gateway's own samples write "true"."""
    return None if value in (0, 1, "0", "1", "true", "false") else 'must be True, False, 1, 0, "true" or "false"'


def _seconds_problem(value: Any) -> str | None:
    is_count = str(value).isascii() and str(value).isdigit()
    return None if is_count else "must be a whole number of seconds"


def _page_delay_problem(value: Any) -> str | None:
    problem = _seconds_problem(value)
    if problem is None and int(value) > _LONGEST_PAGE_DELAY:
        return f"must be at most {_LONGEST_PAGE_DELAY} seconds"
    return problem


def _url_problem(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    return None if len(value) <= _LONGEST_URL else f"must have at most {_LONGEST_URL} characters, not {len(value)}"


def _entry_method_problem(value: Any) -> str | None:
    return None if value in _ENTRY_METHODS else f"must be one of {', '.join(_ENTRY_METHODS)}"


def _object_problem(value: Any) -> str | None:
    return None if isinstance(value, Mapping) else "must be a mapping"


def _no_problem(_value: Any) -> None:
    """Accept a value, because amounts are checked wherever they are."""


_OF_PAYMENTS: Final[Mapping[str, _Check]] = {
    "require_street": flag_problem,
    "require_zip": flag_problem,
    "show_cvv": flag_problem,
    "show_second_account_number": flag_problem,
    "show_service_address_fields": flag_problem,
}
_OF_ACCOUNTS: Final[Mapping[str, _Check]] = {"show_title": flag_problem}
_OF_FORMS: Final[Mapping[str, _Check]] = {
    "parent_close": flag_problem,
    "parent_close_delay": _seconds_problem,
    "display_close_button": flag_problem,
    "entry_method": _entry_method_problem,
    "show_account_holder_name": flag_problem,
    "show_street": flag_problem,
    "show_zip": flag_problem,
    "stylesheet_url": _url_problem,
    "parent_send_message": flag_problem,
    "send_parent_message": flag_problem,  # so in samples
    "redirect_url_on_approval": _url_problem,
    "redirect_url_on_decline": _url_problem,
    "redirect_url_delay": _seconds_problem,
}
_OF_PAGES: Final[Mapping[str, _Check]] = {
    "stylesheet_url": _url_problem,
    "min_payment_amount": _no_problem,
    "max_payment_amount": _no_problem,
    "field_configuration": _object_problem,
    "parent_send_message": flag_problem,
    "redirect_url_on_approve": _url_problem,
    "redirect_url_on_decline": _url_problem,
    "redirect_url_delay": _page_delay_problem,
}

_SETTINGS: Final[Mapping[str, Mapping[str, _Check]]] = {
    "payform": {**_OF_FORMS, **_OF_PAYMENTS},
    "accountform": {**_OF_FORMS, **_OF_ACCOUNTS},
    "hostedpaymentpage": _OF_PAGES,
}
"""Form → its settings."""


def _setting_problem(form: str, name: str, value: Any) -> str | None:
    """What is wrong with a setting of a form, or None.

    Any other name is a field, and has no problem here.
    """
    if name in _SETTINGS[form]:
        return _SETTINGS[form][name](value)
    if others := [other for other, settings in _SETTINGS.items() if name in settings]:
        return f"is a setting of {' and '.join(others)} only"
    return None


# --- fields: required ones, their problems, and their values as JSON

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "payform": ("payment_method", "action", "product_transaction_id", "transaction_api_id"),
    "accountform": ("payment_method", "location_id", "account_vault_api_id"),
}

_ACTIONS: Final = ("sale", "debit", "authonly", "avsonly", "refund")
_CHANGES: Final = {"void": "void", "authincrement": "increment", "authcomplete": "complete"}
"""Actions on an existing payment, and the methods of `gateway.transactions` for them."""
_REFERENCES: Final = ("previous_transaction_id", "previous_transaction_api_id")
_AMOUNT: Final = re.compile(r"\w+_amount|tax|room_rate")
_OWN_ID: Final = re.compile(r"\S{1,64}")


def field_problems(form: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each field that is missing or invalid."""
    required = _REQUIRED[form]
    if form == "payform" and fields.get("action") != "avsonly":
        required = (*required, "transaction_amount")
    if form == "payform" and fields.get("payment_method") == "ach":
        required = (*required, "ach_sec_code")
    for name in required:
        value = fields.get(name)
        if value in (None, ""):
            yield f"{name}: is required"
        elif name.endswith("_api_id") and not (isinstance(value, str) and _OWN_ID.fullmatch(value)):
            yield f"{name}: must be text of 1 to 64 characters without spaces"
    if form == "payform":
        yield from _action_problems(fields)
    for name, value in fields.items():
        yield from value_problems(form, name, value)


def _action_problems(fields: Mapping[str, Any]) -> Iterator[str]:
    action = fields.get("action")
    if action not in (None, "", *_ACTIONS):
        instead = _CHANGES.get(action) if isinstance(action, str) else None
        hint = f", not {action} (use gateway.transactions.{instead})" if instead else ""
        yield f"action: must be one of {', '.join(_ACTIONS)}{hint}"
    elif action == "refund":
        given = (name for name in _REFERENCES if fields.get(name) not in (None, ""))
        yield from (f"{name}: a form refunds without a reference (use gateway.transactions.refund)" for name in given)


def value_problems(form: str, name: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with a form's sealed field or setting."""
    if problems := [*unsendable_text(name, "")]:
        yield from (f"{name!a}: its name {problem}" for _, problem in problems)
    elif is_confidential(name):
        yield f"{name}: must not be in a URL; it is entered on the form"
    elif _has_secret(name) or _has_secret(value):
        yield f"{name}: must not be in a URL; it contains a card number or a secret"
    elif value is not None and (problem := _setting_problem(form, name, value)):
        yield f"{name}: {problem}"
    elif value is not None and _AMOUNT.fullmatch(name):
        yield from _amount_problems(name, value)
    else:
        yield from (f"{path}: {problem}" for path, problem in unsendable(value, name))


def _has_secret(value: Any) -> bool:
    match value:
        case Secret():
            return True
        case Mapping():
            return any(map(_has_secret, (*value, *value.values())))
        case list() | tuple():
            return any(map(_has_secret, value))
        case str():  # digits alone may be a time or another number
            return is_card_number(value) or (mask_text(value) != value and any(map(str.isalpha, value)))
        case _:
            return False


def _amount_problems(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Decimal | int | str):
        yield f"{name}: must be a Decimal, an int or a str, never a float"
        return
    try:
        if Decimal(money(value)) < 0:
            yield f"{name}: must not be negative"
    except ValueError as error:
        yield f"{name}: {error}"


def write_field(name: str, value: Any) -> Any:
    """Convert the value of a field to JSON."""
    if value is not None and _AMOUNT.fullmatch(name):
        return money(value)
    match value:
        case bool():
            return int(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {key: write_field("", each) for key, each in value.items()}
        case list() | tuple():
            return [write_field("", each) for each in value]
        case _:
            return value

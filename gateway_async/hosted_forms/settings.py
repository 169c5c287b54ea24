"""The settings of hosted forms and pages: where each one belongs, and its valid values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["flag_problem", "setting_problem"]

_LONGEST_URL: Final = 256
_LONGEST_PAGE_DELAY: Final = 15
_ENTRY_METHODS: Final = ("manual", "terminal", "both")

_Check = Callable[[Any], str | None]
"""Returns what is wrong with a value, or None."""


def flag_problem(value: Any) -> str | None:
    """Return what is wrong with a flag, or None. The gateway's own samples write "true"."""
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


def setting_problem(form: str, name: str, value: Any) -> str | None:
    """Return what is wrong with a setting of a form, or None.

    Any other name is a field, and has no problem here.
    """
    if name in _SETTINGS[form]:
        return _SETTINGS[form][name](value)
    if others := [other for other, settings in _SETTINGS.items() if name in settings]:
        return f"is a setting of {' and '.join(others)} only"
    return None

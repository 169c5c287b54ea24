"""Comparison of a stored account with its row."""

from collections.abc import Iterator

from gateway_async._wire.convert.write import unstructure
from gateway_async.models.account_vaults import AccountVault, VaultCreate

__all__ = ["differences"]

_COMPARED = ("exp_date", "account_holder_name", "contact_id")


def differences(request: VaultCreate, vault: AccountVault) -> tuple[str, ...]:
    """Return the differences between a row and its stored account.

    The result is empty if it is the same account. The last four digits, the expiry, the holder and the contact are
    compared, if the row has them.
    """
    return tuple(_differences(request, vault))


def _differences(request: VaultCreate, vault: AccountVault) -> Iterator[str]:
    content = unstructure(request)
    number = content.get("account_number")
    if number is not None and vault.last_four != str(number)[-4:]:
        yield f"last_four: is {vault.last_four}, not {str(number)[-4:]}"
    for name in _COMPARED:
        if name in content and getattr(vault, name) != content[name]:
            yield f"{name}: is not the row's"

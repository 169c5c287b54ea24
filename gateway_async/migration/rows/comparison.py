"""Comparison of a stored account with its row."""

from collections.abc import Iterator

from gateway_async.models.account_vaults import AccountVault, VaultCreate

__all__ = ["find_vault_differences"]

_COMPARED = ("exp_date", "account_holder_name", "contact_id")


def find_vault_differences(request: VaultCreate, vault: AccountVault) -> tuple[str, ...]:
    """Return the differences between a row and its stored account.

    The result is empty if it is the same account. The last four digits, the expiry, the holder and the contact are
    compared, if the row has them.
    """
    return tuple(_differences(request, vault))


def _differences(request: VaultCreate, vault: AccountVault) -> Iterator[str]:
    number = getattr(request, "account_number", None)
    if number is not None and vault.last_four != number.reveal()[-4:]:
        yield f"last_four: is {vault.last_four}, not {number.reveal()[-4:]}"
    for name in _COMPARED:
        wanted = getattr(request, name, None)
        if wanted is not None and wanted != getattr(vault, name):
            yield f"{name}: is not the row's"

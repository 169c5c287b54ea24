"""The card updater, through raw HTTP and through the SDK: the changed vault, and its postback."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox

from .raw_client import BANK_ACCOUNT, RawClient
from .two_sides import Values, plain

Read = Callable[[str], Values]

UPDATES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"exp_date": "1232"}, {"exp_date": "1232", "last_four": "1111"}),
    ({"card": "4556773060150333"}, {"exp_date": "1230", "first_six": "455677", "last_four": "0333"}),
    ({"card": "5454545454545454", "exp_date": "1232"}, {"exp_date": "1232", "last_four": "5454", "account_type": "mc"}),
]
"""Fields from the issuer, and the vault after them."""


@pytest.fixture(params=["HTTP", "SDK"])
def read(request: pytest.FixtureRequest, raw_client: RawClient, sides: dict[str, Any]) -> Read:
    """Read an account vault by its id, with its times in Unix seconds."""
    sdk = sides["SDK"]

    def by_sdk(vault_id: str) -> Values:
        vault = sdk.portal.call(sdk.gateway.account_vaults.get, vault_id)
        updated = vault.cau_last_updated_ts
        return {**plain(vault), "cau_last_updated_ts": updated and int(updated.timestamp())}

    def by_http(vault_id: str) -> Values:
        vault: Values = raw_client.http.get(f"/v2/accountvaults/{vault_id}").json()["accountvault"]
        return vault

    return by_sdk if request.param == "SDK" else by_http


@pytest.mark.parametrize(("told", "expected"), UPDATES)
def test_the_card_updater_changes_a_vault(
    sandbox: Sandbox, raw_client: RawClient, read: Read, told: dict[str, str], expected: dict[str, str]
) -> None:
    vault_id = raw_client.vault()["id"]
    before = read(vault_id)
    assert (before["cau_summary_status_id"], before["cau_last_updated_ts"]) == (None, None)
    updated = sandbox.update_card(vault_id, **told)
    after = read(vault_id)
    assert {name: after[name] for name in expected} == expected
    assert (after["cau_summary_status_id"], after["cau_last_updated_ts"]) == (1, updated["cau_last_updated_ts"])
    assert {name: after[name] for name in ("title", "contact_id")} == {
        name: before[name] for name in ("title", "contact_id")
    }


def test_an_update_of_a_card_is_posted_back(sandbox: Sandbox, raw_client: RawClient) -> None:
    vault_id = raw_client.vault()["id"]
    config = {"resource": "accountvault", "url": "http://127.0.0.1:9/", "on_create": 0, "on_update": 1, "on_delete": 0}
    raw_client.made("/v2/postbackconfigs", "postbackconfig", **config, number_of_attempts=1, attempt_interval=300)
    sandbox.update_card(vault_id, exp_date="1232")
    (postback,) = sandbox.postbacks(record_id=vault_id)
    data = postback["body"]["data"]
    data = json.loads(data) if isinstance(data, str) else data
    assert (postback["body"]["resource"], postback["body"]["type"]) == ("accountvault", "UPDATE")
    assert (data["id"], data["exp_date"]) == (vault_id, "1232")
    assert datetime.fromtimestamp(data["cau_last_updated_ts"], UTC).year >= 2025


def test_invalid_updates(sandbox: Sandbox, raw_client: RawClient) -> None:
    """Nothing is changed without a valid number or expiry, nor in a bank account or a deleted vault."""
    card, bank, deleted = raw_client.vault(), raw_client.vault(**BANK), raw_client.vault()
    raw_client.http.delete(f"/v2/accountvaults/{deleted['id']}")
    for vault, body in (
        (card, {}),
        (card, {"card": "4111111111111112"}),
        (card, {"exp_date": "1330"}),
        (bank, {"exp_date": "1232"}),
        (deleted, {"exp_date": "1232"}),
    ):
        path = f"/_sandbox/accountvaults/{vault['id']}/update_card"
        assert raw_client.anonymous.post(path, json=body).status_code == 422
        with pytest.raises(InvalidRequestError, match=r"card|exp_date|accountvault"):
            sandbox.update_card(vault["id"], **body)
    assert raw_client.anonymous.post(f"/_sandbox/accountvaults/{'f' * 24}/update_card").status_code == 404


BANK = BANK_ACCOUNT | {"payment_method": "ach", "ach_sec_code": "WEB", "is_company": 0, "exp_date": ...}

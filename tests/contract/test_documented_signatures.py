"""The documented rows of signatures, through raw HTTP and through the SDK."""

from typing import Any

import pytest

from .raw_client import RawClient
from .sides import Family, Side, refusal, refused
from .untyped_records import PNG

RESOURCES = ("AccountVault", "Transaction", "Recurring")


@pytest.fixture
def signatures(side: Side) -> Family:
    return Family(side, "signatures")


@pytest.fixture
def recurring(raw_client: RawClient) -> dict[str, Any]:
    facts: dict[str, Any] = {"interval": 1, "interval_type": "m", "start_date": "2030-01-31"}
    vault = raw_client.vault()
    return raw_client.made(
        "/v2/recurrings", "recurring", account_vault_id=vault["id"], transaction_amount="10.00", **facts
    )


@pytest.fixture
def signed(raw_client: RawClient, recurring: dict[str, Any]) -> dict[str, str]:
    """The ids of one record of each resource."""
    return {
        "AccountVault": raw_client.vault()["id"],
        "Transaction": raw_client.sale()["id"],
        "Recurring": recurring["id"],
    }


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_record_is_signed(signatures: Family, signed: dict[str, str], resource: str) -> None:
    made = signatures.create(resource=resource, resource_id=signed[resource], signature=PNG)
    assert {*made} == {"id", "resource_id", "resource", "signature", "created_ts", "modified_ts", "_links"}
    assert (made["resource"], made["resource_id"], made["signature"]) == (resource, signed[resource], PNG)
    assert signatures.get(made["id"])["signature"] == PNG


@pytest.mark.parametrize("resource", RESOURCES)
def test_signed_record(side: Side, signatures: Family, signed: dict[str, str], resource: str) -> None:
    """The expand has the newest signature; null before."""
    family = Family(side, f"{resource.lower()}s")
    assert family.get(signed[resource], "signature")["signature"] is None
    signatures.create(resource=resource, resource_id=signed[resource], signature=PNG)
    newest = signatures.create(resource=resource, resource_id=signed[resource], signature=PNG)
    shown = family.get(signed[resource], "signature")["signature"]
    assert shown == {field: newest[field] for field in shown}


NEEDED = ("resource", "resource_id", "signature")


@pytest.mark.parametrize("missing", NEEDED)
def test_all_three_fields_are_required(signatures: Family, signed: dict[str, str], missing: str) -> None:
    new = {"resource": "Transaction", "resource_id": signed["Transaction"], "signature": PNG}
    assert list(refusal(lambda: signatures.create(**new | {missing: ""}))) == [missing]
    del new[missing]
    assert list(refusal(lambda: signatures.create(**new))) == [missing]


@pytest.mark.parametrize("value", ["Tea", "VGVh", "not base64!"])
def test_only_a_png_in_base64_is_accepted(signatures: Family, signed: dict[str, str], value: str) -> None:
    new = {"resource": "Transaction", "resource_id": signed["Transaction"], "signature": value}
    assert list(refusal(lambda: signatures.create(**new))) == ["signature"]


@pytest.mark.parametrize("resource", ["Contact", "DeviceTerm"])
def test_other_records(signatures: Family, signed: dict[str, str], resource: str) -> None:
    """Device terms are signed at a terminal only, and other records not at all."""
    new = {"resource_id": signed["Transaction"], "signature": PNG}
    assert list(refusal(lambda: signatures.create(resource=resource, **new))) == ["resource"]


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_record_that_does_not_exist_is_not_signed(signatures: Family, resource: str) -> None:
    new = {"resource": resource, "resource_id": "f" * 24, "signature": PNG}
    assert refusal(lambda: signatures.create(**new)) == {"resource_id": ["resource_id provided is not valid"]}


@pytest.mark.parametrize("name", ["resource_id", "resource", "created_ts", "modified_ts"])
def test_a_filtered_list_has_the_newest_signature_first(signatures: Family, signed: dict[str, str], name: str) -> None:
    new = {"resource": "Transaction", "resource_id": signed["Transaction"], "signature": PNG}
    first, second = (signatures.create(**new) for _ in range(2))
    found = [each["id"] for each in signatures.list(**{name: second[name]})]
    assert found[0] == second["id"]
    assert first["id"] in found or first[name] != second[name]


@pytest.mark.parametrize("name", ["id", "signature"])
def test_a_list_refuses_other_filters(signatures: Family, name: str) -> None:
    assert list(refusal(lambda: signatures.list(**{name: "x"}))) == [name]


def test_a_signature_refuses_any_expand(signatures: Family, signed: dict[str, str]) -> None:
    made = signatures.create(resource="Transaction", resource_id=signed["Transaction"], signature=PNG)
    assert list(refusal(lambda: signatures.get(made["id"], "created_user"))) == ["expand"]


def test_an_unknown_signature_is_404(signatures: Family) -> None:
    assert refused(lambda: signatures.get("f" * 24)).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_there_is_no_method_to_change_a_signature(raw_client: RawClient, method: str) -> None:
    assert raw_client.http.request(method, f"/v2/signatures/{'f' * 24}").status_code == 405

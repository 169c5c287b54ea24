"""The documented rows of signatures, through raw HTTP and through the SDK."""

from functools import partial

import pytest

from .calls import recurring
from .raw_client import RawClient
from .sides import Family, Side, refusal, refused
from .untyped_records import PNG

INVALID: list[tuple[str, list[str]]] = [
    ("resource", ["", "Contact", "DeviceTerm"]),
    ("resource_id", ["", "f" * 24]),
    ("signature", ["", "Tea", "VGVh", "not base64!"]),
]
"""Field → values that are refused: device terms are signed at a terminal only, and a signature is a PNG in base64."""


@pytest.fixture
def signatures(side: Side) -> Family:
    return Family(side, "signatures")


@pytest.fixture
def signed(raw_client: RawClient) -> dict[str, str]:
    """The ids of one record of each resource."""
    return {
        "AccountVault": raw_client.vault()["id"],
        "Transaction": raw_client.sale()["id"],
        "Recurring": recurring(raw_client),
    }


def test_signed_record(side: Side, signatures: Family, signed: dict[str, str]) -> None:
    """The expand has the newest signature; null before."""
    for resource, record_id in signed.items():
        family = Family(side, f"{resource.lower()}s")
        assert family.get(record_id, "signature")["signature"] is None
        first, newest = (signatures.create(resource=resource, resource_id=record_id, signature=PNG) for _ in range(2))
        assert {*first} == {"id", "resource_id", "resource", "signature", "created_ts", "modified_ts", "_links"}
        assert (first["resource"], first["resource_id"], first["signature"]) == (resource, record_id, PNG)
        assert signatures.get(first["id"])["signature"] == PNG
        shown = family.get(record_id, "signature")["signature"]
        assert shown == {field: newest[field] for field in shown}
        assert shown["id"] == newest["id"]


def test_refusals(signatures: Family, signed: dict[str, str]) -> None:
    """All three fields are required, and the record must exist."""
    new = {"resource": "Transaction", "resource_id": signed["Transaction"], "signature": PNG}
    for name, values in INVALID:
        rest = {other: value for other, value in new.items() if other != name}
        for fields in (rest, *(new | {name: value} for value in values)):
            assert list(refusal(partial(signatures.create, **fields))) == [name]
    for resource in signed:
        fields = new | {"resource": resource, "resource_id": "f" * 24}
        problem = {"resource_id": ["resource_id provided is not valid"]}
        assert refusal(partial(signatures.create, **fields)) == problem


def test_list(signatures: Family, signed: dict[str, str]) -> None:
    """A filtered list has the newest signature first; other filters and any expand are refused."""
    new = {"resource": "Transaction", "resource_id": signed["Transaction"], "signature": PNG}
    first, second = (signatures.create(**new) for _ in range(2))
    for name in ("resource_id", "resource", "created_ts", "modified_ts"):
        found = [each["id"] for each in signatures.list(**{name: second[name]})]
        assert found[0] == second["id"]
        assert first["id"] in found or first[name] != second[name]
    for name in ("id", "signature"):
        assert list(refusal(partial(signatures.list, **{name: "x"}))) == [name]
    assert list(refusal(lambda: signatures.get(first["id"], "created_user"))) == ["expand"]
    assert refused(lambda: signatures.get("f" * 24)).status == 404

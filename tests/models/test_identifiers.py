"""`ApiId`."""

import attrs
import pytest

from gateway_async.models.identifiers import ApiId


def test_an_api_id_is_a_value() -> None:
    """Two of the same id and location are equal; the location may be left to the client."""
    assert ApiId("order-7") == ApiId("order-7", None)
    assert len({ApiId("order-7", "loc"), ApiId("order-7", location_id="loc"), ApiId("order-7")}) == 2


def test_an_api_id_does_not_change() -> None:
    """Reject a change of its attributes."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ApiId("order-7").value = "order-8"  # type: ignore[misc]

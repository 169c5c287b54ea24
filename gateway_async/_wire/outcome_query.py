"""`OutcomeQuery`: how to find out whether a write was executed, as plain values that a ledger can store."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from gateway_async.models.identifiers import ApiId

RECORD: Final = "record"
LISTED: Final = "listed"
"""The kinds of outcome queries. Ledgers on disk contain these values, so their meaning must never change."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@attrs.frozen(kw_only=True)
class OutcomeQuery:
    """Which record to read and which evidence in it shows that the write was executed.

    Attributes:
        kind: `RECORD` reads the one record with the id `id`. `LISTED` reads a list filtered by the integrator id,
            because its location is not known.
        resource: the resource of that record, such as `"transactions"`.
        id: the record's id or its integrator id.
        location_id: the location, if `id` is an integrator id and the location is known.
        expected: the values that the record must have to be the right one.
        evidence: the name of the `Evidence` that shows that the write was executed.
        sent: the sent values that the evidence compares.
        made_up_id: whether the SDK generated the integrator id, so that the record with this id is this write's.
        is_new: whether nothing can have changed the record since this write. A ledger does not store it.
    """

    kind: str = RECORD
    resource: str
    id: str
    location_id: str | None = None
    expected: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)
    evidence: str
    sent: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)
    made_up_id: bool = False
    is_new: bool = False

    @property
    def ref(self) -> str | ApiId:
        """Return the reference by which the record is read."""
        return self.id if self.location_id is None else ApiId(self.id, self.location_id)

    @property
    def by_api_id(self) -> bool:
        """Return whether `id` is an integrator id."""
        return self.location_id is not None or self.kind == LISTED

    def as_json(self) -> dict[str, Any]:
        """Return the query as a JSON object, which `read` parses."""
        return {
            "kind": self.kind,
            "resource": self.resource,
            "id": self.id,
            "location_id": self.location_id,
            "expected": dict(self.expected),
            "evidence": self.evidence,
            "sent": dict(self.sent),
            **({"made_up_id": True} if self.made_up_id else {}),
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> "OutcomeQuery":
        """Parse a query that `as_json` returned.

        Raises:
            ValueError: `content` is not an outcome query, or is one of a later version.
        """
        try:
            return cls(**content)
        except TypeError:
            raise ValueError("not an outcome query that this version knows") from None

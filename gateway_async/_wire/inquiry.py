"""`Inquiry`: how to find out whether a write was carried out, as plain values that outlive the process."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from gateway_async.models.identifiers import ApiId

__all__ = ["Inquiry"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@attrs.frozen(kw_only=True)
class Inquiry:
    """What to read, which record it must be, and what that must show.

    Attributes:
        kind: how to find out; `"record"` reads the one record that `id` names.
        resource: where that record is filed, such as `"transactions"`.
        id: the record's id, or the integrator's.
        location_id: the location, if `id` is the integrator's.
        expected: what the record must say of itself to be the one.
        mark: the name of the `Mark` by which it shows that the write was carried out.
        sent: what was sent, as far as the mark compares it.
    """

    kind: str = "record"
    resource: str
    id: str
    location_id: str | None = None
    expected: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)
    mark: str
    sent: Mapping[str, Any] = attrs.field(default=_NOTHING, hash=False)

    @property
    def ref(self) -> str | ApiId:
        """What names the record."""
        return self.id if self.location_id is None else ApiId(self.id, self.location_id)

    def as_json(self) -> dict[str, Any]:
        """The inquiry as JSON has it; `read` is the way back."""
        return {
            "kind": self.kind,
            "resource": self.resource,
            "id": self.id,
            "location_id": self.location_id,
            "expected": dict(self.expected),
            "mark": self.mark,
            "sent": dict(self.sent),
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> "Inquiry":
        """The inquiry that `as_json` wrote.

        Raises:
            ValueError: it is not one, or one of a later version.
        """
        try:
            return cls(**content)
        except TypeError:
            raise ValueError("not an inquiry that this version knows") from None

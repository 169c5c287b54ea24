"""Records of resources that this package has no model for."""

from typing import Any

import attrs

from gateway_async.models.record import Record


@attrs.frozen(kw_only=True, eq=False, repr=False)
class UntypedRecord(Record):
    """A record of `gateway.resource(…)`, as the gateway returned it.

    `record["description"]` is a field's value as in the JSON; numbers with a fraction are `Decimal`, and confidential
    values are a `Secret`, as in `Record.extra`. A field that the gateway omitted raises `KeyError`;
    `record.get("description")` is None then. All fields but `id` are in `extra`. The repr shows their names only.
    """

    id: str | None = None
    """The gateway's id of the record, if it has one."""

    def __getitem__(self, name: str) -> Any:
        """The value of a field.

        Raises:
            KeyError: the record does not have the field.
        """
        if name == "id" and self.id is not None:
            return self.id
        return self.extra[name]

    def __contains__(self, name: object) -> bool:
        """Whether the record has a field."""
        return name in self.extra or (name == "id" and self.id is not None)

    def get(self, name: str, default: Any = None) -> Any:
        """Get the value of a field, or `default` if there is none."""
        try:
            return self[name]
        except KeyError:
            return default

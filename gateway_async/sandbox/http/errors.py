"""What the gateway answers instead of a record, validation problems (422) or a refusal; and a control call's error."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeVar

_T = TypeVar("_T")


class RefusedError(Exception):
    """A request that is answered with a status and a message.

    Attributes:
        status: The HTTP status of the answer.
        message: One sentence for the caller.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class InvalidError(Exception):
    """A request whose fields are at fault; answered with 422 and every problem at once.

    Attributes:
        problems: Messages by field name.
    """

    def __init__(self, problems: dict[str, list[str]]) -> None:
        super().__init__(problems)
        self.problems = problems


class UnknownRecordError(ValueError):
    """A control call for a record that there is not."""

    def __init__(self, name: str, record_id: str) -> None:
        super().__init__(f"{name} {record_id}: there is no such record.")


class Problems:
    """Collects what is wrong with a request, so that all of it can be said at once."""

    def __init__(self) -> None:
        self._by_field: defaultdict[str, list[str]] = defaultdict(list)

    def __contains__(self, field: str) -> bool:
        return field in self._by_field

    def add(self, field: str, message: str) -> None:
        """Note one problem of a field."""
        self._by_field[field].append(message)

    def done(self) -> None:
        """End the collection.

        Raises:
            InvalidError: There were problems.
        """
        if self._by_field:
            raise InvalidError(dict(self._by_field))

    def require(self, found: _T | None) -> _T:
        """End the collection and return what was looked for.

        Raises:
            InvalidError: There were problems, of which not finding it is one.
        """
        if self._by_field or found is None:
            raise InvalidError(dict(self._by_field))
        return found

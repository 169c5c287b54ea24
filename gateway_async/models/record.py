"""`Record`: the base class of everything that the gateway returns."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import attrs

from gateway_async._secrets import mask_text

__all__ = ["Record"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _read_only(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(mapping)


@attrs.frozen(kw_only=True, repr=False)
class Record:
    """A record as the gateway returned it.

    A field that the gateway omitted is None. Fields that the model does not know, such as links and expanded relations,
    are in `extra`, unchanged (numbers with a fraction as `Decimal`). A date, a time or free-form data that does not fit
    its field is also in `extra`, and the field is None. An amount, an id or a code that does not fit makes the response
    unreadable.
    """

    extra: Mapping[str, Any] = attrs.field(default=_NOTHING, converter=_read_only, hash=False)

    hidden: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold bank data: their values are left out of the repr."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by fields, because a read-only mapping supports neither."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return _made, (type(self), {**fields, "extra": dict(self.extra)})

    def _shown(self) -> Iterator[str]:
        """Yield the fields that are not None, then the keys of `extra`.

        The values of `extra` are omitted, because they may be confidential.
        """
        for field in attrs.fields(type(self)):
            value = getattr(self, field.name)
            if value is not None and field.name != "extra":
                yield f"{field.name}={'***' if field.name in self.hidden else mask_text(repr(value))}"
        if self.extra:
            yield f"extra=<{mask_text(', '.join(self.extra))}>"


def _made(kind: type[Record], fields: Mapping[str, Any]) -> Record:
    return kind(**fields)

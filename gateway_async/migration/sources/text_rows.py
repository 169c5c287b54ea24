"""The rows of a text file: the parts that CSV and JSON Lines share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway_async.migration.rows.builder import unreadable_row
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import RawRecord, Shard, Splitter, read_records

__all__ = ["TextRows"]


class TextRows(ABC):
    """The rows of a text file, one for each record that is not blank.

    Attributes:
        columns: the names in its header; () without a header.
        fields: column → field, as far as the file or its mapping names them.
        total: number of bytes; None if it is not known.
    """

    _splitter: Splitter
    _hidden = "account_number"
    """The column of the text of an unreadable record: a masked one, because it may contain a card number."""

    def __init__(self, source: Bytes, shard: Shard | None) -> None:
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.total = shard.end - shard.start if shard else source.total
        self._source = source
        self._shard = shard

    @property
    def position(self) -> int:
        """Number of bytes read."""
        return max(self._source.position - (self._shard.start if self._shard else 0), 0)

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches."""
        for records in self.records():
            rows = (self._row(record) for record in records if not record.is_blank)
            yield [row for row in rows if row is not None]

    def records(self) -> Iterator[Sequence[RawRecord]]:
        """Yield the records in batches, without the header."""
        return read_records(self._source, self._splitter, self._shard.end if self._shard else None)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _row(self, record: RawRecord) -> VaultRow | None:
        """Return a record's row; None if all of its cells are empty."""
        try:
            content = self._content(record)
        except ValueError as error:
            text = record.content.decode(self._source.encoding, "backslashreplace")
            return unreadable_row(str(error), line=record.line, source={self._hidden: text} if text else None)
        return self._build_row(content, record.line)

    def _content(self, record: RawRecord) -> Any:
        """Return the content of a record. Raise ValueError for one that is incomplete or cannot be parsed."""
        if record.problem:
            raise ValueError(record.problem)
        return self._parse(self._source.decode(record.content))

    @abstractmethod
    def _parse(self, text: str) -> Any: ...

    @abstractmethod
    def _build_row(self, content: Any, line: int) -> VaultRow | None: ...

"""How large a Parquet file is once it is read, told from its headers alone, before anything is unfolded.

A page of a few bytes may unfold to gigabytes, and a footer may say anything. What a reader makes room for stands in the
header of each page, so these are what is added up. Headers are Thrift's compact protocol (parquet.thrift of Apache
Parquet). Every number here is read as if hostile.
"""

from dataclasses import dataclass
from typing import Any

LARGEST_FOOTER = 1024 * 1024
"""Bytes of the footer. One of lnlab has some kilobytes."""
_MAGIC = b"PAR1"
_DEEPEST = 16
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)


class Unsized(ValueError):
    """It is no Parquet file whose sizes can be told."""


@dataclass(frozen=True)
class ParquetSizes:
    """Sizes of a file.

    Attributes:
        groups: offset and number of rows of each row group.
        footer: its offset.
        values: most values of a page or of a column of a row group.
        unfolded: bytes of all pages, uncompressed.
    """

    groups: tuple[tuple[int, int], ...]
    footer: int
    values: int
    unfolded: int

    @property
    def rows(self) -> int:
        """Rows of all row groups."""
        return sum(rows for _, rows in self.groups)


def parquet_sizes(content: bytes) -> ParquetSizes:
    """The sizes of a Parquet file.

    Raises:
        Unsized: it is none, or its headers contradict each other.
    """
    length = int.from_bytes(content[-8:-4], "little")
    if len(content) < 12 or content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise Unsized("no Parquet file")
    if not 0 < length <= min(LARGEST_FOOTER, len(content) - 12):
        raise Unsized("its footer has another size")
    end = len(content) - 8 - length
    groups, values, unfolded = [], 0, 0
    footer = _Headers(content, end, len(content) - 8).struct()
    for group in _list(footer.get(4, [])):
        begins = end
        for column in _list(group.get(1)):
            data = column.get(3)
            if not isinstance(data, dict) or 1 in column:
                raise Unsized("a column without its data, or in another file")
            first = _number(data, 9)
            start = _number(data, 11) if 11 in data else first  # a column begins with its dictionary, if it has one
            begins = min(begins, start)
            stop = start + _number(data, 7)
            if not 4 <= start <= first <= stop <= end:
                raise Unsized("a column beyond the file")
            values = max(values, _number(data, 5))
            while start < stop:
                headers = _Headers(content, start, stop)
                page = headers.struct()
                start = headers.place + _number(page, 3)
                unfolded += _number(page, 2)
                values = max(values, *(_number(page[kind], 1) for kind in (5, 7, 8) if kind in page), 0)
            if start != stop:
                raise Unsized("a page beyond its column")
        groups.append((begins, _number(group, 3)))
    return ParquetSizes(tuple(groups), end, values, unfolded)


def _number(fields: Any, name: int) -> int:
    value = fields.get(name) if isinstance(fields, dict) else None
    if type(value) is not int or value < 0:
        raise Unsized("a size that is none")
    return value


def _list(value: Any) -> list[dict[int, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise Unsized("a list that is none")
    return value


@dataclass
class _Headers:
    """Thrift's compact protocol, from ``place`` on and never beyond ``end``."""

    content: bytes
    place: int
    end: int
    _depth: int = 0

    def struct(self) -> dict[int, Any]:
        """Fields by number."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unsized("headers in headers")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, in_list=False)
        self._depth -= 1
        return fields

    def _value(self, kind: int, *, in_list: bool) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if in_list else kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _BINARY:
            return self._skip(self._unsigned())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, in_list=True) for _ in range(self._possible(size))]
        if kind == _STRUCT:
            return self.struct()
        raise Unsized("a header of another kind")  # a map: Parquet has none

    def _possible(self, size: int) -> int:
        """A number of entries, each of which has one byte at least."""
        if size > self.end - self.place:
            raise Unsized("cut off")
        return size

    def _byte(self) -> int:
        if self.place >= self.end:
            raise Unsized("cut off")
        self.place += 1
        return self.content[self.place - 1]

    def _skip(self, size: int) -> None:
        self.place += self._possible(size)

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise Unsized("a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

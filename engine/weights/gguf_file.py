"""The outer form of a GGUF file: its metadata, and where each tensor's bytes stand. Nothing is copied but the metadata.

Written against the format's description (version 2 and 3, little endian). A file comes from anywhere, so every length
is checked against what is left of the file before it is believed.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentsim.engine.weights.weights_error import WeightsError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_FIELDS = 100_000
MOST_DIMENSIONS = 4
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """One tensor of the file: its shape with the longest stride first, its number format, and where it begins."""

    name: str
    shape: tuple[int, ...]
    format: int
    """A number of ``gguf.GGMLQuantizationType``."""
    offset: int
    """Bytes from the start of the file."""


@dataclass(frozen=True)
class GGUFFile:
    """An opened file: metadata by key, tensors by name, and all its bytes as they lie on disk."""

    path: Path
    fields: dict[str, Any]
    tensors: dict[str, TensorPlace]
    data: memoryview

    def bytes_of(self, tensor: TensorPlace, length: int) -> memoryview:
        """``length`` bytes of a tensor. :class:`WeightsError` where the file ends before."""
        if tensor.offset + length > len(self.data):
            raise WeightsError(f"{self.path}: cut short within the tensor {tensor.name}; get the file again")
        return self.data[tensor.offset : tensor.offset + length]


def open_gguf(path: Path) -> GGUFFile:
    """Open a file and read its metadata. :class:`WeightsError` where it is missing or not sound GGUF."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the file is empty"
        raise WeightsError(f"{path}: cannot be read: {reason}") from None
    try:
        fields, tensors = _contents(_Cursor(data))
    except (struct.error, UnicodeDecodeError, OverflowError):
        raise WeightsError(f"{path}: the metadata is damaged or cut short; get the file again") from None
    except _Unsound as unsound:
        raise WeightsError(f"{path}: {unsound}") from None
    return GGUFFile(path, fields, tensors, data)


class _Unsound(Exception):
    """Says what is wrong with the file."""


class _Cursor:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> Any:
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        length = self.take("<Q")
        if length > len(self.data) - self.at:
            raise struct.error
        raw = bytes(self.data[self.at : self.at + length])
        self.at += length
        return raw.decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind in _SCALARS:
            return self.take(_SCALARS[kind])
        if kind != _ARRAY:
            raise _Unsound(f"metadata of an unknown kind ({kind}); it may come from a newer format")
        inner, count = self.take("<I"), self.take("<Q")
        if inner == _ARRAY:
            raise _Unsound("metadata with lists in lists, which no known model has")
        width = 8 if inner == _STRING else struct.calcsize(_SCALARS.get(inner, "<B"))
        if count * width > len(self.data) - self.at:
            raise struct.error
        if inner in _SCALARS:
            form = f"<{count}{_SCALARS[inner][1]}"
            values = list(struct.unpack_from(form, self.data, self.at))
            self.at += width * count
            return values
        return [self.value(inner) for _ in range(count)]


def _contents(cursor: _Cursor) -> tuple[dict[str, Any], dict[str, TensorPlace]]:
    if bytes(cursor.data[:4]) != MAGIC:
        raise _Unsound("not a GGUF file")
    cursor.at = 4
    version = cursor.take("<I")
    if version not in VERSIONS:
        raise _Unsound(f"GGUF version {version} cannot be read, only {' and '.join(map(str, VERSIONS))}, little endian")
    tensor_count, field_count = cursor.take("<Q"), cursor.take("<Q")
    if max(tensor_count, field_count) > MOST_FIELDS:
        raise _Unsound(f"{tensor_count} tensors and {field_count} metadata fields are more than any model has")
    fields: dict[str, Any] = {}
    for _ in range(field_count):
        key = cursor.text()
        fields[key] = cursor.value(cursor.take("<I"))
    found: list[TensorPlace] = []
    for _ in range(tensor_count):
        name, dimensions = cursor.text(), cursor.take("<I")
        if dimensions > MOST_DIMENSIONS:
            raise _Unsound(f"a tensor of {dimensions} dimensions")
        shape = tuple(cursor.take("<Q") for _ in range(dimensions))[::-1]
        found.append(TensorPlace(name, shape, cursor.take("<I"), cursor.take("<Q")))
    alignment = fields.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise _Unsound("an alignment that is no positive number")
    start = -(-cursor.at // alignment) * alignment
    tensors = {place.name: TensorPlace(place.name, place.shape, place.format, start + place.offset) for place in found}
    if len(tensors) < len(found):
        raise _Unsound("two tensors of one name")
    return fields, tensors

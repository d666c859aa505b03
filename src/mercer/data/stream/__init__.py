"""Rows that need not fit into memory: files, memory maps and iterators, read block by block."""

from mercer.data.stream.opened import is_streamed, opened, stream_of
from mercer.data.stream.stream import Stream, part_of, some_rows

__all__ = ["Stream", "is_streamed", "opened", "part_of", "some_rows", "stream_of"]

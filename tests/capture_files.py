"""Packets of captures, and files that other programs would make of them."""

import struct
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Packet:
    """One packet of an interface."""

    at: int
    """Nanoseconds since 1970."""
    length: int
    kept: bytes
    interface: int = 0

    def later(self, nanoseconds: int, interface: int | None = None) -> "Packet":
        """A copy of it that was captured later."""
        return replace(
            self,
            at=self.at + nanoseconds,
            interface=self.interface if interface is None else interface,
        )


def packets(file: bytes) -> list[Packet]:
    """The packets of a pcapng in the order of the file, without their options."""
    at, found = 0, []
    while at < len(file):
        kind, length = struct.unpack_from("<II", file, at)
        if kind == 6:
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", file, at + 8)
            found.append(Packet(high << 32 | low, whole, file[at + 28 : at + 28 + kept], interface))
        at += length
    return found


def pcap(found: list[Packet]) -> bytes:
    """A file of one interface, with link type RAW and nanoseconds."""
    head = struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, 65535, 101)
    records = (
        struct.pack("<IIII", *divmod(one.at, 10**9), len(one.kept), one.length) + one.kept for one in found
    )
    return head + b"".join(records)


def pcapng(found: list[Packet]) -> bytes:
    """A file of as many interfaces as the packets have, without directions."""
    blocks = [_block(0x0A0D_0D0A, struct.pack("<IHHq", 0x1A2B_3C4D, 1, 0, -1))]
    interfaces = 1 + max(one.interface for one in found)
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    blocks += [_block(1, struct.pack("<HHI", 101, 0, 0) + resolution)] * interfaces
    for one in found:
        head = struct.pack(
            "<IIIII", one.interface, one.at >> 32, one.at & 0xFFFF_FFFF, len(one.kept), one.length
        )
        blocks.append(_block(6, head + one.kept))
    return b"".join(blocks)


def without_options(file: bytes) -> bytes:
    """A pcapng whose packets have no direction, as some programs leave it."""
    at, blocks = 0, []
    while at < len(file):
        kind, length = struct.unpack_from("<II", file, at)
        block = file[at : at + length]
        if kind == 6:
            (kept,) = struct.unpack_from("<I", block, 20)
            block = _block(kind, block[8 : 28 + kept])
        blocks.append(block)
        at += length
    return b"".join(blocks)


def _block(kind: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    length = len(content) + 12
    return struct.pack("<II", kind, length) + content + struct.pack("<I", length)

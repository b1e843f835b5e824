"""Random numbers that are read from a fuzzer's bytes, so that what it mutates is what is drawn."""

from random import Random


class Drawn(Random):
    """Draws from bytes; when they are used up, always the first choice."""

    def __new__(cls, data: bytes) -> "Drawn":
        """Make one without a seed of its own."""
        del data
        return super().__new__(cls)

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def getrandbits(self, k: int) -> int:
        """Return the next `k` bits."""
        count = (k + 7) // 8
        piece = self._data[self._at : self._at + count]
        self._at += count
        return int.from_bytes(piece, "little") & ((1 << k) - 1)

    def _randbelow(self, n: int) -> int:
        return self.getrandbits(n.bit_length()) % n if n else 0

    def random(self) -> float:
        """Return a number from 0 on and below 1."""
        return self.getrandbits(16) / 65536

"""How much of one student's submission is unpacked, however it is packed."""

from dataclasses import dataclass, replace

from autograder.intake.archive import Contents, Piece, Rejected, unzipped
from autograder.intake.reading import is_notebook

TOO_MUCH = "unpacks to over {most} MB altogether: ask for the notebook itself"
TOO_MANY = "too many files in zips: ask for the notebook itself"


@dataclass
class Budget:
    """What one submission may still unpack: `room` in bytes, and entries in its zips.

    Counted before anything is unpacked, from what zips say of sizes: no more than that is read.
    """

    room: int = 100 << 20
    entries: int = 30_000

    def unzipped(self, piece: Piece) -> Contents:
        """What lies in a zip, the notebooks paid for; `Rejected` where that is too much."""
        if self.entries <= 0:
            raise Rejected(TOO_MANY)
        self._pay(piece.size)
        contents = unzipped(piece)
        self.entries -= contents.listed
        pieces, refused = [], dict(contents.refused)
        for each in contents.pieces:
            try:
                # the notebook is what counts: paid for before any zip beside it
                self._pay(each.size if is_notebook(each.path) else 0)
            except Rejected as why:
                refused[each.path.removeprefix(f"{piece.path}/")] = str(why)
            else:
                pieces.append(each)
        return replace(contents, pieces=pieces, refused=refused)

    def read(self, piece: Piece) -> bytes:
        """A file that is not paid for; `Rejected` if it is too much."""
        self._pay(piece.size if piece.zips else 0)
        return piece.read()

    def _pay(self, size: int) -> None:
        if size > self.room:
            raise Rejected(TOO_MUCH.format(most=Budget.room >> 20))
        self.room -= size

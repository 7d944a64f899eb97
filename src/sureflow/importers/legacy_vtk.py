"""Whether a text file of VTK's legacy format is whole: VTK reads what is left, and fills up with what is in memory."""

import re
from pathlib import Path

NUMBER = re.compile(rb"[-+]?(\d|\.\d|nan\b|inf)", re.IGNORECASE)
COMPONENTS = {b"VECTORS": 3, b"NORMALS": 3, b"TENSORS": 9, b"TENSORS6": 6}
# How many numbers follow a keyword, by its place in the words of the line: numbers of points have three coordinates.
LISTED = (b"CELLS", b"POLYGONS", b"LINES", b"VERTICES", b"TRIANGLE_STRIPS")
COUNTED = {b"POINTS": (1, 3), b"CELL_TYPES": (1, 1), **dict.fromkeys(LISTED, (2, 1))}
COUNTED |= {axis + b"_COORDINATES": (1, 1) for axis in (b"X", b"Y", b"Z")}


def require_whole(path: Path) -> None:
    """A ValueError where the last section has fewer numbers than it says; files in binary form are VTK's to judge."""
    with path.open("rb") as file:
        if [file.readline() for _ in range(3)][2].strip().upper() != b"ASCII":
            return
        values, declared, found, name = 0, None, 0, b""
        scalars = 1  # components of the scalars whose table comes next
        listed: dict[bytes, int | None] = {}  # numbers of the two arrays that cells are made of from version 5 on
        for line in file:
            if NUMBER.match(line):
                found += len(line.split())
                continue
            words = line.split()
            if not words:
                continue
            keyword = words[0].upper()
            if keyword in (b"POINT_DATA", b"CELL_DATA"):
                values = _count(words, 1) or 0
            if keyword == b"SCALARS":
                scalars = _count(words, 3) or 1
            if keyword in LISTED:
                listed = {b"OFFSETS": _count(words, 1), b"CONNECTIVITY": _count(words, 2)}
            own = keyword == b"LOOKUP_TABLE" and words[1:2] == [b"default"]
            declared = scalars * values if own else listed.get(keyword, _declared(keyword, words, values))
            name, found = name if own else words[0 if keyword in (*LISTED, *listed) else min(1, len(words) - 1)], 0
    if declared is not None and found < declared:
        raise ValueError(f"it ends after {found} of {declared} numbers of {name.decode(errors='replace')!r}")


def _declared(keyword: bytes, words: list[bytes], values: int) -> int | None:
    """How many numbers follow a line that is none; None where it does not say."""
    if keyword in COUNTED:
        place, each = COUNTED[keyword]
        count = _count(words, place)
        return None if count is None else each * count
    if keyword in COMPONENTS:
        return COMPONENTS[keyword] * values
    if keyword == b"TEXTURE_COORDINATES":
        return (_count(words, 2) or 0) * values
    if len(words) == 4 and words[3] not in (
        b"string",
        b"variant",
    ):  # an array of a FIELD: name, components, tuples, type
        components, tuples = _count(words, 1), _count(words, 2)
        return None if components is None or tuples is None else components * tuples
    return None


def _count(words: list[bytes], place: int) -> int | None:
    return int(words[place]) if place < len(words) and words[place].isdigit() else None

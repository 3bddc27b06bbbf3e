"""The bank of attacks in attacks.toml, each put where it says into a notebook."""

import base64
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BANK = Path(__file__).with_suffix(".toml")
ELSEWHERE = "https://beacon.invalid/"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
Cell = dict[str, Any]


@dataclass(frozen=True)
class Attack:
    """A text, and where it is put; its script calls `fire` with its number."""

    number: int
    name: str
    place: str
    text: str


def attacks() -> list[Attack]:
    """Each attack of the bank at each of its places."""
    told = tomllib.loads(BANK.read_text(encoding="utf-8"))["attack"]
    pairs = [(a, place) for a in told for place in a.get("in", ["markdown", "text/html"])]
    return [
        Attack(number, attack["name"], place, _numbered(attack["text"], number))
        for number, (attack, place) in enumerate(pairs)
    ]


def _numbered(text: str, number: int) -> str:
    text = text.replace("{fire}", f"fire({number})").replace("{number}", str(number))
    return text.replace("{beacon}", f"{ELSEWHERE}{number}")


# --- cells -------------------------------------------------------------------------------------


def written(text: str, **more: Any) -> Cell:
    """A cell of markdown."""
    return {"cell_type": "markdown", "metadata": {}, "source": text} | more


def ran(*outputs: Cell, source: str = "", **more: Any) -> Cell:
    """A cell of code, and what it showed."""
    cell = {"cell_type": "code", "metadata": {}, "source": source, "execution_count": None}
    return cell | {"outputs": list(outputs)} | more


def displayed(data: dict[str, Any], **metadata: Any) -> Cell:
    """An output of one or more kinds."""
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def _printed(name: str) -> Callable[[str], Cell]:
    return lambda text: ran({"output_type": "stream", "name": name, "text": text})


def _failed(part: str) -> Callable[[str], Cell]:
    def cell(text: str) -> Cell:
        told = {"ename": "E", "evalue": "e", "traceback": []}
        told |= {part: [text] if part == "traceback" else text}
        return ran({"output_type": "error"} | told)

    return cell


def _attached(kind: str) -> Callable[[str], Cell]:
    def cell(text: str) -> Cell:
        data = base64.b64encode(f'<svg xmlns="http://www.w3.org/2000/svg">{text}</svg>'.encode())
        return written("![a](attachment:a)", attachments={"a": {kind: data.decode()}})

    return cell


def _graded(**about: Any) -> Cell:
    told = {"grade_id": "mine", "grade": True, "solution": True, "points": 1, "locked": False}
    return {"metadata": {"nbgrader": told | {"schema_version": 3, "task": False} | about}}


def _png(**metadata: Any) -> Cell:
    return ran(displayed({"image/png": PIXEL}, **{"image/png": metadata}))


# where an attack can be put, but for kinds of output, which need no entry
PLACES: dict[str, Callable[[str], Cell]] = {
    "markdown": written,
    "code": lambda text: ran(source=text),
    "raw": lambda text: {"cell_type": "raw", "metadata": {}, "source": text},
    "stdout": _printed("stdout"),
    "stderr": _printed("stderr"),
    "ename": _failed("ename"),
    "evalue": _failed("evalue"),
    "traceback": _failed("traceback"),
    "isolated": lambda text: ran(displayed({"text/html": text}, **{"text/html": {"isolated": 1}})),
    "picture's size": lambda text: _png(width=text, height=text),
    "alt": lambda text: _png(alt=text),
    "output metadata": lambda text: ran(displayed({"image/png": PIXEL}, needs_background=text)),
    "filenames": lambda text: ran(displayed({"image/png": ""}, filenames={"image/png": text})),
    "attachment's name": lambda text: written(
        f"![a](attachment:{text})", attachments={text: {"image/png": PIXEL}}
    ),
    "attachment's kind": lambda text: written(
        "![a](attachment:a)", attachments={"a": {f"image/png{text}": PIXEL}}
    ),
    "attachment's data": lambda text: written(
        "![a](attachment:a)", attachments={"a": {"image/png": text}}
    ),
    "attached html": _attached("text/html"),
    "attached svg": _attached("image/svg+xml"),
    "tags": lambda text: ran(metadata={"tags": [text]}),
    "magics language": lambda text: ran(source="a", metadata={"magics_language": text}),
    "raw mimetype": lambda text: {
        "cell_type": "raw",
        "metadata": {"raw_mimetype": "text/html", "format": text},
        "source": text,
    },
}
# what only the marking page is shown: nothing that is graded comes out of repair like this
MISSHAPEN: dict[str, Callable[[str], Cell]] = {
    "grade id": lambda text: written("a", **_graded(grade_id=text)),
    "points": lambda text: written("a", **_graded(grade_id="mine", points=text)),
}
METADATA: dict[str, Callable[[str], dict[str, Any]]] = {
    "title": lambda text: {"title": text},
    "authors": lambda text: {"authors": [{"name": text}]},
    "kernel": lambda text: {"kernelspec": {"name": text, "display_name": text, "language": text}},
    "widget state": lambda text: {
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}, "x": text}}
    },
}
# of the person, not of the notebook
NAMES = ("first name", "last name", "student id")


def attacked(notebook: str, tried: list[Attack], after: list[Cell], misshapen: bool = False) -> str:
    """A notebook with a cell for each attack, and after them these."""
    told = json.loads(notebook)
    places = PLACES | (MISSHAPEN if misshapen else {})
    for attack in tried:
        if attack.place in METADATA:
            told["metadata"] |= METADATA[attack.place](attack.text)
        elif attack.place in places:
            told["cells"].append(places[attack.place](attack.text))
        elif "/" in attack.place:
            told["cells"].append(ran(displayed({attack.place: attack.text})))
    told["cells"] += after
    for number, cell in enumerate(told["cells"]):
        cell.setdefault("id", f"attack-{number}")
    return json.dumps(told)

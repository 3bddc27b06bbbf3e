"""Pictures and live views, taken out of notebooks into files that pages load when needed."""

import base64
import hashlib
import html
import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.build import LIVE
from autograder.paths import atomic_write

IMAGE = re.compile(r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)"[^>]*>')


@dataclass(frozen=True)
class Shown:
    """A picture as a page has it: where, what it shows in words, and its live view's kind."""

    anchor: str
    alt: str
    file: str
    size: tuple[int, int]
    section: str  # the heading above it
    kind: str = ""


@dataclass
class Pictures:
    """The files of all pictures and views, under the site's static folder."""

    static: Path
    kinds: set[str] = field(default_factory=set)

    def taken_out(
        self, data: dict, anchor: str, up: str, section: str = ""
    ) -> tuple[str, list[Shown]]:
        """An output's HTML with its images as files, and what it shows.

        `anchor` names the output in its page; `up` leads from the page to the site's root.
        """
        shown: list[Shown] = []
        live = data.get(LIVE)

        def as_file(found: re.Match[str]) -> str:
            png = base64.b64decode(found[2])
            name = f"{hashlib.sha256(png).hexdigest()[:16]}.png"
            self._write(f"pictures/{name}", png)
            width, height = struct.unpack(">II", png[16:24])
            kind = live["kind"] if live else ""
            size = width // 2, height // 2  # drawn for screens of double density
            shown.append(Shown(anchor, html.unescape(found[1]), name, size, section, kind))
            return (
                f'<img alt="{found[1]}" src="{up}_static/pictures/{name}" loading="lazy" '
                f'width="{size[0]}" height="{size[1]}">'
            )

        text = IMAGE.sub(as_file, data["text/html"])
        mount = self._mount(live, up) if live else ""
        return f'<div class="shown" id="{anchor}">{text}{mount}</div>', shown

    def _mount(self, live: dict, up: str) -> str:
        """Where the page opens a live view, once a reader comes near."""
        self.kinds.add(live["kind"])
        content = json.dumps(live).encode()
        name = hashlib.sha256(content).hexdigest()[:16]
        self._write(f"views/{name}.json", content)
        source = f"{up}_static/views/{live['kind']}.js"
        return f'<div data-live="{up}_static/views/{name}.json" data-source="{source}"></div>'

    def _write(self, name: str, content: bytes) -> None:
        with atomic_write(self.static / name) as part:
            part.write_bytes(content)

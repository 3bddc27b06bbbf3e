"""What every live view shares: it leaves a picture, sends its arrays as bytes, and runs anywhere.

A view shows two outputs: a static figure with its text, then the live view of the same data, which
hides the figure for as long as it runs. So a page without a kernel still shows the picture.
"""

import base64
import hashlib
import html
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
import torch
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.figures import Picture

Arrays = Mapping[str, np.ndarray]
MOST = 512  # tokens of a side that stay usable on a laptop


class View:
    """A picture, and a live view of the same data; `state` is what its controls stand at."""

    def __init__(
        self,
        kind: str,
        draw: Callable[[], Picture],
        arrays: Arrays,
        options: Mapping[str, Any],
        state: Mapping[str, Any],
    ) -> None:
        self.kind, self._draw = kind, draw
        described, self.data = packed(arrays)
        shown = json.dumps([described, dict(options)]).encode() + self.data
        # the same for the same data: by it, the live view finds the figure that it hides
        self.name = f"{kind}-{hashlib.sha256(shown).hexdigest()[:12]}"
        self.options = {"arrays": described, "picture": self.name, **options}
        self._state = dict(state)

    @cached_property
    def picture(self) -> Picture:
        """The static figure, drawn when it is asked for: that takes longer than all else."""
        return self._draw()

    @property
    def state(self) -> dict[str, Any]:
        """Where the controls stand: small values, as the last movement left them."""
        return dict(self.widget.state) if "widget" in self.__dict__ else dict(self._state)

    @cached_property
    def widget(self) -> Any:
        """The live view: an `anywidget.AnyWidget`."""
        # takes half a second; and there may be no kernel to talk to, as when grading
        from transformer_course.widgets.live import Live

        return Live(
            _esm=source(self.kind),
            _css=style(),
            data=self.data,
            options=self.options,
            state=self._state,
        )

    def show(self) -> None:
        """Show the picture; where a kernel runs, the live view too."""
        if getattr(get_ipython(), "kernel", None) is None:
            display(self.bundle(), raw=True)
            return
        # the live view does not wait for the picture, whose place before it is kept
        place = uuid.uuid4().hex
        display({"text/html": "", "text/plain": ""}, raw=True, display_id=place)
        show_live(self.widget)
        update_display(self.bundle(), raw=True, display_id=place)

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return f"[{self.kind}: {self.picture.alt}]"

    def to_html(self) -> str:
        """One page that needs no network and no kernel: the picture, and the live view."""
        shown = {"options": self.options, "state": self.state}
        return _PAGE.format(
            title=html.escape(self.kind.replace("_", " ")),
            style=style(),
            figure=self.bundle()["text/html"],
            shown=_as_script(json.dumps(shown)),
            data=base64.b64encode(self.data).decode(),
            # a module of its own, whose names are nobody else's
            source=_as_script(json.dumps(source(self.kind))),
            page=_read("page.js"),
        )

    def bundle(self) -> dict[str, str]:
        """The picture as an output: the live view hides it by its name."""
        figure = f'<div data-picture="{self.name}">{self.picture._repr_html_()}</div>'
        return {"text/html": figure, "text/plain": repr(self)}


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style} :root {{ color-scheme: light dark; font-family: sans-serif }}</style>
<main>{figure}<div id="view"></div></main>
<script type="module">
const shown = {shown}, data = "{data}", source = {source};
{page}
</script>
</html>
"""


def show_live(widget: Any) -> None:
    """Show a live view, which leaves no text where it cannot run."""
    data, metadata = widget._repr_mimebundle_()
    display({**data, "text/plain": ""}, metadata=metadata, raw=True)


def matrix(values: ArrayLike | Tensor, name: str, *axes: str) -> np.ndarray:
    """`values` as a float64 array with these axes; `ValueError` that says what they must be.

    An axis in brackets, such as "(heads)", may be missing: it is put in with the size 1.
    """
    # a copy: what its owner does to it later changes no picture that is still to be drawn
    array = torch.as_tensor(values).detach().cpu().double().numpy().copy()
    needed = [axis for axis in axes if not axis.startswith("(")]
    if not len(needed) <= array.ndim <= len(axes) or 0 in array.shape:
        cuts = range(len(axes) - len(needed) + 1)
        shapes = [f"({', '.join(a.strip('()') for a in axes[cut:])})" for cut in cuts]
        raise ValueError(f"{name} must be {' or '.join(shapes)}; got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers; some are infinite or NaN")
    return array.reshape((1,) * (len(axes) - array.ndim) + array.shape)


def labels(names: Sequence[str] | None, name: str, count: int) -> list[str]:
    """A text for each of `count` tokens, numbers if none are given; `ValueError` for others."""
    if names is None:
        return [str(number) for number in range(count)]
    if len(names) != count:
        raise ValueError(f"{name} must be {count} names, one for each; got {len(names)}")
    return [str(one) for one in names]


def packed(arrays: Arrays) -> tuple[list[dict[str, Any]], bytes]:
    """What the live view needs to know of each array, and the bytes of all of them.

    Numbers of 64 bits cross as one byte of 256 steps from `low` to `high`; float32 as they are.
    """
    described, blob = [], b""
    for name, array in arrays.items():
        finite = array[np.isfinite(array)]  # float32 may hold NaN, as a gap
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        if array.dtype == np.float64:
            span = (high - low) or 1.0
            array = np.round((array - low) / span * 255).astype(np.uint8)
        kind = {"uint8": "uint8", "bool": "uint8", "float32": "float32"}[array.dtype.name]
        about = {"name": name, "shape": list(array.shape), "kind": kind}
        described.append({**about, "low": low, "high": high, "at": len(blob)})
        blob += np.ascontiguousarray(array).tobytes()
        blob += bytes(-len(blob) % 4)  # float32 begins at a multiple of its size
    return described, blob


@cache
def source(kind: str) -> str:
    """The live view's own program: what all share, then what this kind draws."""
    return "".join(_read(f"{part}.js") for part in ("view", "paint", "chart", kind))


@cache
def style() -> str:
    """How all live views look."""
    return _read("view.css")


def _read(name: str) -> str:
    return resources.files("transformer_course.widgets").joinpath(name).read_text(encoding="utf-8")


def _as_script(text: str) -> str:
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")

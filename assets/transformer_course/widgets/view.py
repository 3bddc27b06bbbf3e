"""Shared by all live views: the static picture, the arrays as bytes, and the page as HTML.

A view has two outputs: a static figure with alternative text, then the live view of the same data,
which hides the figure while it runs. A page without a kernel still shows the figure.
"""

import base64
import hashlib
import html
import json
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, wraps
from importlib import resources
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display
from numpy.typing import ArrayLike
from torch import Tensor

from transformer_course.checks.failure import in_one_line
from transformer_course.figures import Picture

P = ParamSpec("P")
R = TypeVar("R")
Arrays = Mapping[str, np.ndarray]
MOST = 512  # tokens of a side; still fast on a laptop
VISIBLE = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"})


def explains_stubs(show: Callable[P, R]) -> Callable[P, R]:
    """A function that calls a student's: where that is a stub, one line says so."""

    @wraps(show)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return show(*args, **kwargs)
        except NotImplementedError as error:
            *_, innermost = traceback.extract_tb(error.__traceback__)
            if (innermost.line or "").startswith("raise NotImplementedError"):
                fix = "replace its `raise NotImplementedError`, run that cell, then this one again."
                in_one_line(error, f"`{innermost.name}` is still a stub: {fix}")
            raise

    return shown


class View:
    """A picture and a live view of the same data; `state` holds the values of its controls."""

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
        content = json.dumps([described, dict(options)]).encode() + self.data
        # equal for equal data; the live view hides the figure with this name
        self.name = f"{kind}-{hashlib.sha256(content).hexdigest()[:12]}"
        self.options = {"arrays": described, "picture": self.name, **options}
        self._state = dict(state)

    @cached_property
    def picture(self) -> Picture:
        """The static figure, drawn on first use because it is slow."""
        return self._draw()

    @property
    def state(self) -> dict[str, Any]:
        """The current values of the controls."""
        return dict(self.widget.state) if "widget" in self.__dict__ else dict(self._state)

    @cached_property
    def widget(self) -> Any:
        """The live view: an `anywidget.AnyWidget`."""
        # slow to import (half a second), and not needed without a kernel
        from transformer_course.widgets.live import Live

        return Live(
            _esm=source(self.kind),
            _css=style(),
            data=self.data,
            options=self.options,
            state=self._state,
        )

    def show(self) -> None:
        """Show the picture; with a kernel, the live view too."""
        if getattr(get_ipython(), "kernel", None) is None:
            display(self.bundle(), raw=True)
            return
        # a placeholder, so that the live view need not wait for the picture before it
        display_id = uuid.uuid4().hex
        display({"text/html": "", "text/plain": ""}, raw=True, display_id=display_id)
        show_live(self.widget)
        update_display(self.bundle(), raw=True, display_id=display_id)

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return f"[{self.kind}: {self.picture.alt}]"

    def to_html(self) -> str:
        """A self-contained page with the picture and the live view, which needs no kernel."""
        shown = {"options": self.options, "state": self.state}
        data = base64.b64encode(self.data).decode()
        return page(self.kind, shown, data, self.bundle()["text/html"])

    def bundle(self) -> dict[str, str]:
        """The picture as MIME bundle; the live view hides it by its name."""
        figure = f'<div data-picture="{self.name}">{self.picture._repr_html_()}</div>'
        return {"text/html": figure, "text/plain": repr(self)}


OPEN = 'render({ model: pageModel(shown, data), el: document.getElementById("view") });'
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style} :root {{ color-scheme: light dark; font-family: sans-serif }}</style>
<main>{figure}<div id="view"></div></main>
<script type="module">
{model}
const shown = {shown}, data = "{data}", source = {source};
const address = URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}));
const {{ render }} = (await import(address)).default;
{open}
</script>
</html>
"""


def page(kind: str, shown: Mapping[str, Any], data: str, figure: str) -> str:
    """A page with a live view: its options and state as `shown`, its data in base64, its figure."""
    return _PAGE.format(
        title=html.escape(kind.replace("_", " ")),
        style=style(),
        figure=figure,
        shown=_as_script(json.dumps(shown)),
        data=data,
        # imported as a module, so that its names are not global
        source=_as_script(json.dumps(source(kind))),
        model=page_model(),
        open=OPEN,
    )


def show_live(widget: Any) -> None:
    """Display a live view, without a text fallback where it cannot run."""
    data, metadata = widget._repr_mimebundle_()
    display({**data, "text/plain": ""}, metadata=metadata, raw=True)


def matrix(values: ArrayLike | Tensor, name: str, *axes: str) -> np.ndarray:
    """Convert `values` to a float64 array with these axes; raise `ValueError` for other shapes.

    An axis in brackets, such as "(heads)", is optional: if missing, it is added with size 1.
    """
    # a copy, so that later changes do not affect the picture
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
    """Names of `count` tokens, by default their indices; `ValueError` for another number."""
    if names is None:
        return [str(number) for number in range(count)]
    if len(names) != count:
        raise ValueError(f"{name} must be {count} names, one for each; got {len(names)}")
    return [str(label) for label in names]


def visible(name: str) -> str:
    """The name of a token, with its white space made visible."""
    return name.translate(VISIBLE) or "␣"


def packed(arrays: Arrays) -> tuple[list[dict[str, Any]], bytes]:
    """Describe each array for the live view, and concatenate their bytes.

    float64 is quantised to bytes from `low` to `high`; float32 is sent unchanged.
    """
    described, blob = [], b""
    for name, array in arrays.items():
        finite = array[np.isfinite(array)]  # float32 may contain NaN for gaps
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        if array.dtype == np.float64:
            span = (high - low) or 1.0
            array = np.round((array - low) / span * 255).astype(np.uint8)
        kind = {"uint8": "uint8", "bool": "uint8", "float32": "float32"}[array.dtype.name]
        about = {"name": name, "shape": list(array.shape), "kind": kind}
        described.append({**about, "low": low, "high": high, "at": len(blob)})
        blob += np.ascontiguousarray(array).tobytes()
        blob += bytes(-len(blob) % 4)  # align float32
    return described, blob


@cache
def source(kind: str) -> str:
    """The JavaScript of a live view: the shared files, then those of its kind.

    A view that computes a network in the page is in several files: `layers.js`, which such views
    share, then its `KIND.PART.js` in the order of their names, and `KIND.js`.
    """
    names = [file.name for file in resources.files("transformer_course.widgets").iterdir()]
    further = sorted(n for n in names if n.startswith(f"{kind}.") and n.count(".") > 1)
    layers = ["layers.js"] if further else []
    parts = ["view.js", "paint.js", "chart.js", *layers, *further, f"{kind}.js"]
    return "".join(map(_read, parts))


@cache
def style() -> str:
    """The style sheet of all live views."""
    return _read("view.css")


def page_model() -> str:
    """The JavaScript that stands in for a kernel's model on a page."""
    return _read("page.js")


def _read(name: str) -> str:
    return resources.files("transformer_course.widgets").joinpath(name).read_text(encoding="utf-8")


def _as_script(text: str) -> str:
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")

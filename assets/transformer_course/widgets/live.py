"""The widget behind every view: its program, its data and the state of its controls."""

import anywidget
import traitlets


class Live(anywidget.AnyWidget):
    """Sends arrays to the page once; `state` comes back when a control comes to rest."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

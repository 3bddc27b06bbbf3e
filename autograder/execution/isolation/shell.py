"""An IPython shell that keeps a cell's outputs as a notebook would, up to a limit."""

import base64
import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from matplotlib_inline.backend_inline import configure_inline_support
from traitlets import Instance, Type
from traitlets.config import Config

JSON = re.compile(r"application/(.*\+)?json")  # of these kinds, data may be anything in JSON
# where IPython may know more than Python: %magic, !command, help?, >>> prompts, indented cells
MAGIC = re.compile(r"(?m)^[^\S\n]*([%!?,;/>]|In \[)|=\s*[%!]|\?\s*$|\A\s")
CUT = "\n[the rest of this cell's output is left out]\n"
CONFIG = Config(
    HistoryManager={"enabled": False},
    # errors show no source lines: those of a check that stops half way would be its hidden tests
    InteractiveShell={"xmode": "Minimal", "colors": "linux", "autoindent": False},
)


class Outputs:
    """The outputs of one cell, in nbformat's form, at most `limit` characters of them."""

    def __init__(self, limit: int) -> None:
        self.cells: list[dict] = []
        self._limit = self._room = limit
        self._by_id: dict[str, list[dict]] = {}
        self._stale = False  # the next output takes the place of all before it

    def text(self) -> str:
        """What was printed."""
        return "".join(o["text"] for o in self.cells if o["output_type"] == "stream")

    def stream(self, name: str, text: str) -> None:
        """Something printed: one stream for as long as nothing else comes between."""
        self._make_way()
        if self._room <= 0 or not text:
            return
        last = self.cells[-1] if self.cells else {}
        if last.get("output_type") != "stream" or last["name"] != name:
            last = {"output_type": "stream", "name": name, "text": ""}
            self.cells.append(last)
            self._room -= len(json.dumps(last))
        # counted as they are kept, where some characters are six
        size = len(json.dumps(text))
        if size > self._room:
            text = text[: max(0, self._room * len(text) // size)] + CUT
        self._room -= size
        last["text"] += text

    def add(self, output: dict, display_id: str = "", update: bool = False) -> None:
        """A display, a result or an error; an update changes what was displayed before."""
        self._make_way()
        if "data" in output:
            shown = output["data"].items()
            data = {k: v if JSON.fullmatch(k) or type(v) is str else _as_text(v) for k, v in shown}
            output = output | {"data": data}
        kept = json.dumps(output, default=_as_text)
        output = json.loads(kept)
        if len(kept) > self._room:
            self.stream("stdout", CUT)
            return
        self._room -= len(kept)
        if update:
            for shown in self._by_id.get(display_id, []):
                shown.update(data=output["data"], metadata=output["metadata"])
            return
        self.cells.append(output)
        if display_id:
            self._by_id.setdefault(display_id, []).append(output)

    def clear(self, wait: bool = False) -> None:
        """Forget what was shown so far: at once, or when there is something to take its place."""
        self._stale = True
        if not wait:
            self._make_way()

    def _make_way(self) -> None:
        if self._stale:
            self.cells.clear()
            self._by_id.clear()
            self._room, self._stale = self._limit, False


class _Printed(io.TextIOBase):
    """Standard output or standard error, while a cell runs."""

    def __init__(self, outputs: Outputs, name: str) -> None:
        self._outputs, self.name = outputs, name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._outputs.stream(self.name, str(text))
        return len(text)


class _Results(DisplayHook):
    """Keeps the value of a cell's last line."""

    shell: Any = Instance("IPython.core.interactiveshell.InteractiveShellABC", allow_none=True)

    def write_output_prompt(self) -> None:
        """A notebook's outputs have no prompt of their own."""

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        result = {"output_type": "execute_result", "data": format_dict, "metadata": md_dict or {}}
        self.shell.outputs.add(result | {"execution_count": self.shell.execution_count})

    def finish_displayhook(self) -> None:
        """Nothing was written to a terminal, so nothing ends here."""


class _Displays(DisplayPublisher):
    """Keeps what a cell displays."""

    shell: Any

    def publish(
        self,
        data: dict,
        metadata: dict | None = None,
        source: Any = None,
        *,
        transient: dict | None = None,
        update: bool = False,
        **more: Any,
    ) -> None:
        output = {"output_type": "display_data", "data": data, "metadata": metadata or {}}
        self.shell.outputs.add(output, (transient or {}).get("display_id", ""), update)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear(wait)


class Shell(InteractiveShell):
    """IPython without a terminal, a history or commands of the system."""

    displayhook_class = Type(_Results)
    display_pub_class = Type(_Displays)
    outputs: Any
    limit = 1 << 20  # characters that one cell may show

    @classmethod
    def warm(cls) -> "Shell":
        """The shell of this process, with figures shown as notebooks show them."""
        shell = cls.instance(config=CONFIG)
        shell.db = {}  # what %cd and others would keep on the disk for the next session
        shell.outputs = Outputs(0)
        configure_inline_support(shell, "module://matplotlib_inline.backend_inline")
        return shell

    def run(self, source: str) -> tuple[list[dict], BaseException | None]:
        """Run a cell; return its outputs, and the exception that ended it."""
        self.outputs = Outputs(self.limit)
        with self._listening(self.outputs):
            result = self.run_cell(source, store_history=True)
        return self.outputs.cells, result.error_before_exec or result.error_in_exec

    @contextlib.contextmanager
    def overheard(self) -> Iterator[Outputs]:
        """What is printed and displayed outside of any cell."""
        kept, self.outputs = self.outputs, Outputs(self.limit)
        try:
            with self._listening(self.outputs):
                yield self.outputs
        finally:
            self.outputs = kept

    def transform_cell(self, raw_cell: str) -> Any:
        """Tokens are looked at, which takes long, only where they may be more than Python."""
        return super().transform_cell(raw_cell) if MAGIC.search(raw_cell) else raw_cell

    def system(self, cmd: str) -> None:
        """Say that the system's commands do not run here."""
        print(f"not run while grading: !{cmd}", file=sys.stderr)

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        self.system(cmd)
        return SList([""])  # as of a command that says nothing if split else ""

    def enable_gui(self, gui: str | None = None) -> None:
        """There is no window to open."""

    def ask_exit(self) -> None:
        """A notebook goes on after `exit`."""

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        error = {"ename": etype.__name__, "evalue": str(evalue), "traceback": list(stb)}
        self.outputs.add({"output_type": "error"} | error)

    @staticmethod
    @contextlib.contextmanager
    def _listening(outputs: Outputs) -> Iterator[None]:
        with (
            contextlib.redirect_stdout(_Printed(outputs, "stdout")),  # type: ignore[type-var]
            contextlib.redirect_stderr(_Printed(outputs, "stderr")),  # type: ignore[type-var]
        ):
            yield


def _as_text(value: Any) -> str:
    """Images are bytes, which notebooks hold as base64; what else is no JSON is shown as text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

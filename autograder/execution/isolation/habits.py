"""What honest notebooks ask of a machine that the sandbox is not: Colab's module, a person at the
keyboard, a compiler, child processes for loading data. Each gets something harmless in its place,
so that the right answer beside it keeps its points.
"""

import builtins
import functools
import getpass
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell
from torch.utils.data import DataLoader

COLAB = "google.colab"


def accommodate(shell: InteractiveShell) -> None:
    """Put the harmless things in place, for this process and its forks."""
    sys.meta_path.append(_Colab())
    builtins.input = getpass.getpass = _unanswered  # type: ignore[assignment]
    torch.compile = _eager  # type: ignore[assignment]
    DataLoader.__init__ = _in_this_process(DataLoader.__init__)
    extensions: Any = shell.extension_manager
    extensions.load_extension = _if_installed(extensions.load_extension)


class _Colab:
    """Finds `google.colab` and all below it; `google` too, where no package has that name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in ("google", COLAB) or name.startswith(f"{COLAB}."):
            return importlib.util.spec_from_loader(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _Module(ModuleType):
    """A module of Colab's: whatever is looked up in it does nothing."""

    def __getattr__(self, name: str) -> "_Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    """Does nothing when it is called, and gives more of the same; it is empty, and false."""

    def __call__(self, *args: Any, **kwargs: Any) -> "_Nothing":
        return self

    def __getattr__(self, name: str) -> "_Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())

    def __str__(self) -> str:
        return ""


def _unanswered(prompt: object = "", *_: Any) -> str:
    """What `input` returns without a terminal."""
    print(f"{prompt}[no one answers while grading]")
    return ""


def _eager(model: Any = None, **options: Any) -> Any:
    """`torch.compile` without a compiler: the model or the function as it is."""
    return model if model is not None else lambda function: function


def _in_this_process(init: Callable[..., None]) -> Callable[..., None]:
    """A loader that loads in the process that it is in, however many workers are asked for."""

    @functools.wraps(init)
    def alone(self: Any, dataset: Any, batch_size: Any = 1, *more: Any, **options: Any) -> None:
        # by place: shuffle, sampler, batch_sampler, and then how many workers
        more = (*more[:3], *((0,) if len(more) > 3 else ()), *more[4:])
        if len(more) <= 3:
            options["num_workers"] = 0
        for asked in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            options.pop(asked, None)
        init(self, dataset, batch_size, *more, **options)

    return alone


def _if_installed(load: Callable[[str], Any]) -> Callable[[str], Any]:
    """`%load_ext` that says what is missing, and stops nothing."""

    @functools.wraps(load)
    def tried(name: str) -> Any:
        try:
            return load(name)
        except ImportError as error:
            print(f"not loaded while grading: {error}", file=sys.stderr)

    return tried

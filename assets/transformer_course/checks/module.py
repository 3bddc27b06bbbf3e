"""A module that the student's class built, as a check may touch it."""

import difflib
from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor, nn

from transformer_course.checks import formatting
from transformer_course.checks.runner import Returns, Runner, Wrapped
from transformer_course.failure import Kind

Shapes = dict[str, tuple[int, ...]]


class Module(Wrapped):
    """Call it, load or read its parameters, ask for their gradients: nothing else."""

    def __init__(self, runner: Runner, module: nn.Module) -> None:
        super().__init__(module)
        self._runner = runner

    def call(self, *args: Any, returns: Returns = (), **kwargs: Any) -> Any:
        """Call the module; return its tensor, or what `returns` names, as `Check.call` does."""
        name = f"{self._runner.exercise}(…)"
        return self._runner.call(self.bare, name, args, kwargs, returns)

    def raises(self, *args: Any, naming: Sequence[float] = (), **kwargs: Any) -> None:
        """A call of the module stops with a `ValueError` that names these numbers."""
        self._runner.raises(self.bare, f"{self._runner.exercise}(…)", args, kwargs, naming)

    def load(self, parameters: dict[str, Tensor], whole: bool = True) -> None:
        """Give the module these parameters, named as its stub's docstring names them.

        Unless `whole`, it may have others, which stay as they are.
        """
        # a layer that stands under two names counts twice; buffers are the student's own
        parts = self.bare.named_parameters(remove_duplicate=False)
        mine = {name: tuple(part.shape) for name, part in parts}
        wanted = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
        if not whole:
            mine = {name: shape for name, shape in mine.items() if name in wanted}
        if mine != wanted:
            claim = "the parameters are not the ones the docstring names"
            tables = ("expected", formatting.table(wanted)), ("got", formatting.table(mine))
            self._runner.fail(claim, _fix(mine, wanted), Kind.PARAMETERS, tables)
        self.bare.load_state_dict(parameters, strict=False)
        self._runner.calls.outdate()

    def state(self) -> dict[str, Tensor]:
        """A copy of the module's parameters and buffers, by name."""
        return {name: tensor.clone() for name, tensor in self.bare.state_dict().items()}

    def parameters(self) -> dict[str, Tensor]:
        """A copy of what the module learns, by name; what stands under two names comes once."""
        named = self.bare.named_parameters()
        return {name: weight.detach().clone() for name, weight in named if weight.requires_grad}

    def train(self) -> Self:
        """Switch to training: dropout drops."""
        self.bare.train()
        self._runner.calls.outdate()
        return self

    def eval(self) -> Self:
        """Switch to evaluation."""
        self.bare.eval()
        self._runner.calls.outdate()
        return self

    def double(self) -> Self:
        """Turn the parameters into float64."""
        self.bare.double()
        self._runner.calls.outdate()
        return self

    def gradients(self, result: Tensor) -> dict[str, Tensor]:
        """d(sum of `result`) / d(parameter), by each name: zeros if nothing depends on it."""
        named = dict(self.bare.named_parameters(remove_duplicate=False))
        if frozen := [name for name, weight in named.items() if not weight.requires_grad]:
            claim = f"`{frozen[0]}` cannot learn: its requires_grad is False"
            self._runner.fail(claim, "leave requires_grad as torch sets it", Kind.NO_GRADIENT)
        return {name: self._runner.gradient(result, weight) for name, weight in named.items()}


def _fix(mine: Shapes, wanted: Shapes) -> str:
    """What turns these parameters into the wanted ones, where one sentence can say it."""
    extra, missing = sorted(mine.keys() - wanted.keys()), sorted(wanted.keys() - mine.keys())
    if not mine:
        return "make the layers in __init__, and keep each on self: self.NAME = nn.Linear(…)"
    if extra and not missing and all(name.endswith(".bias") for name in extra):
        return "pass bias=False to each layer"
    if extra and not missing:
        return f"leave out {', '.join(extra)}: the docstring names every part"
    alike = [name for name in extra if missing and mine[name] == wanted[missing[0]]]
    if missing and (near := difflib.get_close_matches(missing[0], alike, n=1)):
        return f"`{near[0]}` should be called `{missing[0]}`"
    if (
        not missing
        and not extra
        and all(mine[n] == size[::-1] for n, size in wanted.items() if len(size) > 1)
    ):
        return "the two sizes of nn.Linear(size in, size out) are swapped; it stores (out, in)"
    return ""

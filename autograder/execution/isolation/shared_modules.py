"""Modules that both ends have: a check's own, handed to the student's code, held equal."""

import torch
from torch import Tensor, nn

from autograder.execution.isolation.messages import Held


class SharedModules:
    """The tests' modules that are at both ends, by their number, and what they last held."""

    def __init__(self) -> None:
        self.modules: dict[int, nn.Module] = {}
        self._known: dict[int, Held] = {}

    def add(self, number: int, module: nn.Module) -> None:
        """From here on, both ends have it."""
        self.modules[number] = module
        self._known[number] = _contents(module)

    def number_of(self, module: nn.Module) -> int | None:
        """Its number, if it is one of these."""
        return next((n for n, lent in self.modules.items() if lent is module), None)

    def diff(self) -> dict[int, Held]:
        """The contents of those that have changed since the other end last knew."""
        changed = {}
        for number, module in self.modules.items():
            now = _contents(module)
            if not _same_contents(now, self._known[number]):
                self._known[number] = changed[number] = now
        return changed

    def apply(self, diff: dict[int, Held]) -> None:
        """Hold what the other end's copies hold."""
        for number, held in diff.items():
            _fill(self.modules[number], held)
            self._known[number] = _contents(self.modules[number])

    def parameter(self, weight: Tensor) -> tuple[int, str] | None:
        """Of which of them this is a parameter, and its name there."""
        for number, module in self.modules.items():
            for name, own in module.named_parameters():
                if own is weight:
                    return number, name
        return None

    def clear(self) -> None:
        """From here on, neither end has any of them."""
        self.modules.clear()
        self._known.clear()


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same numbers, NaN in the same places."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def _parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    return dict(module.named_parameters(remove_duplicate=False))


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {**_parameters(module), **dict(module.named_buffers(remove_duplicate=False))}


def _contents(module: nn.Module) -> Held:
    """A module's parameters, buffers and modes, copied."""
    return Held(
        state={name: tensor.detach().clone() for name, tensor in _state(module).items()},
        modes={name: bool(part.training) for name, part in module.named_modules()},
        learns={name: weight.requires_grad for name, weight in _parameters(module).items()},
    )


def _same_contents(one: Held, other: Held) -> bool:
    return (
        (one.modes, one.learns) == (other.modes, other.learns)
        and one.state.keys() == other.state.keys()
        and all(same(tensor, other.state[name]) for name, tensor in one.state.items())
    )


def _fill(module: nn.Module, held: Held) -> None:
    """Give a module what another copy of it holds, in its own memory: some may share that."""
    for name, tensor in _state(module).items():
        value = held.state.get(name, tensor)
        if value.shape != tensor.shape or value.dtype != tensor.dtype:
            tensor.data = value
        else:
            with torch.no_grad():
                tensor.copy_(value)
    for name, part in module.named_modules():
        part.training = held.modes.get(name, part.training)
    for name, weight in _parameters(module).items():
        if weight.is_floating_point():
            weight.requires_grad_(held.learns.get(name, weight.requires_grad))

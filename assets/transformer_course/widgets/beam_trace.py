"""What a beam search did, read from the hypotheses that it calls `step` with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

DROPPED = 3  # of the dropped continuations of a step, the best ones are kept for the tree
TOLD = 2  # steps with a fault; the others are counted
OPEN, ENDED = "open", "ended"

Tokens = tuple[int, ...]
Step = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Settings:
    """What a search is called with; `names` has a str for each token of the vocabulary."""

    begin: int
    end: int
    width: int
    max_length: int
    alpha: float
    names: Sequence[str]

    def score(self, log_probability: float, length: int) -> float:
        """By this score hypotheses are compared at the end."""
        return log_probability / length**self.alpha

    def written(self, tokens: Tokens) -> str:
        """The tokens by their names."""
        return f"“{' '.join(self.names[token] for token in tokens)}”"


def signed(value: float) -> str:
    """A number with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


@dataclass
class Level:
    """One step of the search: the continuations that it kept, and the best that it dropped."""

    kept: dict[Tokens, str]  # to OPEN or ENDED
    dropped: list[Tokens] = field(default_factory=list)


@dataclass
class Trace:
    """The steps of a search, the log-probability of each hypothesis, and what it returned."""

    levels: list[Level]
    log_probabilities: dict[Tokens, float]
    returned: Tokens
    score: float
    faults: list[str]


class RecordingStep:
    """A `step` that keeps the log-probabilities of each hypothesis that it is called with."""

    def __init__(self, step: Step, settings: Settings) -> None:
        self.step, self.settings, self.calls, self.too_long = step, settings, 0, False
        # for each length: hypothesis without `begin` -> (vocab,)
        self.asked: list[dict[Tokens, np.ndarray]] = []

    def __call__(self, tokens: Tensor) -> Tensor:
        """Call `step`, and keep what it returns; `ValueError` for rows that are no hypotheses."""
        rows = self._rows(tokens)
        self.calls += 1
        most = 8 * self.settings.width * (self.settings.max_length + 1)
        if self.calls > most:
            raise ValueError(
                f"beam_search has called step {self.calls - 1} times: does it ever stop?"
            )
        logits = self.step(tokens)
        expected = (len(rows), len(self.settings.names))
        if not isinstance(logits, Tensor) or logits.shape != expected:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            needed = f"(rows, vocab), here {expected} with a name for each token"
            raise ValueError(f"step must return logits {needed}; got {got}")
        for row, log_probabilities in zip(rows, _log_softmax(logits), strict=True):
            self._keep(row, log_probabilities)
        return logits

    def _rows(self, tokens: Tensor) -> list[Tokens]:
        needed = "beam_search must call step with int64 tokens (rows, so far)"
        if not isinstance(tokens, Tensor):
            raise ValueError(f"{needed}; got {type(tokens).__name__}")
        if tokens.ndim != 2 or 0 in tokens.shape:
            raise ValueError(f"{needed}; got {tuple(tokens.shape)}")
        if tokens.dtype != torch.int64:
            raise ValueError(f"{needed}; got {tokens.dtype}")
        rows = [tuple(row) for row in tokens.tolist()]
        for row in rows:
            if row[0] != self.settings.begin:
                begins = f"begin = {self.settings.begin}"
                raise ValueError(f"{needed}, each row with {begins} first; a row is {list(row)}")
            if not all(0 <= token < len(self.settings.names) for token in row):
                raise ValueError(f"{needed}, from the vocabulary; a row is {list(row)}")
        return rows

    def _keep(self, row: Tokens, log_probabilities: np.ndarray) -> None:
        hypothesis, settings = row[1:], self.settings
        if settings.end in hypothesis:  # carried along, though it has ended
            return
        if len(hypothesis) >= settings.max_length:
            self.too_long = True
            return
        while len(self.asked) <= len(hypothesis):
            self.asked.append({})
        asked = self.asked[len(hypothesis)]
        asked[hypothesis] = log_probabilities
        if len(asked) > 4 * settings.width:
            several = f"{len(asked)} hypotheses open after step {len(hypothesis)}"
            raise ValueError(f"beam_search keeps {several}; width is {settings.width}")


def _log_softmax(logits: Tensor) -> np.ndarray:
    values = logits.detach().cpu().double().log_softmax(-1).numpy()
    if np.isnan(values).any():
        raise ValueError("step must return logits; some of its log-probabilities are NaN")
    return values


def trace_beam(beam_search: Callable[..., Any], step: Step, settings: Settings) -> Trace:
    """Run a search and find out what each step of it kept; `ValueError` if that is impossible."""
    recording = RecordingStep(step, settings)
    given = settings.begin, settings.end, settings.width, settings.max_length
    with torch.no_grad():
        result = beam_search(recording, *given, alpha=settings.alpha)
    returned, score = _result(result, settings)
    if not recording.asked or () not in recording.asked[0]:
        raise ValueError("beam_search must call step, first with a row of begin alone")
    trace = Trace([], {(): 0.0}, returned, score, [])
    found = []
    for asked, following in zip_longest(recording.asked, recording.asked[1:]):
        fault = _add_level(trace, asked, following, settings)
        found += [f"step {len(trace.levels)} {fault}"] if fault else []
    trace.faults += found[:TOLD]
    if found[TOLD:]:
        more = f"{len(found[TOLD:])} more of the {len(trace.levels)} steps"
        trace.faults.append(f"{more} have faults like these")
    if recording.too_long:
        longest = f"max_length = {settings.max_length}"
        trace.faults.append(f"step is called with hypotheses that already have {longest} tokens")
    _judge(trace, settings)
    return trace


def _result(result: Any, settings: Settings) -> tuple[Tokens, float]:
    needed = "the result of beam_search must be (tokens, score)"
    if result is None:
        raise ValueError(f"{needed}; got None: is a return missing?")
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise ValueError(f"{needed}; got {type(result).__name__}")
    try:
        tokens, score = torch.as_tensor(result[0]), torch.as_tensor(result[1])
    except (TypeError, ValueError, RuntimeError):
        got = ", ".join(type(one).__name__ for one in result)
        raise ValueError(f"{needed}, a tensor and a number; got ({got})") from None
    if tokens.ndim != 1 or not len(tokens) or tokens.is_floating_point():
        got = f"{tokens.dtype} of shape {tuple(tokens.shape)}"
        raise ValueError(f"{needed} with int64 tokens (length,); got {got}")
    if score.numel() != 1:
        raise ValueError(f"{needed} with a single score; got {tuple(score.shape)}")
    listed = tuple(int(token) for token in tokens)
    if not all(0 <= token < len(settings.names) for token in listed):
        raise ValueError(f"{needed} with tokens of the vocabulary; got {list(listed)}")
    return listed, float(score)


def _add_level(
    trace: Trace,
    asked: dict[Tokens, np.ndarray],
    following: dict[Tokens, np.ndarray] | None,
    settings: Settings,
) -> str:
    """Add what a step kept and dropped; return what is wrong with it, or nothing.

    `asked`: the hypotheses of this step's call, `following`: those of the next, if there is one.
    """
    for one in following or ():
        if one[:-1] not in asked:
            row = f"a row of {1 + len(one)} tokens continues no row that was open before"
            raise ValueError(f"beam_search must continue open hypotheses; {row}")
    sums = trace.log_probabilities
    ranked = _ranked(asked, list(following or ()), sums, settings)
    if following is None:  # no call shows what was kept last
        kept = ranked[: settings.width]
        ended = [one for one in kept if one[-1] == settings.end]
    else:
        kept, ended = list(following), _ended(ranked, len(following), sums, settings)
    level = Level(dict.fromkeys(kept, OPEN) | dict.fromkeys(ended, ENDED))
    level.dropped = [one for one in ranked if one not in level.kept][:DROPPED]
    trace.levels.append(level)
    return _unlike(level, ranked, sums, settings)


def _ranked(
    asked: dict[Tokens, np.ndarray],
    following: list[Tokens],
    sums: dict[Tokens, float],
    settings: Settings,
) -> list[Tokens]:
    """The continuations that may matter, the likeliest first; adds their log-probabilities."""
    most = len(following) + settings.width + DROPPED
    for hypothesis, log_probabilities in asked.items():
        chosen = {int(token) for token in np.argsort(-log_probabilities)[:most]}
        chosen |= {one[-1] for one in following if one[:-1] == hypothesis}
        for token in chosen:
            sums[*hypothesis, token] = sums[hypothesis] + float(log_probabilities[token])
    found = [one for one in sums if one and one[:-1] in asked and np.isfinite(sums[one])]
    return sorted(found, key=lambda one: -sums[one])


def _ended(
    ranked: list[Tokens], still_open: int, sums: dict[Tokens, float], settings: Settings
) -> list[Tokens]:
    """The continuations with `end` among the likeliest; of equally likely ones, those with room."""
    width, ends = settings.width, [one for one in ranked if one[-1] == settings.end]
    if len(ranked) <= width:
        return ends
    last, next_one = sums[ranked[width - 1]], sums[ranked[width]]
    sure = [one for one in ends if sums[one] > next_one + _tolerance(next_one)]
    tied = [one for one in ends if one not in sure and sums[one] >= last - _tolerance(last)]
    return sure + tied[: max(0, width - still_open - len(sure))]


def _unlike(
    level: Level, ranked: list[Tokens], sums: dict[Tokens, float], settings: Settings
) -> str:
    """How what was kept differs from the `width` likeliest, ties aside."""
    kept = sorted(level.kept, key=lambda one: -sums[one])
    if len(kept) > settings.width:
        ended = sum(fate == ENDED for fate in level.kept.values())
        and_ended = f", with the {ended} that ended," if ended else ""
        return f"keeps {len(kept)} continuations{and_ended} but width is {settings.width}"
    if not level.dropped:
        return ""
    best = level.dropped[0]
    missing = len(kept) < min(settings.width, len(ranked))
    said = f"{settings.written(best)} ({signed(sums[best])})"
    if missing:
        return f"drops {said}, one of the {settings.width} likeliest"
    if sums[best] > sums[kept[-1]] + _tolerance(sums[best]):
        return f"drops {said} and keeps {settings.written(kept[-1])} ({signed(sums[kept[-1]])})"
    return ""


def _tolerance(value: float) -> float:
    return 1e-4 * max(1.0, abs(value))


def _judge(trace: Trace, settings: Settings) -> None:
    """Mark what was returned, and say what is wrong with it."""
    scores = final_scores(trace, settings)
    returned = trace.returned
    written = settings.written(returned)
    if returned not in scores:
        if (*returned, settings.end) in scores:
            fault, trace.returned = "lacks its end", (*returned, settings.end)
        elif returned[0] == settings.begin and returned[1:] in scores:
            fault, trace.returned = "still has begin", returned[1:]
        else:
            trace.faults.append(f"{written} is returned, but was not kept by the search")
            return
        trace.faults.append(f"{written} is returned: it {fault}")
    own, best = scores[trace.returned], max(scores, key=lambda one: scores[one])
    if scores[best] > own + _tolerance(own):
        better = f"{settings.written(best)} has a better score, {signed(scores[best])}"
        trace.faults.append(f"{written} is returned with {signed(own)}, but {better}")
    if not abs(trace.score - own) <= 1e-3 * max(1.0, abs(own)):
        trace.faults.append(
            f"the score {signed(trace.score)} is returned; it should be {signed(own)}"
        )


def final_scores(trace: Trace, settings: Settings) -> dict[Tokens, float]:
    """The score of each hypothesis that had ended, or was open after the last step."""
    last = trace.levels[-1].kept
    ended = [one for level in trace.levels for one, fate in level.kept.items() if fate == ENDED]
    both = dict.fromkeys([*ended, *last])
    return {one: settings.score(trace.log_probabilities[one], len(one)) for one in both}

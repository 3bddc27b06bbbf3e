"""One example of each live view, small enough to be read: what all of them are held to."""

from collections.abc import Callable
from typing import Any

import torch
from transformer_course import widgets
from transformer_course.checks import numbers

WORDS = ["the", "animal", "was", "too", "tired"]
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()
WEIGHTS = torch.softmax(numbers(3, 5, 5).masked_fill(~CAUSAL, -torch.inf), -1)
QUERY_KEY_VALUE = numbers(5, 2), numbers(5, 2, seed=1), numbers(5, 2, seed=2)


def split(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(heads: torch.Tensor) -> torch.Tensor:
    return heads.transpose(1, 2).flatten(2)


def waves(length: int, d_model: int, base: float) -> torch.Tensor:
    return torch.sin(torch.arange(length)[:, None] / base ** torch.linspace(0, 1, d_model))


def turned(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
    angles = positions[:, None] / torch.tensor([1.0, 9.0])
    return torch.stack([angles.cos(), angles.sin()], -1).flatten(-2).to(x)


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    weights = torch.softmax(query @ key.T, -1)
    return weights @ value, weights


def beam_search(
    step: Callable[[torch.Tensor], torch.Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    rows, sums, final = torch.tensor([[begin]]), torch.zeros(1), []
    for length in range(1, max_length + 1):
        scores = sums[:, None] + step(rows).log_softmax(-1)  # (open, vocab)
        sums, at = scores.flatten().topk(min(width, scores.numel()))
        rows = torch.cat([rows[at // scores.shape[1]], at[:, None] % scores.shape[1]], 1)
        over = (rows[:, -1] == end) | (length == max_length)
        final += [
            (row[1:], one / length**alpha) for row, one in zip(rows[over], sums[over], strict=True)
        ]
        rows, sums = rows[~over], sums[~over]
        if not len(rows):
            break
    return max(final, key=lambda one: one[1])


def next_word(tokens: torch.Tensor) -> torch.Tensor:
    """Logits of 6 tokens, which depend on the last token and on the length."""
    return 2 * numbers(6, 6)[tokens[:, -1]] + tokens.shape[1] * torch.tensor([-9, 0.4, 0, 0, 0, 0])


def probabilities(
    logits: torch.Tensor, temperature: float = 1.0, top_k: int | None = None
) -> torch.Tensor:
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits)
    least = logits.topk(top_k or logits.shape[-1]).values[..., -1:]
    return (logits.masked_fill(logits < least, -torch.inf) / temperature).softmax(-1)


def filled_in(tokens: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    """Logits of 17 tokens, which depend on the neighbours and on the segment."""
    table = numbers(17, 17)
    near = table[tokens.roll(1, 1)] + table[tokens.roll(-1, 1)] + table[tokens]
    return near + segments[..., None] * numbers(17, seed=1)


def cut(x: torch.Tensor, size: int) -> torch.Tensor:
    batch, height, width, channels = x.shape
    squares = x.reshape(batch, height // size, size, width // size, size, channels)
    return squares.transpose(2, 3).reshape(batch, -1, size**2, channels)


def unwrapped(height: int, width: int, size: int, shift: int) -> torch.Tensor:
    rows, columns = torch.arange(height) >= height - shift, torch.arange(width) >= width - shift
    pieces = cut((2 * rows[:, None] + columns)[None, :, :, None], size)[0, ..., 0]
    return pieces[:, :, None] == pieces[:, None]


def merged(word: str, merges: list[tuple[int, int]]) -> list[int]:
    text = "".join(map(chr, word.encode()))
    for number, (left, right) in enumerate(merges):
        text = text.replace(chr(left) + chr(right), chr(256 + number))
    return [ord(letter) for letter in text]


def smeared(x: torch.Tensor) -> torch.Tensor:
    """Each pixel becomes the sum of itself and its right neighbour."""
    return x + torch.nn.functional.pad(x[:, :, 1:], (0, 0, 0, 1))


def described(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens 0 to 4 by the brightness of four parts, and weights by that of the cells."""
    cells = torch.nn.functional.avg_pool2d(images, 2).flatten(1)
    words = (2 * cells.unflatten(1, (4, -1)).amax(2)).long().clamp(0, 4)
    return words, torch.stack([(word * cells).softmax(-1) for word in range(1, 5)], 1)


def bowl(*given: Any) -> torch.Tensor:
    """Losses of a bowl whose curvature is 2 along α and 0.5 along β."""
    alphas, betas = given[-2:]
    return 0.1 + alphas[:, None] ** 2 + 0.25 * betas**2


ONE = torch.ones(1, 1)


def block_cost(length: int, d_model: int, d_ff: int, window: int | None = None) -> int:
    keys = length if window is None else min(window, length)
    return 2 * length * d_model * (4 * d_model + 2 * d_ff + 2 * keys)


def pre_norm() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(4, 2, 8, norm_first=True)


class Vit(torch.nn.Module):
    """A Vision Transformer for images of 8 by 8 pixels in patches of 4."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = torch.nn.Linear(16, 8)
        self.start = torch.nn.Parameter(numbers(5, 8).float())
        block = torch.nn.TransformerEncoderLayer(
            8, 2, 12, 0.0, "gelu", batch_first=True, norm_first=True
        )
        norm = torch.nn.LayerNorm(8)
        self.encoder = torch.nn.TransformerEncoder(block, 2, norm, enable_nested_tensor=False)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        squares = torch.nn.functional.unfold(images, 4, stride=4).mT
        tokens = torch.nn.functional.pad(self.patches(squares), (0, 0, 1, 0))
        return self.head(self.encoder(tokens + self.start)[:, 0])


def vit() -> torch.nn.Module:
    torch.manual_seed(0)
    return Vit()


class DecoderBlock(torch.nn.Module):
    """As the solution of lesson 9, with PyTorch's attention."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.split = num_heads
        self.w_query, self.w_key = (torch.nn.Linear(d_model, d_model) for _ in range(2))
        self.w_value, self.w_output = (torch.nn.Linear(d_model, d_model) for _ in range(2))
        self.linear1, self.linear2 = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = torch.nn.LayerNorm(d_model), torch.nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        read = self.norm1(x)
        query, key, value = (
            split(part(read), self.split) for part in (self.w_query, self.w_key, self.w_value)
        )
        attention = torch.nn.functional.scaled_dot_product_attention
        mixed = attention(query, key, value, is_causal=True)
        x = x + self.w_output(merge(mixed))
        return x + self.linear2(torch.nn.functional.gelu(self.linear1(self.norm2(x))))


class GPT(torch.nn.Module):
    """As the solution of lesson 9; its parameters are drawn large, so that each matters."""

    def __init__(self, vocab: int, context: int, d_model: int, depth: int, heads: int) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(vocab, d_model)
        self.positions = torch.nn.Embedding(context, d_model)
        self.blocks = torch.nn.ModuleList(
            DecoderBlock(d_model, heads, 2 * d_model) for _ in range(depth)
        )
        self.norm = torch.nn.LayerNorm(d_model)
        draw = torch.Generator().manual_seed(0)
        for part in self.parameters():
            torch.nn.init.normal_(part, std=0.5, generator=draw)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


LETTERS = "abcdefghijkl\n "


def letter_ids(text: str) -> torch.Tensor:
    return torch.tensor([[LETTERS.index(letter) for letter in text]])


def letters(ids: torch.Tensor) -> str:
    return "".join(LETTERS[i] for i in ids.tolist())


def trained() -> widgets.TrainingPlot:
    plot = widgets.show_training(total=20)
    for step in range(20):
        plot.add(loss=2 / (step + 1), validation_loss=2.2 / (step + 1), accuracy=step / 20)
    return plot


EXAMPLES = {
    "alignment": lambda: widgets.show_alignment(
        [torch.softmax(3 * numbers(2, 3, *size), -1) for size in ((4, 5), (3, 2))],
        [WORDS[1:], ["le", "chat", "."]],
        [WORDS, ["the", "cat"]],
    ),
    "attention": lambda: widgets.show_attention(WEIGHTS, WORDS, mask=CAUSAL),
    "attention_steps": lambda: widgets.show_attention_steps(attend, *QUERY_KEY_VALUE, WORDS),
    "beam": lambda: widgets.show_beam(
        beam_search, next_word, 0, 1, width=3, max_length=5, names=["<begin>", "<end>", *WORDS[:4]]
    ),
    "block": lambda: widgets.show_block(pre_norm(), numbers(5, 4), WORDS),
    "cached": lambda: widgets.show_cached(
        [(0, 2), (0, 3), (0, 4)], [(0, 2), (2, 3), (3, 4)], WORDS
    ),
    "cost": lambda: widgets.show_cost(block_cost),
    "gpt": lambda: widgets.show_gpt(GPT(14, 9, 8, 2, 2), letter_ids, letters, "a ball"),
    "generation": lambda: widgets.show_generation(
        probabilities, 3 * numbers(3, 16), [7, 0, 15, 3, 9], "abcdefghijklmno\n"
    ),
    "caption": lambda: widgets.show_caption(
        described, numbers(2, 1, 4, 8).abs().clamp(max=1.2), WORDS, 2, title="a caption"
    ),
    "hull": lambda: widgets.show_hull(attend, numbers(4, 2), numbers(4, 2, seed=1), WORDS[:4]),
    "landscape": lambda: widgets.show_landscape(
        bowl, torch.nn.Linear(1, 1), torch.nn.MSELoss(), ONE, ONE, [], [], 2.0
    ),
    "mask": lambda: widgets.show_mask(numbers(5, 5), CAUSAL, WORDS),
    "masked_words": lambda: widgets.show_masked_words(
        filled_in,
        [[1, 4, 5, 6, 2, 9, 8, 2, 0], [1, 7, 6, 2, 5, 2, 0, 0, 0]],
        ["[PAD]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefgh"],
        segments=[[0, 0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 0, 0, 0]],
    ),
    "merges": lambda: widgets.show_merges(
        merged, [(97, 110), (256, 97), (98, 257)], ["an", " ana", " banana", "é"], {0: 4.0, 3: 3.5}
    ),
    "norm_axes": lambda: widgets.show_norm_axes(lengths=[4, 2, 3], x=numbers(3, 4, 5)),
    "dropout": lambda: widgets.show_dropout(torch.nn.functional.dropout),
    "reshape": lambda: widgets.show_reshape(split, merge),
    "encoding": lambda: widgets.show_encoding({"one": numbers(9, 6), "two": numbers(9, 6, seed=1)}),
    "encoding_settings": lambda: widgets.show_encoding(waves, length=(6, 9), d_model=(3, 4)),
    "rotary": lambda: widgets.show_rotary(turned, d_model=4, positions=12),
    "softmax": lambda: widgets.show_softmax(torch.softmax, [2.0, 1.0, 0.5, -1.0]),
    "patches": lambda: widgets.show_patches(
        numbers(4, 6), 2, torch.softmax(numbers(2, 2, 7, 7), -1), patches=numbers(6, 4)
    ),
    "patches_sizes": lambda: widgets.show_patches(numbers(3, 8, 8), [1, 2, 4]),
    "switches": lambda: widgets.show_switches(
        lambda gates: [gates.mean(), gates[0], 1 - 0.5 * (1 - gates[1]) * (1 - gates[4])],
        2,
        3,
        ["left neighbour", "noun of its case", "rarest word"],
    ),
    "training": lambda: trained().view,
    "vit": lambda: widgets.show_vit(
        vit(), numbers(2, 8, 8).abs().clamp(max=1), ["one", "two"], WORDS[:4]
    ),
    "windows": lambda: widgets.show_windows(
        cut, unwrapped, lambda x: x[:, ::2, ::2] * x[:, 1::2, 1::2], side=4, window_sizes=(2, 4)
    ),
    "reach": lambda: widgets.show_reach(
        {"two blocks": [smeared, smeared], "one block": [smeared]}, side=4, window_size=2
    ),
}

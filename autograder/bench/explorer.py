"""`python -m autograder.bench.explorer`: how long the page of `show_gpt` computes a token.

A GPT of 4 blocks with 4 heads, d_model 64 and a context of 128, its weights random. The page in
this machine's Chromium: the 128th token after 127 that are cached, and 127 tokens anew; PyTorch on
one thread, without a cache, in the same run. Medians of 15.
"""

import base64
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course.widgets import show_gpt, view

from autograder.bench.browser import chromium
from autograder.commands.terminal import as_table, console

BLOCKS, HEADS, WIDTH, CONTEXT = 4, 4, 64, 128
ROUNDS = 15
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# the page's own functions, without its drawing; the first round warms them up
IN_PAGE = """
async ([source, options, data, rounds]) => {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { arrays, network, reader, unpackHalf } = await import(address);
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const model = { get: (name) => ({ options, data: new DataView(bytes.buffer) })[name] };
  const { data: sent } = arrays(model).weights;
  const values = options.half ? unpackHalf(sent, sent.length / 2) : sent;
  const net = network(options.sizes, values);
  const text = Array.from({ length: 128 }, (_, i) => (7 * i) % 26);
  const { depth, heads } = options.sizes;
  const on = "1".repeat(depth * (heads + 2)); // all parts
  const [anew, step] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const read = reader(net);
    const began = performance.now();
    read(text.slice(0, 127), on);
    const cached = performance.now();
    read(text, on);
    anew.push(cached - began);
    step.push(performance.now() - cached);
  }
  return [step.slice(1), anew.slice(1)];
}
"""


class Block(nn.Module):
    """A pre-norm decoder block with the parameters of lesson 9's."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = HEADS
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.w_query, self.w_key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.w_value, self.w_output = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.linear1, self.linear2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        normed = self.norm1(x)
        query, key, value = (
            part(normed).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in (self.w_query, self.w_key, self.w_value)
        )  # (batch, heads, length, d_head)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.w_output(mixed.transpose(1, 2).flatten(2))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class GPT(nn.Module):
    """A GPT with the parameters of lesson 9's."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(len(LETTERS), WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (batch, length) -> logits (batch, length, vocab)."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def main() -> None:
    """Measure, and print a table."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = GPT().eval()
    shown = show_gpt(model, lambda text: [LETTERS.index(c) for c in text], letters, "attention")
    data = base64.b64encode(shown.data).decode()
    with chromium() as context:
        given = [view.source("gpt"), shown.options, data, ROUNDS]
        step, anew = context.pages[0].evaluate(IN_PAGE, given)
    tokens = (7 * torch.arange(127) % 26)[None]
    with torch.no_grad():
        theirs = timed(lambda: model(tokens))
    rows = [
        ["page, the 128th token with the cache", f"{statistics.median(step):.1f} ms"],
        ["page, 127 tokens anew", f"{statistics.median(anew):.1f} ms"],
        ["PyTorch, 127 tokens anew", f"{theirs:.1f} ms"],
        ["page ÷ PyTorch, anew", f"{statistics.median(anew) / theirs:.1f} ×"],
    ]
    console.print(as_table("A GPT in the page", ["what", "median"], rows))


def letters(ids: list[int]) -> str:
    """The text of these tokens."""
    return "".join(LETTERS[token] for token in ids)


def timed(act: Callable[[], Tensor]) -> float:
    """The median of some runs, in milliseconds."""
    times = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()

# %% [markdown]
# # Lesson 11 · The encoder-decoder
#
# **You build** the encoder-decoder of 2017, in pre-norm order (part 13 lists the other main differences): a decoder layer with cross-attention, the Transformer around it, greedy decoding, beam search and BLEU. Your model translates new English sentences into French.
#
# **You need** the ideas of lessons 2 to 7; their code comes from PyTorch here. Lessons 9 (decoding) and 10 (the RNN with attention) help.
#
# **You take away** `Transformer`, `beam_search`, `bleu`, a test that finds decoders that see the future, and a comparison of one stack with two.
#
# **Time**: about 360 minutes, 218 of them for the exercises. Good places to stop are marked after about 125, 205 and 320. Parts 11 to 13 have no exercise.

# %% given imports
import math
from collections import Counter
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.checks.module import Module

torch.set_num_threads(1)  # tiny models train fastest on one core

# %% [markdown]
# Can you translate with a dictionary? Look up each English word, write down its French word, and go on.
#
# The next cell makes English sentences with their French translations. They come from a small grammar, written for this lesson, that can make more than a billion different sentences.

# %% folded=true
# Writes English sentences with their French translations: click to unfold.
import random
from typing import NamedTuple


class Pair(NamedTuple):
    """A sentence in both languages; `aligned` is, for each French word, where its English word is."""

    english: list[str]
    french: list[str]
    aligned: list[int]


def table(text: str) -> list[list[str]]:
    return [entry.split() for entry in text.split(",")]


# English singular and plural, then French: masculine, feminine, plural
DETERMINERS = table(
    "the the le la les, this these ce cette ces, my my mon ma mes, our our notre notre nos"
)
# English singular and plural, French singular and plural, gender
NOUNS = table(
    "cat cats chat chats m, dog dogs chien chiens m, horse horses cheval chevaux m,"
    "boy boys garçon garçons m, king kings roi rois m, book books livre livres m,"
    "mouse mice souris souris f, girl girls fille filles f, woman women femme femmes f,"
    "queen queens reine reines f, house houses maison maisons f, car cars voiture voitures f"
)
# English, then French: masculine, feminine, masculine plural, feminine plural
BEFORE_NOUN = table(
    "small petit petite petits petites, big grand grande grands grandes,"
    "pretty joli jolie jolis jolies, old vieux vieille vieux vieilles,"
    "young jeune jeune jeunes jeunes, new nouveau nouvelle nouveaux nouvelles,"
    "good bon bonne bons bonnes, beautiful beau belle beaux belles"
)
AFTER_NOUN = table(
    "black noir noire noirs noires, white blanc blanche blancs blanches,"
    "grey gris grise gris grises, sad triste triste tristes tristes,"
    "proud fier fière fiers fières, strange bizarre bizarre bizarres bizarres,"
    "dangerous dangereux dangereuse dangereux dangereuses,"
    "famous célèbre célèbre célèbres célèbres"
)
# English: he follows, they follow, following; French: il suit, ils suivent
VERBS = table(
    "follows follow following suit suivent, watches watch watching regarde regardent,"
    "finds find finding trouve trouvent, draws draw drawing dessine dessinent,"
    "paints paint painting peint peignent, hides hide hiding cache cachent,"
    "loses lose losing perd perdent, carries carry carrying porte portent,"
    "leaves leave leaving quitte quittent, washes wash washing lave lavent"
)


def noun_phrase(draw: random.Random) -> tuple[Pair, bool]:
    """Such as *these old black cats*, and whether it is plural."""
    determiner, noun, plural = draw.choice(DETERMINERS), draw.choice(NOUNS), draw.random() < 0.5
    feminine = noun[4] == "f"
    before = [draw.choice(BEFORE_NOUN)] if draw.random() < 0.5 else []
    after = [draw.choice(AFTER_NOUN)] if draw.random() < 0.5 else []
    english = [determiner[plural], *(word[0] for word in before + after), noun[plural]]
    form, last = 1 + 2 * plural + feminine, len(english) - 1
    french = [determiner[4] if plural else determiner[2 + feminine]]
    french += [*(word[form] for word in before), noun[2 + plural], *(word[form] for word in after)]
    return Pair(
        english, french, [*range(1 + len(before)), last, *([last - 1] * len(after))]
    ), plural


def verb_phrase(draw: random.Random, plural: bool) -> Pair:
    """Such as *follows*, *is following*, *doesn't follow* or *isn't following*."""
    verb, negated, progressive = draw.choice(VERBS), draw.random() < 0.5, draw.random() < 0.5
    french = verb[3 + plural]
    form = verb[2] if progressive else verb[1]
    if negated:
        helper = [["doesn't", "don't"], ["isn't", "aren't"]][progressive][plural]
        return Pair([helper, form], ["ne", french, "pas"], [0, 1, 0])
    if progressive:
        return Pair([["is", "are"][plural], form], [french], [1])
    return Pair([verb[plural]], [french], [0])


def sentence(draw: random.Random) -> Pair:
    """Subject, verb and object; half of the sentences are negated."""
    subject, plural = noun_phrase(draw)
    verb, (target, _) = verb_phrase(draw, plural), noun_phrase(draw)
    english, french, aligned = [], [], []
    for part in (subject, verb, target):
        aligned += [len(english) + i for i in part.aligned]
        english += part.english
        french += part.french
    return Pair(english, french, aligned)


def draw_pairs(count: int, seed: int) -> list[Pair]:
    """Sentences with their translations, the same for the same seed."""
    draw = random.Random(seed)
    return [sentence(draw) for _ in range(count)]


# %%
DICTIONARY = {word: entry[2] for entry in DETERMINERS + NOUNS for word in entry[:2]}
DICTIONARY |= {word: entry[3] for entry in VERBS for word in entry[:3]}
DICTIONARY |= {entry[0]: entry[1] for entry in BEFORE_NOUN + AFTER_NOUN}
DICTIONARY |= dict.fromkeys(["doesn't", "don't", "isn't", "aren't"], "pas")  # is, are: no word
test_pairs = draw_pairs(250, seed=7)
looked_up = [
    [DICTIONARY[word] for word in pair.english if word in DICTIONARY] for pair in test_pairs
]
for pair, words in list(zip(test_pairs, looked_up, strict=True))[2:5]:
    print("English   ", *pair.english)
    print("dictionary", *words)
    print("French    ", *pair.french, "\n")
right = [words == pair.french for pair, words in zip(test_pairs, looked_up, strict=True)]
print(f"250 sentences: the dictionary translates {sum(right)} without an error")

# %% [markdown]
# What to see: the dictionary is nearly always wrong. A French adjective agrees with its noun in gender and number. Some adjectives come after the noun. *doesn't* becomes two words, one on each side of the verb, and *is following* becomes one.
#
# The next picture draws one pair. Each line joins a French word to its English word.

# %% folded=true
# Draws a pair with a line from each French word to its English word: click to unfold.
from matplotlib.figure import Figure


def draw_alignment(pair: Pair) -> figures.Picture:
    """English above, French below, lines between the words that belong together."""
    figure = Figure(figsize=(9.5, 2.3), layout="constrained")
    axes = figure.subplots()
    width = max(len(pair.english), len(pair.french)) - 1
    across = [[i * width / (len(words) - 1) for i in range(len(words))] for words in pair[:2]]
    for y, row, words in ((1.0, across[0], pair.english), (0.0, across[1], pair.french)):
        for x, word in zip(row, words, strict=True):
            middle = {"ha": "center", "va": "bottom" if y else "top", "fontsize": 12}
            axes.text(x, y, word, color=figures.INK, **middle)
    for x, i in zip(across[1], pair.aligned, strict=True):
        axes.plot([across[0][i], x], [0.96, 0.04], color=figures.LINES[0], lw=2)
    axes.set(xlim=(-0.6, width + 0.6), ylim=(-0.25, 1.25))
    axes.axis("off")
    told = (f"{f} from {pair.english[i]}" for f, i in zip(pair.french, pair.aligned, strict=True))
    return figures.Picture(figure, f"Lines from French words to English words: {', '.join(told)}.")


# %%
shown = next(p for p in test_pairs if len(p.english) == 8 and "ne" in p.french)
draw_alignment(shown)

# %% [markdown]
# **Predict.** The encoder of lesson 7 returns one output vector for each English word. You train it to output the $i$-th French word at position $i$. Why can't this work?
#
# <details><summary>It can work: attention moves information between positions</summary>Attention does that. But the encoder has as many outputs as there are English words, and French may need more.</details>
# <details><summary>It has no output for some of the French words</summary>Yes. The number of outputs is the number of inputs. (You can add empty positions: part 12 tries it.)</details>
# <details><summary>It cannot see the whole English sentence</summary>It can: in an encoder, every position may attend to every other.</details>

# %%
differences = Counter(len(pair.french) - len(pair.english) for pair in test_pairs)
for extra, count in sorted(differences.items()):
    print(f"French minus English: {extra:+d} words in {count:3} of 250 sentences")

# %% [markdown]
# How can a model write a sequence that differs in length and order from its input? And how can it train on all positions at once, unlike the RNN of lesson 10?

# %% [markdown]
# **Recall.** Three questions on lessons 2, 7 and 9. Answer, then open your choice.
#
# 1. A sentence of 5 words is padded to 8. Which scores does a padding mask remove?
#
# <details><summary>Those of the three padding keys, for every query</summary>Yes. No query may attend to padding.</details>
# <details><summary>Those of the three padding queries</summary>What a padding query returns is ignored later. The mask has to hide padding as a <em>key</em>.</details>
# <details><summary>Those of all later positions</summary>That is a causal mask.</details>
#
# 2. A language model reads *the cat sleeps*. Under a causal mask, what is the target of the output at *cat*?
#
# <details><summary>cat</summary>The model reads it there. Repeating it would teach nothing.</details>
# <details><summary>sleeps</summary>Yes: each output predicts the next token.</details>
# <details><summary>the</summary>The model has already read it.</details>
#
# 3. In a pre-norm model, where are the norms?
#
# <details><summary>On the residual stream, after each addition</summary>That is post-norm.</details>
# <details><summary>On each branch, before its sublayer, and once at the end of the stack</summary>Yes. The residual stream itself is not normalised before the end.</details>
# <details><summary>Only at the end of the stack</summary>Each sublayer also reads a normalised copy.</details>

# %% [markdown]
# ## 1 · Two stacks
#
# The **encoder-decoder** has two stacks: an encoder reads the source sentence, and a decoder writes the target, token by token. Find the one arrow that joins them.

# %% folded=true
# Draws the two stacks and what flows between them: click to unfold.
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle


def draw_row(axes: Axes, y: float, boxes: list[tuple[float, str]]) -> None:
    """Boxes in a row, with an arrow from each to the next."""
    for x, text in boxes:
        edge = {"facecolor": "#E3EEF6", "edgecolor": figures.INK, "zorder": 2}
        axes.add_patch(Rectangle((x - 0.8, y - 0.36), 1.6, 0.72, **edge))
        centred = {"ha": "center", "va": "center", "fontsize": 10, "zorder": 3}
        axes.text(x, y, text, color=figures.ON_LIGHT, **centred)
    for (left, _), (right, _) in pairwise(boxes):
        draw_arrow(axes, (left + 0.8, y), (right - 0.8, y), figures.INK)


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], ink: str) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, color=ink, lw=1.6, **style))


figure = Figure(figsize=(9.5, 3.4), layout="constrained")
axes = figure.subplots()
top, bottom = 2.0, 0.0
draw_row(
    axes,
    top,
    [
        (1, "English\ntokens"),
        (3, "embedding\n+ position"),
        (5, "self-\nattention"),
        (7, "feed-\nforward"),
        (11, "memory"),
    ],
)
draw_row(
    axes,
    bottom,
    [
        (1, "French\ntokens so far"),
        (3, "embedding\n+ position"),
        (5, "causal self-\nattention"),
        (7, "cross-\nattention"),
        (9, "feed-\nforward"),
        (11, "logits of the\nnext token"),
    ],
)
for left, y, box_width, name in (
    (4.05, top, 3.9, "encoder layer × N"),
    (4.05, bottom, 5.9, "decoder layer × N"),
):
    dashed = {"fill": False, "edgecolor": figures.LINES[0], "linestyle": "--", "lw": 1.5}
    axes.add_patch(Rectangle((left, y - 0.5), box_width, 1.0, **dashed))
    axes.text(left + 0.05, y + 0.55, name, color=figures.LINES[0], fontsize=10, va="bottom")
axes.plot([11, 11, 7], [top - 0.36, 1.15, 1.15], color=figures.LINES[1], lw=2.2)
draw_arrow(axes, (7, 1.17), (7, bottom + 0.36), figures.LINES[1])
axes.text(9, 1.2, "keys and values", color=figures.LINES[1], fontsize=10, ha="center", va="bottom")
axes.set(xlim=(0, 12), ylim=(-0.6, 2.9))
axes.axis("off")
figures.Picture(
    figure,
    "Two rows of boxes. Encoder: English tokens, embedding and position, then N layers of "
    "self-attention and feed-forward, which give the memory. Decoder: French tokens so far, "
    "embedding and position, then N layers of causal self-attention, cross-attention and "
    "feed-forward, which give the logits of the next token. One arrow leads from the memory to "
    "cross-attention: keys and values.",
)

# %% [markdown]
# What to see: one arrow leads from the encoder to the decoder. What the encoder returns, one vector for each source token, is called the **memory**. The queries come from the decoder's tokens, the keys and values from the memory.
#
# **From the lecture**: “Transformer Encoder-Decoder” in *Introduction to Transformers*, CS60216, describes both stacks. “Overview of Transformer” in *Transformer: Part I (Encoder)*, CS7150, says that the decoder adds cross-attention.

# %% [markdown]
# ## 2 · Cross-attention
#
# Cross-attention (lesson 3) has queries from one sequence, and keys and values from another. For decoder vectors $x$ and memory $m$, one head computes:
#
# $$\mathrm{CrossAttention}(x, m) = \mathrm{softmax}\!\left(\frac{(x\,W^Q)\,(m\,W^K)^\top}{\sqrt{d_k}}\right) m\,W^V$$
#
# **Predict.** The source has 7 tokens, the target so far 5, and there are 4 heads. What is the shape of the weights of one sentence?
#
# <details><summary>(4, 5, 5)</summary>That is the decoder's self-attention.</details>
# <details><summary>(4, 7, 5)</summary>Rows belong to queries, and the queries come from the target.</details>
# <details><summary>(4, 5, 7)</summary>Yes: for each head, a row for each target token and a column for each source token.</details>

# %%
torch.manual_seed(0)
cross = nn.MultiheadAttention(16, 4, batch_first=True)
target_side, source_side = torch.randn(1, 5, 16), torch.randn(1, 7, 16)
output, weights = cross(target_side, source_side, source_side, average_attn_weights=False)
print("weights", tuple(weights.shape), "  output", tuple(output.shape))
order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
shuffled, unused = cross(target_side, source_side[:, order], source_side[:, order])
print(f"memory shuffled: the output changes by {(shuffled - output).abs().max():.0e}")

# %% [markdown]
# What to see: the output has a vector for each *target* token, whatever the length of the source. Shuffling the memory changes the output only by rounding. So cross-attention is permutation invariant in the memory: the order of its vectors makes no difference. (In lesson 6, self-attention was only permutation equivariant: its outputs were reordered with the tokens.) The memory itself must say where each token stands; the encoder added positions to its embeddings.
#
# An encoder block (lesson 7) has two sublayers: self-attention and a feed-forward network. A decoder layer (a *layer* is PyTorch's word for a block) has a third, between these two:

# %%
figures.stations(
    {
        "decoder layer": [
            (["norm1", "causal self-\nattention"], []),
            (["norm2", "cross-\nattention"], []),
            (["norm3", "feed-\nforward"], []),
        ],
    },
    "x",
    inputs={"cross-\nattention": "memory: keys and values"},
)

# %% [markdown]
# What to see: three branches, each with its own norm. In cross-attention, only the queries come from the decoder's residual stream. norm2 does not touch the memory: the encoder's final norm has already normalised it.
#
# The source may be padded, so cross-attention needs the source's padding mask. In this course, True = may attend. In `nn.MultiheadAttention`, True = may *not* attend. The next function, `attend`, inverts the mask for you. (You may also call `nn.MultiheadAttention` directly.)


# %% given attend
def attend(
    attention: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Call `attention` with a mask of this course; return (output, weights).

    query (batch, target, d_model); key, value (batch, source, d_model) -> output (batch, target,
    d_model), weights (batch, heads, target, source).
    mask: bool, (target, source) or (batch, 1 or target, source); True = may attend. Each query must
    have at least one True.
    """
    blocked = None
    if mask is not None:
        allowed = mask.expand(len(query), query.shape[1], key.shape[1])
        blocked = ~allowed.repeat_interleave(attention.num_heads, 0)
    return attention(query, key, value, attn_mask=blocked, average_attn_weights=False)


# %% [markdown]
# **Predict.** Does cross-attention need a causal mask?
#
# <details><summary>Yes: no position may see a later one</summary>Later <em>target</em> tokens must stay hidden. The source is complete before the translation begins.</details>
# <details><summary>No: the source holds no target token</summary>Yes. Every target token may attend to the whole source sentence.</details>
# <details><summary>Only in training</summary>The source is complete in training and afterwards.</details>
#
# **Exercise** (35 minutes). Write the decoder layer, in pre-norm order.
#
# <details><summary>Hint 1</summary>Follow the picture from left to right. What does each branch read, and where does its output go? Only one branch uses the memory: as what?</details>
# <details><summary>Hint 2</summary><code>nn.MultiheadAttention</code> applies dropout to its own weights: pass it <code>dropout</code>. One <code>nn.Dropout</code> can serve after the ReLU and on the three outputs.</details>
# <details><summary>Hint 3</summary>Three lines of the form <code>x = x + dropout(sublayer(norm(x)))</code>. The causal mask: <code>torch.ones(n, n, dtype=torch.bool, device=x.device).tril()</code>, True on and below the diagonal.</details>


# %% exercise DecoderLayer
class DecoderLayer(nn.Module):
    """Causal self-attention, attention to `memory`, and a feed-forward network, each pre-norm.

    Parts: `self_attention`, `cross_attention` (`nn.MultiheadAttention`, batch first), `linear1`
    (d_model to d_ff), `linear2` (d_ff to d_model), with a ReLU between them, and an `nn.LayerNorm`
    for each of the three sublayers: `norm1`, `norm2`, `norm3`.
    Each sublayer reads the norm of x, and its output is added to x. `memory` is not normalised.
    Dropout, at one rate: on the weights of both attentions, after the ReLU, and on the output of
    each sublayer. Never on x or memory.
    forward: x (batch, target, d_model), memory (batch, source, d_model), what the encoder returns;
    memory_mask: None, or bool (batch, 1, source) with at least one True in each row,
    True = may attend -> (batch, target, d_model).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
        # END SOLUTION

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        normed = self.norm1(x)
        x = x + self.dropout(attend(self.self_attention, normed, normed, normed, causal)[0])
        normed = self.norm2(x)
        read = attend(self.cross_attention, normed, memory, memory, memory_mask)[0]
        x = x + self.dropout(read)
        hidden = self.dropout(torch.relu(self.linear1(self.norm3(x))))
        return x + self.dropout(self.linear2(hidden))
        # END SOLUTION


# %% given layer_weights folded=true
# Fixed weights for the checks: click to unfold.
def layer_weights(d_model: int, d_ff: int, seed: int = 0) -> dict[str, Tensor]:
    """Fixed weights for every part of a DecoderLayer, by name, in float64."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in ("self_attention", "cross_attention"):
        shapes[f"{part}.in_proj_weight"] = (3 * d_model, d_model)  # query, key, value in one
        shapes[f"{part}.in_proj_bias"] = (3 * d_model,)
        shapes[f"{part}.out_proj.weight"] = (d_model, d_model)
        shapes[f"{part}.out_proj.bias"] = (d_model,)
    for part, size in (("linear1", (d_ff, d_model)), ("linear2", (d_model, d_ff))):
        shapes[f"{part}.weight"], shapes[f"{part}.bias"] = size, size[:1]
    for part in ("norm1", "norm2", "norm3"):
        shapes[f"{part}.weight"], shapes[f"{part}.bias"] = (d_model,), (d_model,)
    return {
        name: numbers(*shape, seed=20 * seed + i, scale=0.7)
        for i, (name, shape) in enumerate(shapes.items())
    }


def silenced(weights: dict[str, Tensor], *parts: str) -> dict[str, Tensor]:
    """The same weights, but what these parts return is 0."""
    last = tuple(f"{part}{'.out_proj' * ('attention' in part)}." for part in parts)
    return {n: torch.zeros_like(w) if n.startswith(last) else w for n, w in weights.items()}


def torch_layer(
    weights: dict[str, Tensor], num_heads: int, dtype: torch.dtype = torch.float64
) -> nn.TransformerDecoderLayer:
    """PyTorch's decoder layer with these weights."""
    d_ff, d_model = weights["linear1.weight"].shape
    layer = nn.TransformerDecoderLayer(
        d_model, num_heads, d_ff, 0.0, batch_first=True, norm_first=True, dtype=dtype
    )
    names = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    renamed = {}
    for name, weight in weights.items():
        part, rest = name.split(".", 1)
        renamed[f"{names.get(part, part)}.{rest}"] = weight
    layer.load_state_dict(renamed)
    return layer


# %% check DecoderLayer points=3
hint = "three lines of the form x = x + sublayer(norm(x)): self-attention, cross-attention, network"
with Check("DecoderLayer", "one sublayer at a time", hint) as check:
    # batch 2, target 5, source 4, d_model 6, 3 heads, d_ff 7
    x, memory, weights = (
        numbers(2, 5, 6, scale=2.0),
        numbers(2, 4, 6, seed=1, scale=3.0),
        layer_weights(6, 7),
    )
    three = ("self_attention", "cross_attention", "linear2")
    layer = check.build(6, 3, 7).double()
    results, expected = [], []
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)  # here, for PyTorch, True = blocked
    for on in ((), three[:1], three[1:2], three[2:], three):
        some = silenced(weights, *(part for part in three if part not in on))
        layer.load(some)
        results.append(layer.call(x, memory))
        expected.append(torch_layer(some, 3)(x, memory, causal).detach())
    start = layer.call(x[:, :3], memory)
    check.shape(results[4], batch=2, target=5, d_model=6)
    check.equal(
        results[0],
        x,
        "with all three sublayers switched off, x passes unchanged: no norm is on the residual stream",
    )
    check.equal(
        start,
        results[4][:, :3],
        "the first three tokens give the same without the two after them: no token sees a later one",
        hint="self-attention needs a causal mask: True on the diagonal and below it",
    )
    check.equal(
        results[1],
        expected[1],
        "with self-attention alone: x + self-attention of norm1(x), with a causal mask",
        hint="queries, keys and values are all norm1(x); token 0 may attend to itself",
    )
    check.equal(
        results[2],
        expected[2],
        "with cross-attention alone: x + what norm2(x) reads in memory",
        hint="queries from the decoder, keys and values from memory, which is not normalised",
    )
    check.equal(
        results[3],
        expected[3],
        "with the network alone: x + linear2(relu(linear1(norm3(x))))",
    )
    check.equal(
        results[4],
        expected[4],
        "each sublayer works on x after the one before it has been added, in this order: "
        "self-attention, cross-attention, network",
    )
with Check("DecoderLayer", "a batch, and what can be learned", hint) as check:
    layer, x, memory = check.build(6, 3, 7).double(), numbers(2, 5, 6), numbers(2, 4, 6, seed=1)
    check.equal(
        len(layer.parameters()),
        18,
        "training can change 18 tensors: four of each attention, two of each linear layer and norm",
        hint="make the parts as PyTorch makes them, and leave requires_grad as it is",
    )
    layer.load(layer_weights(6, 7))
    both, one = layer.call(x, memory), layer.call(x[1:], memory[1:])
    evaluated = layer.eval().call(x, memory)
    check.equal(one[0], both[1], "a sequence gives the same alone as in a batch")
    check.equal(
        evaluated,
        both,
        "without dropout, evaluation gives the same as training",
        hint="the causal mask is needed in both modes",
    )
    for told, result in (
        ("", layer.train().call(x, memory)),
        (", in evaluation", layer.eval().call(x, memory)),
    ):
        slopes = layer.gradients(result.square())
        check.true(
            all(bool((slope != 0).any()) for slope in slopes.values()),
            f"a gradient reaches every parameter{told}",
            hint="leave out no_grad, detach and new tensors on the way",
        )
    memory.requires_grad_()
    check.true(
        bool((check.gradient(layer.call(x, memory).square(), memory) != 0).any()),
        "a gradient reaches memory: so the encoder learns from the decoder's loss",
        hint="leave memory as it comes: no detach",
    )
# BEGIN HIDDEN TESTS
with Check("DecoderLayer", "equal to PyTorch's layer") as check:
    for width, many_heads, inner, length, source, seed in (
        (12, 3, 7, 5, 8, 1),
        (6, 1, 11, 1, 3, 2),
        (4, 4, 3, 90, 1, 3),
        (10, 2, 4, 3, 6, 4),
    ):
        for dtype, scale in ((torch.float64, 1.0), (torch.float64, 6.0), (torch.float32, 1.0)):
            weights = {n: w.to(dtype) for n, w in layer_weights(width, inner, seed).items()}
            theirs = torch_layer(weights, many_heads, dtype)
            layer = check.build(width, many_heads, inner)
            layer = layer.double() if dtype == torch.float64 else layer
            layer.load(weights)
            layer = layer.eval() if seed % 2 else layer.train()
            batch = 1 + seed % 2
            x = numbers(batch, width, length, seed=seed, scale=scale, dtype=dtype).mT
            memory = numbers(batch, source, width, seed=seed + 9, scale=2 * scale, dtype=dtype)
            blocked = torch.ones(length, length, dtype=torch.bool).triu(1)
            result = layer.call(x, memory)
            check.equal(result.detach(), theirs(x, memory, blocked).detach(), "PyTorch's layer")
            result = layer.call(x, memory, memory_mask=None)
            check.equal(result.detach(), theirs(x, memory, blocked).detach(), "PyTorch's layer")
with Check("DecoderLayer", "gradients equal to those of PyTorch's layer") as check:
    weights, blocked = layer_weights(8, 5, 4), torch.ones(4, 4, dtype=torch.bool).triu(1)
    theirs, layer = torch_layer(weights, 2), check.build(8, 2, 5).double()
    layer.load(weights)
    x = numbers(3, 4, 8, seed=5).requires_grad_()
    memory = numbers(3, 6, 8, seed=6).requires_grad_()
    wanted, result = theirs(x, memory, blocked), layer.call(x, memory)
    for source in (x, memory):
        slope = check.gradient(result.square(), source)
        check.equal(slope, check.gradient(wanted.square(), source), "by the inputs")
    slopes = layer.gradients(result.square())
    for name, weight in theirs.named_parameters():
        own = name.replace("self_attn", "self_attention").replace(
            "multihead_attn", "cross_attention"
        )
        check.equal(slopes[own], check.gradient(wanted.square(), weight), f"by {own}")
with Check("DecoderLayer", "two layers do not share their weights") as check:
    one, two = check.build(4, 2, 3).double(), check.build(4, 2, 3).double()
    one.load(layer_weights(4, 3, 5))
    kept = one.state()
    two.load(layer_weights(4, 3, 6))
    for name, weight in one.state().items():
        check.equal(weight, kept[name], f"{name} of the other layer")
# END HIDDEN TESTS


# %% check DecoderLayer_mask points=2
hint = "memory_mask goes into cross-attention, and nowhere else: attend(…, memory, memory, memory_mask)"
with Check("DecoderLayer", "a memory with padding", hint) as check:
    layer, x, memory = check.build(6, 3, 7).double(), numbers(3, 5, 6), numbers(3, 4, 6, seed=1)
    layer.load(layer_weights(6, 7))
    mask = torch.tensor([[[True, True, False, False]], [[True] * 4], [[False, True, True, False]]])
    free, padded = layer.call(x, memory), layer.call(x, memory, mask)
    short, middle = layer.call(x[:1], memory[:1, :2]), layer.call(x[2:], memory[2:, 1:3])
    evaluated = layer.eval().call(x, memory, mask)
    layer.train()
    changed = layer.call(x, torch.where(mask.mT, memory, 9.0), mask)
    every = layer.call(x, memory, torch.ones(3, 1, 4, dtype=torch.bool))
    start = layer.call(x[:, :3], memory, mask)
    check.equal(
        padded[1],
        free[1],
        "a row of the mask that is all True changes nothing",
        hint="True = may attend: attend wants that too; nn.MultiheadAttention wants the opposite",
    )
    check.equal(padded[0], short[0], "a padded source gives the same as without its padding")
    check.equal(padded[2], middle[0], "padding may come first, too")
    check.equal(evaluated, padded, "evaluation gives the same as training, with a mask too")
    check.equal(changed, padded, "vectors of memory that are masked have no influence")
    check.equal(every, free, "a mask that is all True gives the same as no mask")
    check.equal(
        start,
        padded[:, :3],
        "with a mask, too, no token sees a later one",
        hint="the causal mask is for self-attention, memory_mask for cross-attention: both at once",
    )
# BEGIN HIDDEN TESTS
with Check("DecoderLayer", "other sizes and masks") as check:
    for length, source, seed in ((3, 7, 1), (6, 6, 2), (1, 3, 3), (4, 1, 4)):
        for mode in ("train", "eval"):
            layer = check.build(8, 4, 3).double()
            layer.load(layer_weights(8, 3, seed))
            layer = layer.eval() if mode == "eval" else layer.train()
            x, memory = numbers(4, length, 8, seed=seed), numbers(4, source, 8, seed=seed + 9)
            mask = numbers(4, 1, source, seed=seed + 5) > 0
            mask[:, :, seed % source] = True
            padded = layer.call(x, memory, memory_mask=mask)
            check.shape(padded, batch=4, target=length, d_model=8)
            for row in range(4):
                kept = memory[row : row + 1, mask[row, 0]]
                check.equal(padded[row], layer.call(x[row : row + 1], kept)[0], "without padding")
with Check("DecoderLayer", "no gradient reaches what is masked") as check:
    layer = check.build(6, 2, 5).double()
    layer.load(layer_weights(6, 5, 7))
    memory = numbers(2, 4, 6, seed=3).requires_grad_()
    mask = torch.tensor([[[True, False, True, True]], [[True, True, False, False]]])
    slope = check.gradient(layer.call(numbers(2, 3, 6, seed=4), memory, mask).square(), memory)
    seen = (slope != 0).any(-1)
    check.equal(seen, mask[:, 0], "a gradient reaches exactly what may be attended to")
# END HIDDEN TESTS


# %% check DecoderLayer_dropout points=2
with Check("DecoderLayer", "dropout of 1, which drops everything") as check:
    layer, without = check.build(6, 3, 7, 1.0).double(), check.build(6, 3, 7).double()
    x, memory = numbers(2, 5, 6), numbers(2, 4, 6, seed=1)
    layer.load(layer_weights(6, 7))
    without.load(layer_weights(6, 7))
    dropped, evaluated = layer.train().call(x, memory), layer.eval().call(x, memory)
    alone = []
    for on in ("self_attention", "cross_attention", "linear2"):
        others = {"self_attention", "cross_attention", "linear2"} - {on}
        layer.load(silenced(layer_weights(6, 7), *others))
        alone.append(layer.train().call(x, memory))
    told = (
        "the output of self-attention",
        "the output of cross-attention",
        "the output of linear2",
    )
    for result, output in zip(alone, told, strict=True):
        check.equal(
            result,
            x,
            f"in training, {output} is dropped before it is added to x",
            hint="dropout is on the output of each sublayer, never on x itself",
        )
    check.equal(
        dropped,
        x,
        "in training, with everything dropped that the sublayers return, x passes unchanged",
        hint="dropout is on the output of each sublayer, never on x itself",
    )
    check.equal(
        evaluated,
        without.train().call(x, memory),
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("DecoderLayer", "a new dropout mask for each feature and each position") as check:
    layer = check.build(40, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in layer_weights(40, 3).items()}
    tokens, memory = torch.zeros(4, 6, 40).double(), torch.zeros(4, 5, 40).double()
    # the sublayers return 1, 10 and 100; each is dropped or doubled
    biases = ("self_attention.out_proj.bias", "cross_attention.out_proj.bias", "linear2.bias")
    layer.load(silent | {bias: torch.full((40,), 10.0**i) for i, bias in enumerate(biases)})
    result, again = layer.call(tokens, memory), layer.call(tokens, memory)
    check.true(
        len(result.flatten(0, 1).unique(dim=0)) == 24,
        "each token of each sequence drops its own features",
        hint="pass the whole output of a sublayer to one nn.Dropout: it draws for each element",
    )
    check.true(
        {round(value, 6) for value in result.unique().tolist()}
        == {0.0, 2.0, 20.0, 22.0, 200.0, 202.0, 220.0, 222.0},
        "with p = 0.5, outputs of 1, 10 and 100 are each dropped or doubled, independently",
        hint="call dropout once on the output of each sublayer, before it is added",
    )
    check.true(
        not torch.equal(result, again),
        "a second call drops other features",
        hint="every call draws a new mask: leave torch's random generator as it is",
    )
with Check("DecoderLayer", "dropout after the ReLU") as check:
    layer = check.build(4, 2, 6, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in layer_weights(4, 6).items()}
    # four hidden features copy norm3(x), which is 1; each output copies one of them
    ones = {"norm3.bias": torch.ones(4), "linear1.weight": torch.eye(6, 4)}
    layer.load(silent | ones | {"linear2.weight": torch.eye(4, 6)})
    result = layer.call(torch.zeros(30, 7, 4).double(), torch.zeros(30, 5, 4).double())
    check.true(
        all(min(abs(value), abs(value - 4)) < 1e-9 for value in result.unique().tolist()),
        "with p = 0.5, a hidden feature of 1 is doubled after the ReLU and doubled again after "
        "linear2, or dropped: only 0 and 4 come out",
        hint="use dropout once after the ReLU, and once more after linear2; never after a norm",
    )
    check.true(
        bool((result != 0).any()),
        "with p = 0.5 some features are kept",
        hint="pass `dropout` on as the share that is dropped",
    )
with Check("DecoderLayer", "dropout on the attention weights") as check:
    layer = check.build(4, 2, 6, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in layer_weights(4, 6).items()}
    x, memory = torch.zeros(90, 3, 4).double(), torch.zeros(90, 3, 4).double()
    results = []
    for part in ("self_attention", "cross_attention"):
        # a token attends to three others equally: each weight is 1/3, and all values are 1
        ones = {
            f"{part}.in_proj_bias": torch.tensor([0.0] * 8 + [1.0] * 4),
            f"{part}.out_proj.weight": torch.eye(4),
        }
        layer.load(silent | ones)
        results.append(layer.call(x, memory)[:, 2])
    for part, result in zip(("self-attention", "cross-attention"), results, strict=True):
        thirds = (result * 3 / 4).unique()
        check.true(
            bool(((thirds - thirds.round()).abs() < 1e-9).all()),
            f"{part} with p = 0.5: each of three weights of 1/3 is dropped or doubled, and the "
            "output is dropped or doubled again: 0, 4/3, 8/3 or 4 comes out",
            hint="nn.MultiheadAttention drops weights by itself: pass `dropout` to it, and use "
            "dropout once more on its output",
        )
        check.true(
            any(0.5 < third < 2.5 for third in thirds.tolist()),
            f"{part} with p = 0.5: sometimes one or two of three weights are kept",
            hint="nn.MultiheadAttention drops weights by itself: pass `dropout` to it",
        )
with Check("DecoderLayer", "no dropout on what a sublayer reads") as check:
    layer = check.build(4, 2, 6, 0.5).double().train()
    weights = layer_weights(4, 6)
    x, memory = numbers(1, 2, 4).expand(200, 2, 4), numbers(1, 2, 4, seed=1).expand(200, 2, 4)
    outcomes = []
    for part in ("self_attention", "cross_attention"):
        others = {"self_attention", "cross_attention", "linear2"} - {part}
        one_head_each = {f"{part}.out_proj.weight": torch.eye(4).double()}
        one_head_each[f"{part}.out_proj.bias"] = torch.zeros(4).double()
        layer.load(silenced(weights | one_head_each, *others))
        brought = (layer.call(x, memory) - x).detach()[:, 1]  # by the second token
        outcomes.append(max(len(feature.round(decimals=6).unique()) for feature in brought.T))
    for part, count in zip(("self-attention", "cross-attention"), outcomes, strict=True):
        check.true(
            count <= 4,
            f"{part} over two tokens: each of two weights is dropped or kept, and then a feature of "
            "the output, so it takes four values at most; what is read is not dropped",
            hint="in each attention, drop the weights and the output: not x, its norm or memory",
        )
# BEGIN HIDDEN TESTS
with Check("DecoderLayer", "another rate") as check:
    layer = check.build(5, 1, 8, 0.75).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in layer_weights(5, 8).items()}
    pick = torch.zeros(5, 8)
    pick[0, 0] = 1.0
    network_on = {"norm3.bias": torch.ones(5), "linear1.weight": pick.T, "linear2.weight": pick}
    layer.load(silent | network_on)
    result = layer.call(torch.zeros(60, 7, 5).double(), torch.zeros(60, 3, 5).double())
    kept = (result[..., 0] - 16).abs() < 1e-9
    check.true(bool((kept | (result[..., 0].abs() < 1e-9)).all()), "0 or 16")
    check.true(bool(kept.any() and not kept.all()), "sometimes, not always")
    check.true(bool((kept != kept[:1]).any() and (kept != kept[:, :1]).any()), "each its own")
with Check("DecoderLayer", "each output is dropped feature by feature, anew in each call") as check:
    layer = check.build(40, 2, 3, 0.5).double().train()
    silent = {name: torch.zeros_like(weight) for name, weight in layer_weights(40, 3).items()}
    x, memory = numbers(1, 1, 40).expand(4, 6, 40), torch.zeros(4, 5, 40).double()
    for part in ("self_attention.out_proj.bias", "cross_attention.out_proj.bias", "linear2.bias"):
        layer.load(silent | {part: torch.ones(40)})
        result, again = layer.call(x, memory), layer.call(x, memory)
        check.true(len(result.flatten(0, 1).unique(dim=0)) == 24, "equal tokens differ")
        check.true(not torch.equal(result, again), "two calls differ")
        check.true(
            bool(((result - x).abs() < 1e-9).logical_or((result - x - 2).abs() < 1e-9).all()),
            "dropped or doubled",
        )
    check.equal(layer.eval().call(x, memory)[1, 2], layer.call(x, memory)[0, 0], "evaluation")
with Check("DecoderLayer", "a hidden feature is dropped for all that read it") as check:
    layer = check.build(40, 2, 3, 0.5).double().train()
    read = {name: torch.zeros_like(weight) for name, weight in layer_weights(40, 3).items()}
    read |= {"linear1.bias": torch.ones(3), "linear2.weight": torch.eye(1, 3).expand(40, 3)}
    layer.load(read)
    result = layer.call(torch.zeros(20, 4, 40).double(), torch.zeros(20, 2, 40).double())
    silent = (result.abs() < 1e-9).all(-1)
    check.true(bool(silent.any() and not silent.all()), "sometimes, not always")
    check.true(bool((silent != silent[:1]).any()), "each sequence drops its own")
    check.true(bool((silent != silent[:, :1]).any()), "each token drops its own")
# END HIDDEN TESTS


# %% [markdown]
# ## 3 · The target, shifted
#
# Training uses teacher forcing (lesson 2): the decoder reads the known translation, shifted by one position, whatever it would have written itself. The RNN of lesson 10 did so too, but one step at a time. Here no position waits for another: each layer computes all of them at once.

# %%
print("the decoder reads ", *(f"{word:8}" for word in ["<begin>", *shown.french]))
print("and should predict", *(f"{word:8}" for word in [*shown.french, "<end>"]))

# %% [markdown]
# Each output should predict the word below it. The causal mask makes this a fair task: at `<begin>` no French word is visible, only the English sentence.
#
# **From the lecture**: in the figure of the whole model in *Introduction to Transformers*, CS60216, the decoder's input is called “Outputs (shifted right)”.
#
# **Exercise** (8 minutes). Shift the target right: `begin` comes first, and the last token is dropped.
#
# <details><summary>Hint 1</summary>Put two tensors side by side: a column of begin tokens, and a part of the target.</details>
# <details><summary>Hint 2</summary><code>torch.full_like</code> copies shape, type and device. <code>torch.cat</code> joins along an axis.</details>


# %% exercise shift_right
def shift_right(target: Tensor, begin: int) -> Tensor:
    """Make what the decoder reads while it learns `target`: `begin`, then all but the last token.

    target: token ids, int64 (batch, length) -> int64 (batch, length).
    """
    # BEGIN SOLUTION
    first = torch.full_like(target[:, :1], begin)
    return torch.cat([first, target[:, :-1]], dim=1)
    # END SOLUTION


# %% check shift_right points=1
hint = "in each row: `begin`, then the tokens without the last one"
with Check("shift_right", "two sentences that you can shift by hand", hint) as check:
    target = torch.tensor([[5, 8, 4, 2], [6, 2, 0, 0]])
    shifted = check.call(target, 7)
    check.shape(shifted, batch=2, length=4)
    check.equal(
        shifted, torch.tensor([[7, 5, 8, 4], [7, 6, 2, 0]]), "7 first, the last one left out"
    )
    check.true(
        shifted.dtype == torch.int64,
        "token ids are integers: torch.int64",
        hint="torch.full_like and new_full keep the dtype; torch.zeros and torch.ones make floats",
    )
with Check("shift_right", "other sizes, and another `begin`", hint) as check:
    first = check.call(torch.tensor([[3, 9, 2], [4, 3, 2], [8, 2, 1], [5, 7, 2], [9, 9, 9]]), 1)
    single = check.call(torch.tensor([[6], [4]]), 3)
    check.equal(
        first,
        torch.tensor([[1, 3, 9], [1, 4, 3], [1, 8, 2], [1, 5, 7], [1, 9, 9]]),
        "five rows begin with 1",
    )
    check.equal(single, torch.tensor([[3], [3]]), "of rows with one token, only `begin` is left")
# BEGIN HIDDEN TESTS
with Check("shift_right", "more sizes") as check:
    for batch, length, begin in ((1, 1, 0), (1, 6, 2), (4, 1, 5), (3, 7, 0), (6, 2, 11)):
        target = torch.arange(batch * length).reshape(length, batch).T + 1
        shifted = check.call(target, begin)
        check.shape(shifted, batch=batch, length=length)
        check.true(bool((shifted[:, 0] == begin).all()), "each row begins with `begin`")
        check.equal(shifted[:, 1:], target[:, :-1], "then all but the last")
        check.true(shifted.dtype == torch.int64, "token ids are integers")
# END HIDDEN TESTS


# %% [markdown]
# Here each word is one token, with an integer as its id. Both vocabularies have three special tokens: `<pad>`, `<begin>` and `<end>`. Elsewhere they are called PAD, **BOS** (beginning of sequence) and **EOS** (end of sequence). Real systems split rare words into **subwords**, so that a small vocabulary covers every word.

# %%
PADDING, BEGIN, END = 0, 1, 2
SPECIAL = ["<pad>", "<begin>", "<end>"]
HELPERS = {"is", "are", "doesn't", "don't", "isn't", "aren't"}
ENGLISH = SPECIAL + sorted({*DICTIONARY, *HELPERS})
FRENCH_FORMS = [*(entry[2:] for entry in DETERMINERS), *(entry[2:4] for entry in NOUNS)]
FRENCH_FORMS += [
    *(entry[3:] for entry in VERBS),
    *(entry[1:] for entry in BEFORE_NOUN + AFTER_NOUN),
]
FRENCH = SPECIAL + sorted({word for forms in FRENCH_FORMS for word in forms} | {"ne", "pas"})
ENGLISH_IDS = {word: i for i, word in enumerate(ENGLISH)}
FRENCH_IDS = {word: i for i, word in enumerate(FRENCH)}


def pad_rows(rows: list[list[int]]) -> Tensor:
    """Rows of different lengths as one tensor, filled up with PADDING."""
    tensors = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PADDING)


def as_tensors(pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Source (batch, source), target with END (batch, target), source mask (batch, 1, source)."""
    source = pad_rows([[ENGLISH_IDS[word] for word in pair.english] for pair in pairs])
    target = pad_rows([[FRENCH_IDS[word] for word in pair.french] + [END] for pair in pairs])
    return source, target, (source != PADDING)[:, None]


two = [min(test_pairs, key=lambda pair: len(pair.french)), shown]
some_source, some_target, some_source_mask = as_tensors(two)
print(f"{len(ENGLISH)} English and {len(FRENCH)} French tokens")
for row in shift_right(some_target, BEGIN).tolist():
    print(*(FRENCH[token] for token in row))

# %% [markdown]
# The decoder has two masks. Here they are for the shorter sentence: a row for each position of the decoder.

# %%
some_length = some_target.shape[1]
allowed_keys = torch.ones(some_length, some_length, dtype=torch.bool).tril()
reads = ["<begin>", *(FRENCH[token] for token in some_target[0, :-1].tolist())]
figures.masks(
    {
        "self-attention": (allowed_keys, "target position", reads),
        "cross-attention": (
            some_source_mask[0].expand(some_length, -1),
            "source position",
            [ENGLISH[token] for token in some_source[0].tolist()],
        ),
    },
    "target position",
    reads,
)

# %% [markdown]
# What to see: padding at the *end* of the target needs no mask of its own, because the causal mask hides it from the real words. The outputs at the padding positions must not count in the loss.
#
# **Predict.** A batch holds a sentence of 4 tokens, with a loss of 1 for each, and one of 12 tokens, with a loss of 2 for each. What is the mean loss over the batch's tokens?
#
# <details><summary>1.5</summary>That is the mean of the two sentence means: there, a token of the short sentence counts three times as much.</details>
# <details><summary>1.75</summary>Yes: (4 · 1 + 12 · 2) / 16. Every token counts the same.</details>
# <details><summary>1.17</summary>(4 · 1 + 12 · 2) / 24 also counts the 8 padding tokens in the divisor.</details>
#
# **Exercise** (10 minutes). Write the loss: the mean cross-entropy over all target tokens that are not padding.
#
# <details><summary>Hint 1</summary><code>F.cross_entropy</code> wants the classes on axis 1. Or flatten batch and length into one axis.</details>
# <details><summary>Hint 2</summary>Look through the arguments of <code>F.cross_entropy</code>: one names a class to leave out.</details>


# %% exercise translation_loss
def translation_loss(logits: Tensor, target: Tensor, padding: int) -> Tensor:
    """Return the mean cross-entropy, in nats, over all tokens of the batch that are not `padding`.

    logits (batch, length, vocab): at each position, for the token of `target` at that position.
    target: token ids, int64 (batch, length). padding: the id of the padding token.
    -> a scalar tensor, ().
    """
    # BEGIN SOLUTION
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=padding)
    # END SOLUTION


# %% check translation_loss points=2
hint = "-log of the probability of each token, averaged over all tokens other than `padding`"
with Check("translation_loss", "an example you can do by hand", hint) as check:
    # the probabilities of the tokens of the first row: 1/2, 1/4, 1/8; of the second: 1/16, then
    # padding, whose id is 3
    chances = torch.tensor(
        [
            [
                [1 / 2, 1 / 8, 1 / 8, 1 / 4],
                [1 / 4, 1 / 4, 1 / 4, 1 / 4],
                [1 / 2, 1 / 8, 1 / 4, 1 / 8],
            ],
            [
                [1 / 16, 1 / 2, 3 / 8, 1 / 16],
                [1 / 4, 1 / 8, 1 / 8, 1 / 2],
                [3 / 8, 1 / 8, 1 / 4, 1 / 4],
            ],
        ],
        dtype=torch.float64,
    )
    target = torch.tensor([[0, 2, 1], [0, 3, 3]])
    # a number that is added to all logits of a position changes no probability
    logits = chances.log() + torch.tensor([[3.0, -1.0, 0.5], [2.0, 1.0, -4.0]])[..., None]
    loss = check.call(logits, target, 3)
    unpadded = check.call(logits[:1, :2], torch.tensor([[1, 0]]), 3)
    check.shape(loss)
    check.equal(
        unpadded,
        torch.tensor(5 * math.log(2) / 2, dtype=torch.float64),
        "tokens of probability 1/8 and 1/4, no padding: (3 log 2 + 2 log 2) / 2",
    )
    check.equal(
        loss,
        torch.tensor(10 * math.log(2) / 4, dtype=torch.float64),
        "tokens of probability 1/2, 1/4, 1/8 and 1/16, and two of padding: 10 log 2 / 4",
    )
with Check("translation_loss", "another padding, and what gets a gradient", hint) as check:
    logits, target = (
        numbers(3, 4, 6, scale=2.0).requires_grad_(),
        torch.tensor([[5, 1, 4, 2], [3, 2, 0, 0], [2, 0, 0, 0]]),
    )
    loss = check.call(logits, target, 0)
    chosen = logits.detach().log_softmax(-1).gather(-1, target[..., None]).squeeze(-1)
    check.equal(
        loss.detach(), -chosen[target != 0].mean(), "seven tokens, and padding with the id 0"
    )
    slope = check.gradient(loss, logits)
    expected = (logits.detach().softmax(-1) - F.one_hot(target, 6)) * (target != 0)[..., None] / 7
    check.equal(
        slope[target == 0],
        torch.zeros(5, 6, dtype=torch.float64),
        "the logits at padding get no gradient",
    )
    check.equal(slope, expected, "the gradient at a token is (softmax - one-hot) / 7")
with Check("translation_loss", "large logits") as check:
    logits, target = torch.zeros(2, 3, 4, dtype=torch.float64), torch.tensor([[0, 1, 2], [2, 1, 1]])
    logits[0, 0, 1] = 2000.0
    check.equal(
        check.call(logits, target, 3).detach(),
        torch.tensor((2000 + 5 * math.log(4)) / 6, dtype=torch.float64),
        "-log p should be 2000 where the probability p is too small for a float, and log 4 elsewhere",
        hint="log_softmax: the log of a softmax is the log of 0 here, and exp of 2000 is too large",
    )
# BEGIN HIDDEN TESTS
with Check("translation_loss", "equal to the formula, at every scale and in both dtypes") as check:
    for batch, length, vocab, padding, scale in (
        (1, 3, 5, 4, 1.0),
        (4, 6, 9, 2, 30.0),
        (3, 1, 2, 0, 1.0),
    ):
        for dtype in (torch.float64, torch.float32):
            logits = numbers(batch, vocab, length, seed=vocab, scale=scale, dtype=dtype).mT
            target = (torch.arange(batch * length) * 7 % vocab).reshape(batch, length)
            target[0, 0] = (padding + 1) % vocab
            chosen = logits.double().log_softmax(-1).gather(-1, target[..., None]).squeeze(-1)
            expected = -chosen[target != padding].mean().to(dtype)
            check.equal(check.call(logits, target, padding).detach(), expected, "the formula")
with Check("translation_loss", "no padding at all") as check:
    logits, target = torch.zeros(2, 3, 4, dtype=torch.float64), torch.tensor([[0, 1, 2], [2, 1, 1]])
    expected = torch.tensor(math.log(4), dtype=torch.float64)
    check.equal(
        check.call(logits, target, -100).detach(),
        expected,
        "an id that does not occur in the batch",
    )
# END HIDDEN TESTS


# %% [markdown]
# ## 4 · The whole model
#
# Now you can build the whole picture of part 1. The encoder is PyTorch's, which your encoder of lesson 7 matches. The decoder is a list of your layers. They are pre-norm, so a final norm follows them.
#
# **Predict.** Which vectors does decoder layer $i$ read by cross-attention?
#
# <details><summary>The output of encoder layer i</summary>A natural idea, but not this architecture: the picture has one arrow.</details>
# <details><summary>Only the first layer reads the encoder's output, and passes it on</summary>Every layer reads it. A layer passes on only its residual stream.</details>
# <details><summary>The output of the whole encoder, whatever i is</summary>Yes, after the encoder's final norm.</details>
#
# **Exercise** (35 minutes). Put the model together.
#
# <details><summary>Hint 1</summary>Follow the picture of part 1. (It leaves out the residual connections, the norms and the output layer.) Which parts does each side pass through? Which attentions have source tokens as keys, and so need the source mask?</details>
# <details><summary>Hint 2</summary>Both sides add their token embedding and <code>positions.weight[:length]</code>, then dropout. Both start at position 0.</details>
# <details><summary>Hint 3</summary>PyTorch's encoder: <code>nn.TransformerEncoder(nn.TransformerEncoderLayer(…, batch_first=True, norm_first=True), num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False)</code>. Its mask <code>src_key_padding_mask</code> means True = may <em>not</em> attend.</details>


# %% exercise Transformer
class Transformer(nn.Module):
    """An encoder that reads the source, and a decoder that predicts the target from it.

    Parts: `source_tokens`, `target_tokens`, `positions` (`nn.Embedding`; one table of max_length
    positions for both sides, from 0), `encoder` (an `nn.TransformerEncoder`, pre-norm, ReLU, with a
    final norm), `layers` (an `nn.ModuleList` of your `DecoderLayer`), `norm` (after them, an
    `nn.LayerNorm`), `output` (an `nn.Linear`, with its own weight). num_layers on each side.
    Token and position embeddings are added as they are, without a factor of √d_model. Dropout on
    both sums, and in all layers.
    forward: source (batch, source), shifted (batch, target), token ids (`shifted` is shifted already);
    source_mask: None, or bool (batch, 1, source) with at least one True in each row,
    True = may attend -> logits (batch, target, target_vocab).
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.source_tokens = nn.Embedding(source_vocab, d_model)
        self.target_tokens = nn.Embedding(target_vocab, d_model)
        self.positions, self.dropout = nn.Embedding(max_length, d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=True
        )
        final_norm = nn.LayerNorm(d_model)
        self.encoder = nn.TransformerEncoder(
            layer, num_layers, final_norm, enable_nested_tensor=False
        )
        own = (DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.layers, self.norm = nn.ModuleList(own), nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_vocab)
        # END SOLUTION

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        padding = None if source_mask is None else ~source_mask[:, 0]
        x = self.source_tokens(source) + self.positions.weight[: source.shape[1]]
        memory = self.encoder(self.dropout(x), src_key_padding_mask=padding)
        x = self.target_tokens(shifted) + self.positions.weight[: shifted.shape[1]]
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, memory, source_mask)
        return self.output(self.norm(x))
        # END SOLUTION


# %% given model_weights folded=true
# Fixed weights for the next checks, and an encoder of PyTorch's: click to unfold.
Sizes = tuple[int, int, int, int, int, int, int]  # what Transformer is built with, in this order


def torch_encoder(sizes: Sizes, weights: dict[str, Tensor] | None = None) -> nn.TransformerEncoder:
    """PyTorch's encoder for a Transformer of these sizes, with these weights of it, in evaluation."""
    _, _, d_model, num_heads, num_layers, d_ff, _ = sizes
    block = nn.TransformerEncoderLayer(
        d_model, num_heads, d_ff, 0.0, batch_first=True, norm_first=True
    )
    norm = nn.LayerNorm(d_model)
    encoder = nn.TransformerEncoder(block, num_layers, norm, enable_nested_tensor=False)
    if weights is not None:
        mine = {n.removeprefix("encoder."): w for n, w in weights.items() if "encoder." in n}
        encoder.to(weights["norm.weight"].dtype).load_state_dict(mine)
    return encoder


def model_weights(sizes: Sizes, layer: dict[str, Tensor], seed: int = 0) -> dict[str, Tensor]:
    """Fixed weights for every part of a Transformer whose layers have parameters like `layer`."""
    source_vocab, target_vocab, d_model, _, num_layers, _, max_length = sizes
    shapes: dict[str, tuple[int, ...]] = {
        "source_tokens.weight": (source_vocab, d_model),
        "target_tokens.weight": (target_vocab, d_model),
        "positions.weight": (max_length, d_model),
        "norm.weight": (d_model,),
        "norm.bias": (d_model,),
        "output.weight": (target_vocab, d_model),
        "output.bias": (target_vocab,),
    }
    encoder = torch_encoder(sizes).state_dict()
    shapes |= {f"encoder.{name}": tuple(weight.shape) for name, weight in encoder.items()}
    for i in range(num_layers):
        shapes |= {f"layers.{i}.{name}": tuple(weight.shape) for name, weight in layer.items()}
    return {
        name: numbers(*shape, seed=300 * seed + i, scale=0.7)
        for i, (name, shape) in enumerate(shapes.items())
    }


def own_weights(weights: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    """The weights of one decoder layer, by their names inside the layer."""
    start = f"layers.{number}."
    return {n.removeprefix(start): w for n, w in weights.items() if n.startswith(start)}


def layer_by_layer(
    sizes: Sizes,
    weights: dict[str, Tensor],
    layer: Module,
    source: Tensor,
    shifted: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """The logits of a Transformer with these weights: PyTorch's encoder, then your layer."""
    blocked = None if mask is None else ~mask[:, 0]
    positions = weights["positions.weight"]
    read = weights["source_tokens.weight"][source] + positions[: source.shape[1]]
    memory = torch_encoder(sizes, weights)(read, src_key_padding_mask=blocked).detach()
    x = weights["target_tokens.weight"][shifted] + positions[: shifted.shape[1]]
    for i in range(sizes[4]):
        layer.load(own_weights(weights, i))
        x = layer.call(x, memory, mask).detach()
    x = F.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"])
    return F.linear(x, weights["output.weight"], weights["output.bias"])


def without_sublayers(weights: dict[str, Tensor], *on: str) -> dict[str, Tensor]:
    """The same weights, but in both stacks every sublayer returns 0, except for these parts."""
    changed = {}
    for name, weight in weights.items():
        is_inside = name.startswith(("encoder.layers.", "layers.")) and "norm" not in name
        is_on = any(name.startswith(part) for part in on)
        changed[name] = torch.zeros_like(weight) if is_inside and not is_on else weight
    return changed


def silent_model(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights with which no sublayer adds anything, and the logits are norm(embedding sum), here 0."""
    silent = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    silent |= {n: torch.ones_like(w) for n, w in weights.items() if "norm" in n and "weight" in n}
    return silent | {"output.weight": torch.eye(*weights["output.weight"].shape).double()}


def distinct(results: Tensor) -> int:
    """How many of the rows, (batch, 1, d_model), differ by more than rounding."""
    return len(results.detach().flatten(0, 1).round(decimals=6).unique(dim=0))


# %% check Transformer points=3
# It compares your Transformer with your own DecoderLayer, called layer by layer. So a mistake in the
# layer costs no points here, as long as it runs and its parts have the right names.
hint = (
    "embed both sides, encode the source, then your layers, each with memory and mask; norm, output"
)
with Check("Transformer", "its parts", hint) as check:
    sizes = (7, 8, 6, 3, 4, 5, 9)
    own = check.other("DecoderLayer").build(6, 3, 5, 0.0).parameters()
    one = sum(weight.numel() for weight in own.values())
    model = check.build(*sizes)
    parts = {name: weight.numel() for name, weight in model.parameters().items()}
    inside = sum(size for name, size in parts.items() if name.startswith("layers."))
    read = sum(size for name, size in parts.items() if name.startswith("encoder."))
    wanted = sum(weight.numel() for weight in torch_encoder(sizes).state_dict().values())
    check.true(
        inside > 0,
        "PyTorch finds parameters in `layers`",
        hint="a plain list hides its layers from PyTorch: keep them in an nn.ModuleList, `layers`",
    )
    check.equal(
        inside,
        4 * one,
        "four decoder layers have four times as many parameters as one",
        hint="each layer needs its own parameters: make a new DecoderLayer for each of num_layers"
        if inside == one
        else f"your `layers` have the parameters of {inside // one}: make num_layers of them"
        if inside % one == 0
        else "`layers` holds DecoderLayers alone, each with this d_model, num_heads and d_ff",
    )
    check.equal(
        read,
        wanted,
        "`encoder` has four layers and a final norm",
        hint="nn.TransformerEncoder(layer, num_layers, norm): pre-norm needs the final norm",
    )
    model.load({name: weight.float() for name, weight in model_weights(sizes, own).items()})
with Check("Transformer", "one part at a time", hint) as check:
    sizes = (7, 8, 6, 3, 4, 5, 9)
    layer = check.other("DecoderLayer").build(6, 3, 5, 0.0).double().train()
    source = torch.tensor([[3, 1, 6, 2, 0], [4, 4, 5, 2, 6]])
    shifted = torch.tensor([[1, 7, 3], [1, 0, 5]])
    padding = torch.tensor([[[True, True, True, False, False]], [[True] * 4 + [False]]])
    model, results, expected = check.build(*sizes).double().train(), [], []
    weights = model_weights(sizes, layer.parameters())
    for on in ((), ("layers",), ("layers", "encoder")):
        model.load(some := without_sublayers(weights, *on))
        results.append(model.call(source, shifted))
        expected.append(layer_by_layer(sizes, some, layer, source, shifted))
    masked = model.call(source, shifted, padding)
    masked_expected = layer_by_layer(sizes, weights, layer, source, shifted, padding)
    evaluated = model.eval().call(source, shifted, padding)
    layer.eval()
    check.shape(results[0], batch=2, target=3, target_vocab=8)
    check.equal(
        results[0],
        expected[0],
        "with all layers silent, the logits are output(norm(target token + position))",
        hint="add the two embeddings as they are; the norm is between the last layer and `output`",
    )
    check.equal(
        results[1],
        expected[1],
        "with the encoder's layers silent: your decoder layers in turn, all reading the final norm "
        "of source token + position",
        hint="each layer gets x and memory: layer(x, memory, source_mask)",
    )
    check.equal(
        results[2],
        expected[2],
        "all layers, no mask: PyTorch's encoder with your weights, then your layers, norm, output",
        hint="nn.TransformerEncoderLayer with batch_first=True and norm_first=True, and the dropout "
        "that you get: its default is 0.1",
    )
    check.equal(
        masked,
        masked_expected,
        "all layers, with a mask in the encoder and in every decoder layer",
        hint="both stacks need the mask. nn.TransformerEncoder's src_key_padding_mask is (batch, "
        "source), and True means padding",
    )
    check.equal(
        evaluated,
        layer_by_layer(sizes, weights, layer, source, shifted, padding),
        "the same in evaluation",
        hint="pass dropout to nn.TransformerEncoderLayer as well: its default is 0.1",
    )
with Check("Transformer", "what can be learned", hint) as check:
    sizes = (7, 8, 6, 3, 2, 5, 5)
    layer = check.other("DecoderLayer").build(6, 3, 5, 0.0).double()
    own = layer.parameters()
    model, other = check.build(*sizes).double(), check.build(*sizes).double()
    model.load(model_weights(sizes, own))
    kept = model.state()
    other.load(model_weights(sizes, own, seed=1))
    source = torch.tensor([[0, 1, 2, 3, 4], [5, 6, 0, 1, 2]])
    shifted = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]])
    check.equal(
        model.state()["output.weight"],
        kept["output.weight"],
        "a second model does not share its weights with the first",
        hint="make new parts in each __init__",
    )
    for told in ("", ", in evaluation"):
        logits = (model.eval() if told else model.train()).call(source, shifted)
        layer = layer.eval() if told else layer.train()
        layer.load(own_weights(model_weights(sizes, own), 0))
        memory = numbers(2, 5, 6, seed=1).requires_grad_()
        alone = layer.call(numbers(2, 4, 6).requires_grad_(), memory)
        # what your layer alone passes on: it learns by these parameters, and memory by its output
        passed = {name for name, slope in layer.gradients(alone.square()).items() if slope.any()}
        reads = bool(check.gradient(alone.square(), memory).any())
        for name, slope in model.gradients(logits.square()).items():
            part, _, inside = name.partition(".")
            if part == "layers" and inside.partition(".")[2] not in passed:
                continue
            if part in ("encoder", "source_tokens") and not reads:
                continue
            check.true(
                bool((slope != 0).any()),
                f"a gradient reaches {name}{told}",
                hint="leave out no_grad, detach and new tensors on the way",
            )
            if part in ("source_tokens", "target_tokens"):
                check.true(
                    bool((slope != 0).any(-1).all()),
                    f"every row of {name} that was read gets a gradient{told}",
                    hint="every id is a token here, 0 too: make the table without padding_idx",
                )
# BEGIN HIDDEN TESTS
with Check("Transformer", "other sizes, masks and dtypes") as check:
    for sizes, source_length, target_length in (
        ((5, 9, 8, 2, 1, 3, 6), 6, 4),
        ((9, 4, 12, 3, 2, 7, 11), 2, 11),
        ((4, 6, 4, 4, 3, 9, 7), 3, 1),
        ((6, 6, 10, 1, 5, 4, 8), 8, 8),
    ):
        source_vocab, target_vocab, width, many_heads, depth, inner, _ = sizes
        for dtype, within in ((torch.float64, None), (torch.float32, 1e-3)):
            layer = check.other("DecoderLayer").build(width, many_heads, inner, 0.0)
            model = check.build(*sizes)
            if dtype == torch.float64:
                layer, model = layer.double(), model.double()
            weights = model_weights(sizes, layer.parameters(), seed=depth)
            weights = {name: 0.8 * weight.to(dtype) for name, weight in weights.items()}
            model.load(weights)
            model, layer = (m.eval() if depth % 2 else m.train() for m in (model, layer))
            rows = 1 if depth == 2 else 3
            source = torch.arange(rows * source_length).reshape(rows, -1) * 5 % source_vocab
            shifted = torch.arange(rows * target_length).reshape(rows, -1) * 7 % target_vocab
            mask = numbers(rows, 1, source_length, seed=width) > 0
            mask[:, :, 0], mask[:, :, -1] = True, False
            for allowed in (None, mask):
                expected = layer_by_layer(sizes, weights, layer, source, shifted, allowed)
                result = model.call(source, shifted, source_mask=allowed).detach()
                check.equal(result, expected, "layer by layer", within=within)
with Check("Transformer", "positions of one table learn from both sides") as check:
    sizes = (7, 8, 6, 2, 2, 5, 9)
    model = check.build(*sizes).double()
    own = check.other("DecoderLayer").build(6, 2, 5, 0.0).parameters()
    model.load(without_sublayers(model_weights(sizes, own, seed=3), "layers"))
    logits = model.call(torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[1, 2]]))
    slope = model.gradients(logits.square())["positions.weight"]
    check.true(bool((slope[:2] != 0).any(-1).all()), "the target's positions")
    check.equal(slope[5:], torch.zeros(4, 6, dtype=torch.float64), "positions that nobody read")
# END HIDDEN TESTS


# %% check Transformer_dropout points=1
# A silent model: no sublayer of either stack adds anything, norms have gain 1, biases are 0.
with Check("Transformer", "no dropout in evaluation") as check:
    sizes = (7, 8, 6, 3, 2, 5, 9)
    layer = check.other("DecoderLayer").build(6, 3, 5, 0.0).double().eval()
    model = check.build(*sizes, 0.5).double()
    model.load(weights := model_weights(sizes, layer.parameters()))
    source, shifted = torch.tensor([[3, 1, 6], [4, 4, 5]]), torch.tensor([[1, 7], [1, 0]])
    check.equal(
        model.eval().call(source, shifted),
        layer_by_layer(sizes, weights, layer, source, shifted),
        "in evaluation nothing is dropped",
        hint="keep an nn.Dropout on self: it knows whether the model is training",
    )
with Check("Transformer", "dropout on the decoder's embedding sum") as check:
    sizes = (5, 12, 12, 2, 1, 4, 6)
    layer = check.other("DecoderLayer").build(12, 2, 4, 0.75).double().train()
    model = check.build(*sizes, 0.75).double().train()
    silent = silent_model(model_weights(sizes, layer.parameters()))
    source = torch.zeros(30, 1, dtype=torch.long)
    shifted = torch.arange(180).reshape(30, 6) % 12
    results = []
    for token, position in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0)):
        tables = {"target_tokens.weight": torch.full((12, 12), token)}
        tables["positions.weight"] = torch.full((6, 12), position)
        model.load(silent | tables)
        results.append(model.call(source, shifted).detach().flatten(0, 1))
    layer.load(own_weights(silent, 0))
    x = numbers(30, 6, 12)
    # if your layer changes x although all its sublayers are silent, run its checks: they say why
    if torch.allclose(layer.call(x, numbers(30, 1, 12)), x):
        told = (
            "both",
            "the token embedding, where positions are 0",
            "positions, where tokens are 0",
        )
        for result, name in zip(results, told, strict=True):
            check.true(
                bool((result.abs() > 0.1).any()),
                f"in training, features of target token + position are dropped: {name}",
                hint="dropout(target token + position), before the first layer",
            )
        values = [len(row.round(decimals=3).unique()) for row in results[0]]
        check.true(
            max(values) <= 2,
            "dropout is on the sum: a feature loses token and position together",
            hint="add first, then call dropout once",
        )
        mixed = results[0][(results[0].abs() > 0.1).any(-1)]
        check.true(
            0.65 < (mixed < 0).double().mean().item() < 0.83,
            "with p = 0.75, about three quarters of the features are dropped",
            hint="pass `dropout` on as the share that is dropped, and use it once",
        )
with Check("Transformer", "dropout on the encoder's side, and in all layers") as check:
    sizes = (5, 12, 12, 2, 1, 4, 6)
    layer = check.other("DecoderLayer").build(12, 2, 4, 0.5).double().train()
    model = check.build(*sizes, 0.5).double().train()
    silent = silent_model(model_weights(sizes, layer.parameters()))
    different = numbers(12, seed=6)
    # the first feature reads memory through cross-attention; the second is dropped or doubled
    read = torch.zeros(12, 12, dtype=torch.float64)
    read[0] = numbers(12, seed=5)
    reading = {
        "layers.0.cross_attention.in_proj_weight": torch.cat([torch.zeros(24, 12), torch.eye(12)]),
        "layers.0.cross_attention.out_proj.weight": read,
        "layers.0.linear2.bias": torch.eye(12)[1],
    }
    cases = {
        "source": reading | {"source_tokens.weight": different.expand(5, 12)},
        "positions": reading | {"positions.weight": different.expand(6, 12)},
        "encoder": reading | {"encoder.layers.0.linear2.bias": different},
        "memory": reading | {"encoder.norm.bias": different},
        "layers": {"layers.0.linear2.bias": different},
        "nothing": {"norm.bias": different},
    }
    ids, outcomes = torch.zeros(200, 1, dtype=torch.long), {}
    for name, case in cases.items():
        model.load(silent | case)
        outcomes[name] = distinct(model.call(ids, ids))
    zeros, memories = torch.zeros(200, 1, 12, dtype=torch.float64), numbers(200, 1, 12)
    layer.load(own_weights(silent | reading, 0))
    # what your layer does alone, with one memory for all and with 200 different ones
    calm, reads = (
        distinct(layer.call(zeros, zeros + different)),
        distinct(layer.call(zeros, memories)),
    )
    layer.load(own_weights(silent | cases["layers"], 0))
    drops = distinct(layer.call(zeros, zeros))
    if calm <= 32 and reads > 40:
        check.true(
            outcomes["source"] > 40,
            "in training, features of the source's embedding sum are dropped",
            hint="dropout(source token + position), before the encoder",
        )
        check.true(
            outcomes["positions"] > 40,
            "in training, positions of the source are dropped with the tokens",
            hint="dropout(source token + position), before the encoder",
        )
        check.true(
            outcomes["encoder"] > 40,
            "in training, the encoder's layers drop, too",
            hint="pass dropout to nn.TransformerEncoderLayer",
        )
        check.true(
            outcomes["memory"] <= 32,
            "what the encoder returns is not dropped",
            hint="on the encoder's side, dropout is on the embedding sum and in its layers",
        )
    check.true(
        outcomes["layers"] > 40 or drops <= 40,
        "in training, your decoder layers drop, too",
        hint="pass dropout to every DecoderLayer",
    )
    check.true(
        outcomes["nothing"] == 1,
        "what the final norm returns is not dropped, nor the logits",
        hint="dropout is on the two embedding sums and in the layers",
    )
# BEGIN HIDDEN TESTS
with Check("Transformer", "dropout in training only, anew in each call") as check:
    sizes = (5, 9, 8, 2, 2, 6, 7)
    own = check.other("DecoderLayer").build(8, 2, 6, 0.0).parameters()
    model = check.build(*sizes, dropout=0.4).double()
    model.load(model_weights(sizes, own, seed=2))
    ids = torch.arange(20).reshape(4, 5) % 5
    once, again = model.train().call(ids, ids), model.call(ids, ids)
    check.true(not torch.equal(once, again), "in training, two calls differ")
    check.equal(model.eval().call(ids, ids), model.call(ids, ids), "in evaluation they agree")
# END HIDDEN TESTS


# %% [markdown]
# **A good place to stop.** The architecture is complete. Next you train it, and let it write. (Back later? Run all cells above first.)

# %% [markdown]
# ## 5 · Training
#
# The model has two encoder layers, two decoder layers, a d_model of 64, 4 heads and a d_ff of 128. Each of the 300 steps trains on 32 new sentences. The test sentences come from the same grammar, with another seed. The learning rate warms up over 50 steps and then falls. Dropout stays at 0: nearly every sentence is new, so there is little to memorise.

# %%
Model = Callable[[Tensor, Tensor, Tensor], Tensor]  # source, shifted target, source mask -> logits


def new_transformer(seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(len(ENGLISH), len(FRENCH), 64, 4, 2, 128, max_length=24)


def train(
    model: nn.Module,
    steps: int,
    seed: int,
    peak: float = 0.004,
    report: Callable[[int, float], None] = lambda step, loss: None,
    shift: Callable[[Tensor, int], Tensor] | None = None,
) -> None:
    """Train on new sentences in every step; the rate rises to `peak` over 50 steps, then falls."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = peak * min(step / 50, (300 - step) / 250)
        source, target, mask = as_tensors(draw_pairs(32, seed=1_000_000 * (seed + 1) + step))
        shifted = (shift or shift_right)(target, BEGIN)
        loss = translation_loss(model(source, shifted, mask), target, PADDING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss.item())


# %% [markdown]
# An untrained model knows nothing of the 112 French tokens. A uniform guess costs ln 112, about 4.7: the loss begins near that.

# %% folded=true
# Trains your model for 300 steps, and keeps a copy of it after 100: click to unfold.
from copy import deepcopy
from functools import cache

from transformer_course.widgets import show_training


@cache  # trains in its first call; running this cell again begins anew
def trained() -> tuple[Transformer, Transformer, float]:
    """The model after 300 steps, a copy of it after 100, and the loss around step 100."""
    model, copies, losses = new_transformer(seed=0), [], []
    with show_training(total=300, title="An encoder-decoder learns to translate") as plot:

        def report(step: int, loss: float) -> None:
            plot.add(loss=loss)
            losses.append(loss)
            if step == 100:
                copies.append(deepcopy(model))

        train(model, 300, seed=0, report=report)
    return model.eval(), copies[0].eval(), sum(losses[80:100]) / 20


def translator() -> Transformer:
    """Your model after 300 steps."""
    return trained()[0]


def beginner() -> Transformer:
    """Your model after 100 steps."""
    return trained()[1]


print(f"{sum(part.numel() for part in translator().parameters()):,} parameters")

# %% [markdown]
# The loss falls to nearly 0. But in training, the model always reads the right words before each position. After training, it reads only what it wrote itself (lesson 10: exposure bias). Can it write a sentence?

# %% [markdown]
# ## 6 · Greedy decoding
#
# Greedy decoding (lesson 2) takes the likeliest next token at every step: begin with `<begin>`, ask for the next token, append it, ask again. A batch makes this harder: its rows end at different steps.
#
# **Predict.** Two rows decode together. The first writes `<end>` at step 3, the other at step 5. What does the first row contain after its `<end>`?
#
# <details><summary>Whatever the model predicts</summary>It never trained on what follows <code>&lt;end&gt;</code>. Your function overwrites it.</details>
# <details><summary>More end tokens, until the other row ends as well</summary>Yes. So all rows have the same length. (Many libraries fill the rest with padding instead.)</details>
# <details><summary>Nothing: the row is shorter</summary>All rows of a tensor have the same length.</details>
#
# **Exercise** (25 minutes). Write greedy decoding for a batch. `step` is any function that gives logits for the next token.
#
# <details><summary>Hint 1</summary>Start with a column of <code>begin</code>, and keep a Boolean for each row: has it ended?</details>
# <details><summary>Hint 2</summary>Where a row has ended, overwrite its next token with <code>end</code>: <code>masked_fill</code>. Stop when all have ended, or after max_length calls.</details>
# <details><summary>Hint 3</summary><code>begin</code> and <code>end</code> may be the same id. So a row has ended when it <em>wrote</em> the end token.</details>


# %% exercise greedy_decode
def greedy_decode(
    step: Callable[[Tensor], Tensor], batch: int, begin: int, end: int, max_length: int
) -> Tensor:
    """Write `batch` rows at once, each time with the likeliest next token of each row.

    step(tokens): tokens so far, int64 (batch, length), `begin` first -> logits of the next token
    (batch, vocab). It is called once for each column of the result, always with all rows.
    A row ends with its first `end`; after that, it is filled with `end`. Stop when all rows have
    ended, or after max_length columns. `begin` is not part of the result, and may equal `end`.
    -> int64 (batch, length): `length` is that of the longest row, its `end` included.
    """
    # BEGIN SOLUTION
    tokens = torch.full((batch, 1), begin)
    has_ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        likeliest = step(tokens).argmax(dim=-1).masked_fill(has_ended, end)
        tokens = torch.cat([tokens, likeliest[:, None]], dim=1)
        has_ended |= likeliest == end
        if has_ended.all():
            break
    return tokens[:, 1:]
    # END SOLUTION


# %% given scripted folded=true
# Steps for the checks, in place of a trained model: click to unfold.
Step = Callable[[Tensor], Tensor]


def watched(step: Step, begin: int, calls: list[Tensor]) -> Step:
    """The same step, which notes what it gets in `calls`, and stops what is no batch of rows."""

    def checked(tokens: Tensor) -> Tensor:
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.is_floating_point():
            raise ValueError("step takes a tensor of token ids, (rows, length)")
        if not len(tokens) or not tokens.shape[1] or bool((tokens[:, 0] != begin).any()):
            raise ValueError("step takes rows that begin with `begin`")
        if len(calls) == 60:
            raise RuntimeError("step was called 60 times: when does your loop end?")
        calls.append(tokens.detach().clone())
        return step(tokens)

    return checked


def scripted(rows: list[list[int]], vocab: int) -> Step:
    """A step that writes these rows, one in each row of the batch, whatever it reads."""

    def step(tokens: Tensor) -> Tensor:
        count, length = tokens.shape
        if count != len(rows):
            raise ValueError(f"step takes all {len(rows)} rows at once, got {count}")
        logits = numbers(count, vocab, seed=length) - 7
        for logit, row in zip(logits, rows, strict=True):
            logit[row[length - 1]] = logit.max() + 0.1
        return logits

    return step


def by_prefix(vocab: int, seed: int = 0, apart: int = 0) -> Step:
    """A step with fixed logits for each row of tokens: all of its tokens matter, and their order.

    With `apart`, the number of the row matters, too.
    """

    def step(tokens: Tensor) -> Tensor:
        logits = []
        for number, row in enumerate(tokens.tolist()):
            key = seed + apart * number
            for token in row:
                key = (31 * key + token + 1) % 1_000_003
            logits.append(numbers(vocab, seed=key, scale=1.5) + key % 7)
        return torch.stack(logits)

    return step


# %% check greedy_decode points=2
hint = "each column: call step once, take the argmax of each row; rows that have ended get `end`"
with Check("greedy_decode", "three scripted rows", hint) as check:
    rows = [[2, 3, 1, 4, 5, 2, 2], [4, 1, 2, 2, 3, 5, 3], [3, 3, 5, 2, 1, 4, 4]]
    written = torch.tensor([[2, 3, 1, 1, 1], [4, 1, 1, 1, 1], [3, 3, 5, 2, 1]])
    calls: list[Tensor] = []
    result = check.call(watched(scripted(rows, 6), 0, calls), 3, 0, 1, 7)
    again = check.call(watched(scripted(rows, 6), 0, []), 3, 0, 1, 7)
    cut = check.call(watched(scripted(rows, 6), 0, []), 3, 0, 1, 3)
    same = check.call(watched(scripted(rows, 6), 1, []), 3, 1, 1, 7)
    other = check.call(watched(scripted([[2, 1, 3, 5], [1, 1, 5, 3]], 6), 4, []), 2, 4, 3, 4)
    alone = check.call(watched(scripted([[2, 4, 4, 3, 0]], 6), 5, []), 1, 5, 3, 5)
    check.true(
        torch.equal(again, result),
        "the same call, made again, gives the same result",
        hint="take the likeliest token: nothing is drawn at random",
    )
    check.shape(cut, batch=3, length=3)
    check.equal(cut, written[:, :3], "with max_length 3: three columns, finished or not")
    check.shape(result, batch=3, length=5)
    check.equal(
        result,
        written,
        "with max_length 7: five columns, until all rows have ended; after its end, a row holds only end",
    )
    check.equal(
        same,
        written,
        "`begin` may equal `end`: only an end that step has written ends a row",
        hint="keep a flag for each row: has it ended?",
    )
    check.equal(
        other, torch.tensor([[2, 1, 3, 3], [1, 1, 5, 3]]), "`end` is whatever the argument says: 3"
    )
    check.equal(alone, torch.tensor([[2, 4, 4, 3]]), "a batch of one row")
    check.equal(
        len(calls),
        5,
        "step is called once for each column",
        hint="one call gives the logits of all rows; stop as soon as all rows have ended",
    )
    read = torch.cat([torch.zeros(3, 1, dtype=torch.long), written], 1)
    for length, tokens in enumerate(calls, 1):
        check.equal(
            tokens,
            read[:, :length],
            f"in call {length}, step gets `begin` and all {length - 1} columns before",
        )
    check.true(
        result.dtype == torch.int64,
        "token ids are integers: torch.int64",
        hint="argmax gives int64",
    )
# BEGIN HIDDEN TESTS
with Check("greedy_decode", "steps that depend on the whole row") as check:
    for batch, begin, end, max_length, vocab, seed in (
        (4, 3, 0, 9, 5, 1),
        (1, 4, 2, 6, 5, 2),
        (6, 0, 0, 12, 4, 3),
        (2, 1, 5, 1, 6, 4),
        (5, 2, 2, 30, 3, 5),
        (3, 0, 6, 8, 40, 6),
    ):
        calls = []
        step = by_prefix(vocab, seed, apart=7)
        result = check.call(watched(step, begin, calls), batch, begin, end, max_length)
        tokens, ended = torch.full((batch, 1), begin), [False] * batch
        while tokens.shape[1] <= max_length and not all(ended):
            column = [
                end if over else token
                for over, token in zip(ended, step(tokens).argmax(-1).tolist(), strict=True)
            ]
            ended = [over or token == end for over, token in zip(ended, column, strict=True)]
            tokens = torch.cat([tokens, torch.tensor(column)[:, None]], 1)
        check.shape(result, batch=batch, length=tokens.shape[1] - 1)
        check.equal(result, tokens[:, 1:], "the likeliest next token of each row, again and again")
        check.true(result.dtype == torch.int64, "token ids are integers")
        check.equal(len(calls), result.shape[1], "one call for each column")
        for length, read in enumerate(calls, 1):
            check.equal(read, tokens[:, :length], "all rows so far")
# END HIDDEN TESTS


# %% [markdown]
# Now the 250 test sentences. Has the model seen any of them in training?


# %% folded=true
# Translates sentences with your `greedy_decode`, and counts the right ones: click to unfold.
def as_words(tokens: Tensor) -> list[str]:
    """The French words of a row, up to its end."""
    row = tokens.tolist()
    return [FRENCH[token] for token in (row[: row.index(END)] if END in row else row)]


@torch.no_grad()
def translate(model: Model, pairs: list[Pair]) -> list[list[str]]:
    """Translate by greedy decoding."""
    source, _, mask = as_tensors(pairs)
    rows = greedy_decode(
        lambda tokens: model(source, tokens, mask)[:, -1], len(pairs), BEGIN, END, 13
    )
    return [as_words(row) for row in rows]


def share_right(model: Model, pairs: list[Pair] = test_pairs) -> float:
    """The share of sentences translated without any error."""
    written = translate(model, pairs)
    return sum(words == pair.french for words, pair in zip(written, pairs, strict=True)) / len(
        pairs
    )


# %%
seen = {tuple(p.english) for step in range(1, 301) for p in draw_pairs(32, 1_000_000 + step)}
print(
    "test sentences that occurred in training:", sum(tuple(p.english) in seen for p in test_pairs)
)
print("English ", *shown.english)
print("model   ", *translate(translator(), [shown])[0])
print(f"without any error: {share_right(translator()):.1%} of 250 sentences")

# %% [markdown]
# What to see: the test sentences are new, and all or nearly all translations are right (100 % with seeds 0, 1 and 2). The model handles agreement, word order and negation; the dictionary could not. (Each step of `translate` encodes the source again, which keeps the code short. A real system computes the memory once, and caches the decoder's keys and values, as in lesson 9.)
#
# ### What does cross-attention attend to?
#
# The next cell collects the weights of cross-attention in *your* model: in each layer and head, a row for each French word that it writes.


# %% folded=true
# Collects the weights of cross-attention: click to unfold.
def decoder_layers(model: Transformer) -> list[DecoderLayer]:
    return [layer for layer in model.layers if isinstance(layer, DecoderLayer)]


@torch.no_grad()
def cross_weights(model: Transformer, pair: Pair) -> Tensor:
    """The weights of cross-attention (layers, heads, output, source) for the right translation."""
    source, target, _ = as_tensors([pair])
    positions = model.positions.weight
    memory = model.encoder(model.source_tokens(source) + positions[: source.shape[1]])
    x = model.target_tokens(shift_right(target, BEGIN)) + positions[: target.shape[1]]
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    collected = []
    for layer in decoder_layers(model):
        normed = layer.norm1(x)
        query = layer.norm2(x + layer.self_attention(normed, normed, normed, attn_mask=later)[0])
        collected.append(
            layer.cross_attention(query, memory, memory, average_attn_weights=False)[1]
        )
        x = layer(x, memory)
    return torch.cat(collected)


print("(layers, heads, output, source):", tuple(cross_weights(translator(), shown).shape))

# %% [markdown]
# **Puzzle.** A row belongs to the word that is *written*, not to the word that the decoder reads there. The view opens with the first pair and layer 0. Choose layer 1, the upper one. Find a head that attends to the right English word for nearly every French word, even where the order differs. One French word is an exception in nearly all heads of layer 1: which? (Ignore the row `<end>`: no English word belongs to it.)
#
# <details><summary>Hint</summary>The sentence is the one whose lines you saw at the beginning of this lesson. Compare row by row.</details>
# <details><summary>Answer</summary>In our model it is <em>pas</em>: the heads attend to other English words than <em>isn't</em>. How can <em>pas</em> be right, then? The next experiment asks.</details>

# %%
from transformer_course.widgets import show_alignment

several = [shown, *[p for p in test_pairs if len(p.english) > 9][:3]]
show_alignment(
    [cross_weights(translator(), pair) for pair in several],
    [[*pair.french, "<end>"] for pair in several],
    [pair.english for pair in several],
    title="What your decoder attends to in the source",
)

# %% [markdown]
# You know the grammar, and so the right English word for each French word. How much weight does each head put on the right English word?


# %%
@cache
def aligned_weight(model: Transformer) -> Tensor:
    """The mean weight on the English word that belongs to a French word: (layers, heads)."""
    found = []
    for pair in test_pairs[:100]:
        weights = cross_weights(model, pair)
        rows = torch.arange(len(pair.french))
        found.append(weights[:, :, rows, torch.tensor(pair.aligned)])
    return torch.cat(found, -1).mean(-1)


both = torch.cat([aligned_weight(new_transformer(0).eval()), aligned_weight(translator())])
models = [f"{kind}, layer {layer}" for kind in ("untrained", "trained") for layer in range(2)]
figure = Figure(figsize=(6.5, 3.2), layout="constrained")
axes = figure.subplots()
figures.heatmap(axes, both.numpy(), [f"head {i}" for i in range(4)])
axes.images[0].set_clim(0, 1)
axes.set_yticks(range(4), models)
figure.colorbar(axes.images[0], label="mean weight on\nthe right English word")
told = (f"{name} {figures.brief(row)}" for name, row in zip(models, both.numpy(), strict=True))
figures.Picture(figure, f"Mean weight on the right English word, by head: {'; '.join(told)}.")

# %% [markdown]
# What to see: the untrained model gives the right word an even share. In the trained one, the mean is about 0.9 in each head of layer 1 (0.60 to 0.93 with seeds 1 and 2).
#
# A **word alignment** says which words of a sentence and of its translation correspond to each other. In our model, the heads of layer 1 come close to one, although the training data contains none.
#
# ### Do the attention weights matter?
#
# The next experiment hides one English word from cross-attention (the encoder still reads it) and asks for its French word. The control hides a random other word.
#
# **Predict.** *isn't* is hidden while the decoder predicts *pas*. It has read *ne* and the verb. Does it still predict *pas*?
#
# <details><summary>No: nothing else says that the sentence is negated</summary>The English sentence is not the only source of information.</details>
# <details><summary>Yes: after <em>ne</em> and a verb comes <em>pas</em></summary>Yes. The decoder reads <em>ne</em> by self-attention, so it need not attend to <em>isn't</em> again.</details>
# <details><summary>Yes: the encoder has passed <em>isn't</em> on to the other positions</summary>It may have. But then <em>ne</em> should survive, too: look at it in the next output.</details>


# %% folded=true
# Hides an English word from cross-attention: click to unfold.
@torch.no_grad()
def still_right(model: Transformer, pair: Pair, hidden: list[int]) -> list[bool]:
    """For each French word: is it predicted when this position of the source is hidden from it?"""
    source, target, _ = as_tensors([pair])
    positions = model.positions.weight
    memory = model.encoder(model.source_tokens(source) + positions[: source.shape[1]])
    x = model.target_tokens(shift_right(target, BEGIN)) + positions[: target.shape[1]]
    count = len(pair.french)  # a row of the batch for each French word
    mask = torch.ones(count, 1, source.shape[1], dtype=torch.bool)
    mask[range(count), 0, hidden] = False
    x, memory = x.expand(count, -1, -1), memory.expand(count, -1, -1)
    for layer in decoder_layers(model):
        x = layer(x, memory, mask)
    guesses = model.output(model.norm(x)).argmax(-1)
    return (guesses[range(count), range(count)] == target[0, :count]).tolist()


def survival(model: Transformer, hide_aligned: bool) -> dict[str, float]:
    """The share of words that are still right: of *pas*, of *ne*, and of all others."""
    draw = random.Random(0)
    kept: dict[str, list[bool]] = {"pas": [], "ne": [], "other words": []}
    for pair in test_pairs[:100]:
        rest = [[j for j in range(len(pair.english)) if j != i] for i in pair.aligned]
        hidden = pair.aligned if hide_aligned else [draw.choice(others) for others in rest]
        for word, right in zip(pair.french, still_right(model, pair, hidden), strict=True):
            kept[word if word in kept else "other words"].append(right)
    return {word: sum(right) / len(right) for word, right in kept.items()}


@torch.no_grad()
def writes_pas(model: Transformer, reads_ne: bool) -> float:
    """The share of negated sentences in which *pas* is predicted after the verb, *ne* read or not."""
    negated, found = [pair for pair in test_pairs if "ne" in pair.french], 0
    for pair in negated:
        before = pair.french[: pair.french.index("pas")]  # up to the verb
        read = [FRENCH_IDS[word] for word in before if reads_ne or word != "ne"]
        logits = model(as_tensors([pair])[0], torch.tensor([[BEGIN, *read]]))
        found += int(logits[0, -1].argmax()) == FRENCH_IDS["pas"]
    return found / len(negated)


# %%
for name, hide_aligned in {
    "its English word is hidden": True,
    "another word is hidden": False,
}.items():
    shares = survival(translator(), hide_aligned)
    print(f"{name:26}", *(f"   {word} {share:.0%}" for word, share in shares.items()))
for name, reads_ne in {"nothing is hidden": True, "nothing is hidden, no ne read": False}.items():
    print(f"{name:29} pas {writes_pas(translator(), reads_ne):.0%}")

# %% [markdown]
# What to see: if its English word is hidden, a French word is usually wrong; if another word is hidden, nearly all stay right. So the decoder depends on what it attends to. The exception is *pas*: it depends on *ne*, which the decoder reads. With *ne* left out, it never predicts *pas*, although *isn't* is visible. (Seeds 0, 1 and 2: *ne* 0 to 4 %, other words 10 to 12 %; without *ne*, no *pas*.)

# %% [markdown]
# ## 7 · Who sees the future?
#
# The causal mask is one line. What if somebody forgets it? Nothing crashes.
#
# **Predict.** You train the same model without the causal mask, for 100 steps. Compared with yours after 100 steps, what happens?
#
# <details><summary>Its training loss is higher, and it translates worse</summary>Worse, yes. But its loss is not higher. What can every position now see?</details>
# <details><summary>Its training loss is lower, and it translates better</summary>The loss is lower. But decoding has no later words to read.</details>
# <details><summary>Its training loss is lower, and it hardly translates at all</summary>Yes. Each output can copy the word that it should predict: it stands one position later in the input.</details>


# %% folded=true
# Trains a model without the causal mask: click to unfold.
from typing import Any


class SeesTheFuture(nn.MultiheadAttention):
    """Attention that ignores every mask."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, *masks: Any, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        return super().forward(query, key, value, need_weights=False)


def without_causal_mask(seed: int) -> Transformer:
    model = new_transformer(seed)
    for layer in decoder_layers(model):
        layer.self_attention = SeesTheFuture(64, 4, batch_first=True)
    return model


def learn(model: nn.Module, steps: int, seed: int, peak: float = 0.004) -> tuple[float, float]:
    """Train; return the mean training loss of the last 20 steps, and the share of right sentences."""
    losses: list[float] = []
    train(model, steps, seed, peak, report=lambda step, loss: losses.append(loss))
    return sum(losses[-20:]) / 20, share_right(model.eval())


@cache  # trains once
def without_mask_result() -> tuple[float, float]:
    return learn(without_causal_mask(0), 100, seed=0)


# %%
loss, right = without_mask_result()
print(f"after 100 steps without the mask: training loss {loss:.2f}, sentences correct {right:.1%}")
print(
    f"after 100 steps with it:          training loss {trained()[2]:.2f}, sentences correct {share_right(beginner()):.1%}"
)

# %% [markdown]
# That was one seed. (Each loss is the mean over the last 20 steps.) The next figures show three seeds after 150 steps, when the model with the mask translates most sentences correctly. (The runs take about a minute, so their results are recorded here.) A thin line joins the runs of one seed, and a bar marks the mean.

# %%
recorded_mask = {  # training loss and share of sentences correct for the seeds 0, 1 and 2
    "with the mask": ([0.158, 0.157, 0.160], [0.928, 0.928, 0.888]),
    "without it": ([0.034, 0.030, 0.035], [0.0, 0.0, 0.0]),
}
figures.runs(
    {name: losses for name, (losses, _) in recorded_mask.items()},
    "training loss",
    "After 150 steps: the loss",
    linked=True,
    bottom=0,
)
figures.runs(
    {name: shares for name, (_, shares) in recorded_mask.items()},
    "share of sentences correct",
    "After 150 steps: the translations",
    linked=True,
)

# %% [markdown]
# What to see: without the mask, the loss is about a fifth of the loss with it, and not one sentence is right. If a model sees its targets, a low training loss says nothing.
#
# **From the lecture**: “Where we left off” in *Transformers*, CSCI 4360/6360, says what the mask is for: to compute in parallel without looking at the future.

# %% [markdown]
# ### Bug hunt: a textbook's decoder
#
# *Dive into Deep Learning* is a textbook made of executable notebooks. Here is the self-attention of its Transformer decoder (PyTorch edition) as a function. It has the residual connection, but only one head and no projections. `training` says in which mode the module runs: `train()` or `eval()`.


# %%
def textbook_decoder(x: Tensor, training: bool) -> Tensor:
    """The self-attention of a textbook's decoder: (batch, length, d_model) -> the same."""
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    if training:
        length = x.shape[1]
        valid = torch.arange(1, length + 1)  # the first query sees 1 key, the next one 2, …
        visible = torch.arange(length) < valid[:, None]  # (query, key)
        scores = scores.masked_fill(~visible, -math.inf)
    return x + torch.softmax(scores, -1) @ x


print("output", tuple(textbook_decoder(numbers(1, 4, 3), training=True).shape))

# %% [markdown]
# The book's model trains, and it translates well. Is anything wrong? Write your guess down.
#
# **Exercise** (20 minutes). Let a test decide. It takes any decoder as a function, and returns whether it hides the future: False for a decoder that leaks in *any* way, True for every other one.
#
# <details><summary>Hint 1</summary>Choose x. Change what comes after a position. Which outputs must stay as they are?</details>
# <details><summary>Hint 2</summary>A leak may be in one mode, in one sequence of the batch, or between some positions only. So try each position in turn, both modes, and at least two sequences.</details>
# <details><summary>Hint 3</summary>Even without a leak, outputs may differ by rounding: compare with <code>torch.allclose</code>, and leave its tolerance as it is.</details>


# %% exercise test_of_decoder
def test_of_decoder(decoder: Callable[[Tensor, bool], Tensor]) -> bool:
    """Return True if no output of `decoder` depends on a later position, and False otherwise.

    decoder(x, training): x (batch, length, d_model), floats, of any size -> the same shape.
    You choose x: a leak may be in either of two sequences and at any of six positions, so x
    needs at least as many. x may be small: use few features, with values of about 1.
    training: True in training mode, False in evaluation mode; it should hold in both.
    The decoder has no dropout: equal inputs give equal outputs.
    """
    # BEGIN SOLUTION
    x = numbers(2, 6, 4)
    for training in (True, False):
        before = decoder(x, training)
        for t in range(1, 6):
            changed = x.clone()
            changed[:, t:] = numbers(2, 6 - t, 4, seed=t)
            if not torch.allclose(decoder(changed, training)[:, :t], before[:, :t]):
                return False
    return True
    # END SOLUTION


# %% check test_of_decoder points=2
hint = "change what comes later, and compare the outputs before it: each position, both modes"
with Check(
    "test_of_decoder", "decoders that hide the future, and decoders that leak", hint
) as check:
    # in float64 inside, so that tests in float32 see no rounding errors
    def attend_where(x, allowed):
        scores = x.double() @ x.double().transpose(-2, -1) / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores.masked_fill(~allowed, -math.inf), -1)
        return (x + weights @ x.double()).to(x.dtype)

    def triangle(x):
        return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()

    def masked(x, training, attend_where=attend_where, triangle=triangle):
        return attend_where(x, triangle(x))

    def word_by_word(x, training, masked=masked):
        return torch.cat([masked(x[:, : t + 1], training)[:, -1:] for t in range(x.shape[1])], 1)

    def two_ways(x, training, masked=masked, word_by_word=word_by_word):
        return masked(x, training) if training else word_by_word(x, training)

    def all_minus_later(x, training):
        later = x.double().flip(1).cumsum(1).flip(1) - x
        count = torch.arange(1.0, x.shape[1] + 1, dtype=torch.float64)[:, None]
        return ((x.double().sum(1, keepdim=True) - later) / count).to(x.dtype)

    def another_in_training(x, training, masked=masked):
        return masked(x, training) + (1.0 if training else 0.0)

    def textbook(x, training, attend_where=attend_where, triangle=triangle):
        return attend_where(x, triangle(x) if training else triangle(x) | True)

    def no_mask(x, training, attend_where=attend_where, triangle=triangle):
        return attend_where(x, triangle(x) | True)

    def only_in_evaluation(x, training, textbook=textbook):
        return textbook(x, not training)

    def one_too_many(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[:-1] |= allowed.clone()[1:]
        return attend_where(x, allowed)

    def mirrored(x, training, attend_where=attend_where, triangle=triangle):
        return attend_where(x, triangle(x).T)

    def first_three(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[:3, :3] = True
        return attend_where(x, allowed)

    def last_two(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[-2:, -2:] = True
        return attend_where(x, allowed)

    def first_sees_second(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[0, :2] = True
        return attend_where(x, allowed)

    def first_sees_last(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[0, -1] = True
        return attend_where(x, allowed)

    def fourth_sees_fifth(x, training, attend_where=attend_where, triangle=triangle):
        allowed = triangle(x)
        allowed[3:4, :5] = True
        return attend_where(x, allowed)

    def first_sequence(x, training, attend_where=attend_where, triangle=triangle):
        rows = (torch.arange(x.shape[0]) > 0)[:, None, None]
        return attend_where(x, triangle(x) | rows)

    def masked_too_late(x, training, triangle=triangle):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        return x + torch.softmax(scores, -1) * triangle(x) @ x

    def minus_five(x, training, triangle=triangle):
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
        return x + torch.softmax(scores.masked_fill(~triangle(x), -5.0), -1) @ x

    def centred(x, training, masked=masked):
        return masked(x - x.mean(1, keepdim=True), training)

    right = {
        masked: "a causal mask in both modes",
        word_by_word: "one position after another",
        two_ways: "a mask in training, one position after another in evaluation",
        all_minus_later: "a running mean: the sum of all positions, minus the later ones",
        another_in_training: "a causal mask in both modes, with other outputs in training",
    }
    wrong = {
        textbook: "the textbook's decoder, with a mask in training only",
        no_mask: "a decoder without a mask",
        only_in_evaluation: "a decoder with a mask in evaluation only",
        one_too_many: "a decoder in which each position also sees the next one",
        mirrored: "a decoder whose mask is transposed",
        first_three: "a decoder whose first three positions see one another",
        last_two: "a decoder whose last two positions see each other",
        first_sees_second: "a decoder whose first position sees the second",
        first_sees_last: "a decoder whose first position sees the last",
        fourth_sees_fifth: "a decoder whose fourth position sees the fifth",
        first_sequence: "a decoder that masks only the first sequence of the batch",
        masked_too_late: "a decoder that masks the weights after the softmax",
        minus_five: "a decoder that fills masked scores with −5",
        centred: "a decoder that first subtracts the mean of all positions",
    }
    for decoder in (*right, *wrong):  # all answers together tell which mistake it is
        check.call(decoder, returns=bool)
    for decoder, told in right.items():
        check.true(check.call(decoder, returns=bool), f"should return True for {told}")
    for decoder, told in wrong.items():
        check.true(not check.call(decoder, returns=bool), f"should return False for {told}")
# BEGIN HIDDEN TESTS
with Check("test_of_decoder", "more decoders that hide the future") as check:

    def earlier_only(x, training):
        before = F.pad(x, (0, 0, 1, 0))[:, :-1]
        return before.cumsum(1)

    def of_pytorch(x, training):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    def convolution(x, training):
        padded = F.pad(x, (0, 0, 2, 0))
        return padded[:, 2:] + padded[:, 1:-1] + padded[:, :-2]

    def token_by_token(x, training):
        return torch.tanh(3 * x) + 7

    for decoder in (earlier_only, of_pytorch, convolution, token_by_token):
        check.true(check.call(decoder, returns=bool), "should return True for a right decoder")
with Check("test_of_decoder", "more decoders that leak") as check:

    def next_one_only(x, training):
        return x + F.pad(x, (0, 0, 0, 1))[:, 1:]

    def weak_leak(x, training):
        return x.cumsum(1) + 0.01 * x.sum(1, keepdim=True)

    def reversed_sequence(x, training):
        return x.flip(1).cumsum(1).flip(1)

    def normed_over_positions(x, training):
        return x / x.exp().mean(1, keepdim=True)

    def last_one_everywhere(x, training):
        return x if training else x + x[:, -1:]

    def leak_in_training(x, training):
        return x + x.mean(1, keepdim=True) if training else x

    def second_sequence(x, training):
        return torch.cat([x[:1], x[1:].flip(1)])

    mutants = (next_one_only, weak_leak, reversed_sequence, normed_over_positions)
    for decoder in (*mutants, last_one_everywhere, leak_in_training, second_sequence):
        check.true(not check.call(decoder, returns=bool), "should return False for a leak")
# END HIDDEN TESTS

# %% [markdown]
# Now test the textbook's decoder and your own layer:


# %% folded=true
# Wraps your layer as your test wants it: click to unfold.
@cache
def own_layer(d_model: int) -> DecoderLayer:
    """Your layer, as wide as your test's x."""
    return DecoderLayer(d_model, 1, 8)


def own_decoder(x: Tensor, training: bool) -> Tensor:
    layer = own_layer(x.shape[-1]).to(x.dtype).train(training)
    return layer(x, torch.ones(len(x), 3, x.shape[-1], dtype=x.dtype))


# %%
print("the textbook's decoder hides the future:", test_of_decoder(textbook_decoder))
print("your layer hides the future:            ", test_of_decoder(own_decoder))

# %% [markdown]
# The line at fault is `if training`. A validation loss is computed in evaluation mode, with teacher forcing: the decoder reads the whole target, without a mask. So in *validation*, every position sees the future.
#
# The book's decoding is not affected: it feeds one word at a time, so there is no later position. (Our `greedy_decode` feeds all words so far, so earlier words could attend to later ones. The fault hardly shows: models trained with the mask for 300 steps and decoded without it translate 99, 100 and 100 % correctly (seeds 0, 1 and 2).)
#
# **Predict.** A model trains *with* the mask. Its validation loss is computed without it. Compared with the correct validation loss, it is …
#
# <details><summary>… lower, because the model sees its targets</summary>It sees them. But it has not learned to use them: in training they were hidden.</details>
# <details><summary>… higher, because the model never learned to use later words</summary>Yes, in our runs. In training, no position ever attended to a later one. Without the mask, it does.</details>
# <details><summary>… the same, because the weights are the same</summary>The weights are the same, but self-attention now averages over more tokens.</details>


# %% folded=true
# The validation loss with and without the causal mask: click to unfold.
@torch.no_grad()
def validation_loss(model: Transformer, masked: bool) -> float:
    """The loss on the test sentences, with teacher forcing, with and without the causal mask."""
    changed = deepcopy(model).eval()
    if not masked:
        for layer in decoder_layers(changed):
            unmasked = SeesTheFuture(64, 4, batch_first=True)
            unmasked.load_state_dict(layer.self_attention.state_dict())
            layer.self_attention = unmasked
    source, target, mask = as_tensors(test_pairs)
    return translation_loss(
        changed(source, shift_right(target, BEGIN), mask), target, PADDING
    ).item()


# %%
for name, model in {"after 100 steps": beginner(), "after 300 steps": translator()}.items():
    print(
        f"{name:15} with the mask {validation_loss(model, True):.3f}   without {validation_loss(model, False):.3f}"
    )

# %% [markdown]
# What to see: without the mask, the loss is too *high*. After 300 steps it is 0.45, 0.83 and 1.59 for seeds 0, 1 and 2, instead of 0.02.
#
# **Predict.** A model that *trained* without the mask is validated without it, too. Is its validation loss too low or too high?
#
# <details><summary>Too low</summary>Yes. It has learned to copy its targets from the input. After 100 steps, its validation loss is 0.21, 0.18 and 0.17 with seeds 0, 1 and 2 (recorded). With the mask put back, the same models have 2.3, 3.2 and 3.0. So a leak can make a loss too low or too high.</details>
# <details><summary>Too high</summary>It has seen its targets throughout training, and learned to copy them.</details>
# <details><summary>Right: training and validation agree</summary>They agree, but both see words that do not exist yet in decoding.</details>
#
# **Predict.** Now the causal mask is in place, but somebody forgets `shift_right`: the decoder reads the target itself. What happens?
#
# <details><summary>Nothing: the mask hides the future</summary>It hides later positions. Each position may attend to itself: which word stands there now?</details>
# <details><summary>A low loss, and your test finds the leak</summary>The loss is low. But no output depends on a later position, so the test returns True.</details>
# <details><summary>A low loss, no translation, and your test finds nothing</summary>Yes. Each position reads the very word that it should predict. The layer is right; its input is wrong.</details>


# %%
@cache  # trains once
def without_shift() -> tuple[Transformer, float]:
    """A model after 100 steps of reading its targets unshifted, and its loss in the last 20."""
    model, losses = new_transformer(seed=0), []

    def report(step: int, loss: float) -> None:
        losses.append(loss)

    train(model, 100, seed=0, report=report, shift=lambda target, begin: target)
    return model.eval(), sum(losses[-20:]) / 20


unshifted, loss = without_shift()
print(
    f"target not shifted: training loss {loss:.3f}, sentences correct {share_right(unshifted):.1%}"
)
print("it writes", *translate(unshifted, [shown])[0])

# %% [markdown]
# What to see: after 100 steps, a loss for which your model needs 300, and one word again and again (no sentence right with seeds 0, 1 and 2). To find this fault, print what the decoder reads beside its targets, as in part 3.

# %% [markdown]
# **A good place to stop.** Your model translates, and you have a test that finds a leaking decoder layer. Next: better decoding, and a measure of quality. (Back later? Run all cells above first.)

# %% [markdown]
# ## 8 · Beam search
#
# Greedy decoding never revises a choice. Here is a small language model as a table: for each word, the probabilities of the next one. What does greedy decoding write?

# %%
NAMES = ["a", "b", "c", "d", "<end>", "<begin>"]
NEXT = {
    "<begin>": {"a": 0.6, "b": 0.4},
    "a": {"c": 0.55, "d": 0.45},
    "b": {"c": 0.1, "d": 0.9},
    "c": {"<end>": 1.0},
    "d": {"<end>": 1.0},
}


def toy_step(tokens: Tensor) -> Tensor:
    """The logits of the next token: (rows, length) -> (rows, 6)."""
    rows = [
        [NEXT.get(NAMES[row[-1]], {}).get(name, 1e-9) for name in NAMES] for row in tokens.tolist()
    ]
    return torch.tensor(rows).log()


path = greedy_decode(toy_step, 1, begin=5, end=4, max_length=4)[0].tolist()
print("greedy:", *(NAMES[token] for token in path))

# %% [markdown]
# **Predict.** Which sentence is likeliest?
#
# <details><summary>a c, because a is likelier than b</summary>0.6 · 0.55 = 0.33: another sentence is likelier.</details>
# <details><summary>b d</summary>Yes: 0.4 · 0.9 = 0.36. Greedy decoding cannot find it: it dropped b at the first step.</details>
# <details><summary>a d</summary>0.6 · 0.45 = 0.27, less than <em>a c</em>.</details>

# %%
for one, choices in list(NEXT.items())[1:3]:
    for two, chance in choices.items():
        joint = NEXT["<begin>"][one] * chance
        print(f"{one} {two}   probability {joint:.2f}   log {math.log(joint):.2f}")

# %% [markdown]
# **Beam search** keeps the `width` likeliest partial sentences at each step. A **hypothesis** is a sentence that the search has begun or finished. Hypotheses are compared by log-probability, given source $x$:
#
# $$\log p(y_1 \dots y_n \mid x) = \sum_{t=1}^{n} \log p(y_t \mid y_1 \dots y_{t-1}, x)$$
#
# Each step appends every token to every open hypothesis. Kept hypotheses that end in `<end>` are set aside.
#
# | step (width 2) | kept | dropped |
# | --- | --- | --- |
# | 1 | *a* −0.51, *b* −0.92 | |
# | 2 | *b d* −1.02, *a c* −1.11 | *a d* −1.31, *b c* −3.22 |
# | 3 | *b d* `<end>` −1.02, *a c* `<end>` −1.11: both set aside | |

# %% [markdown]
# Each further token (`<end>` too) can only lower the log-probability, which favours short sentences. **Length normalisation** divides a hypothesis's log-probability by a power of its length: $\log p\, /\, n^{\alpha}$. This *score* decides only the final choice.
#
# **Predict.** One hypothesis has 2 tokens and log-probability −1.2, another 4 tokens and −1.6. Which wins with α = 0? With α = 1?
#
# <details><summary>The short one, both times</summary>With α = 1: −1.2 / 2 = −0.6 and −1.6 / 4 = −0.4.</details>
# <details><summary>The short one with α = 0, the long one with α = 1</summary>Yes: −1.2 beats −1.6, but −0.4 beats −0.6.</details>
# <details><summary>The long one, both times</summary>With α = 0 the division is by 1, and −1.2 is larger than −1.6.</details>
#
# **Exercise** (45 minutes). Write beam search for one sentence.
#
# <details><summary>Hint 1</summary>Keep open hypotheses as pairs of tokens and log-probability. Call <code>step</code> once for all of them: (hypotheses, length) in, (hypotheses, vocabulary) out.</details>
# <details><summary>Hint 2</summary>Add each hypothesis's log-probability to its row of <code>log_softmax</code>, flatten, and take <code>topk</code>. An index of the flat list is row · vocabulary + token.</details>
# <details><summary>Hint 3</summary>At the end, both finished and open hypotheses take part in the choice. Divide by <code>length**alpha</code> only there.</details>


# %% exercise beam_search
def beam_search(
    step: Callable[[Tensor], Tensor],
    begin: int,
    end: int,
    width: int,
    max_length: int,
    alpha: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Search for the likeliest output of one source; return (tokens, score) of the best hypothesis.

    step(tokens): open hypotheses, int64 (open, length), `begin` first -> logits of the next token
    (open, vocab). It is called once for each length, with all open hypotheses.
    Each time, the `width` likeliest continuations of all open hypotheses together are kept (or all,
    if they are fewer). Of these, the ones that end with `end` are set aside; the others are open.
    Stop when none is open, or after max_length calls. Of all that were set aside or are still open,
    the one with the highest score wins: its log-probability / length ** alpha. In the length and in
    the log-probability `end` counts, `begin` does not; `begin` may equal `end`.
    tokens: int64 (length,), with `end` but without `begin`. score: a scalar tensor, ().
    """
    # BEGIN SOLUTION
    tokens, scores, finished = torch.full((1, 1), begin), torch.zeros(1), []
    for length in range(1, max_length + 1):
        totals = scores[:, None] + step(tokens).log_softmax(dim=-1)  # (open, vocab)
        scores, best = totals.flatten().topk(min(width, totals.numel()))
        parents, last = best // totals.shape[1], best % totals.shape[1]
        tokens = torch.cat([tokens[parents], last[:, None]], dim=1)
        is_open = (last != end) & (length < max_length)
        finished += zip(tokens[~is_open, 1:], scores[~is_open] / length**alpha, strict=True)
        tokens, scores = tokens[is_open], scores[is_open]
        if not len(tokens):
            break
    return max(finished, key=lambda hypothesis: hypothesis[1])
    # END SOLUTION


# %% given tree folded=true
# A step with the next-token probabilities that you give it: click to unfold.
def tree(chances: dict[str, str]) -> Step:
    """A step for hypotheses of the tokens 1 = end, 2 = a, 3 = b, 4 = c.

    chances: what has been written, "ab" say -> the percentages of the next token, end first:
    "20 30 25 25" for end, a, b, c. Elsewhere they are 40, 30, 20 and 10.
    """

    def step(tokens: Tensor) -> Tensor:
        logits = []
        for row in tokens.tolist():
            written = "".join("?.abc"[token] for token in row[1:])
            percentages = map(float, chances.get(written, "40 30 20 10").split())
            probabilities = torch.tensor([1e-6, *(p / 100 for p in percentages)]).double()
            # a number that is added to all logits changes no probability
            logits.append(probabilities.log() + (3 * len(row) + sum(row)) % 5 - 2)
        return torch.stack(logits)

    return step


# %% check beam_search points=3
hint = "each time: the open hypotheses' log-probabilities + log-softmax; of all, the top `width`"
with Check("beam_search", "trees that you can search by hand", hint) as check:
    trap = {"": "5 50 40 5", "a": "20 30 26 24", "aa": "50 20 20 10", "b": "80 10 6 4"}
    rivals = {
        "": "2 55 42 1",
        "a": "1 52 46 1",
        "b": "30 25 25 20",
        "aa": "25 25 26 24",
        "ab": "94 2 2 2",
        "ba": "60 20 10 10",
    }
    early = {"": "40 58 1 1", "a": "90 5 3 2"}
    third = {"": "1 40 35 24", "a": "20 30 26 24", "b": "30 28 22 20", "c": "97 1 1 1"}
    four = {"": "2 52 45 1", "a": "1 51 47 1", "b": "1 52 46 1", "aa": "20 30 26 24"}
    four |= {"ab": "22 28 26 24", "ba": "24 30 26 20", "bb": "97 1 1 1"}
    many = {"": "1 34 33 32", "a": "1 36 33 30", "b": "1 35 33 31", "c": "1 34 33 32"}
    many |= {"cc": "97 1 1 1"}
    recorded: list[list[Tensor]] = [[] for _ in range(9)]
    greedy = check.call(
        watched(tree(trap), 0, recorded[0]), 0, 1, 1, 6, returns=("tokens", "score")
    )
    wide = check.call(watched(tree(trap), 0, recorded[1]), 0, 1, 2, 6, returns=("tokens", "score"))
    family = check.call(
        watched(tree(rivals), 0, recorded[2]), 0, 1, 2, 6, returns=("tokens", "score")
    )
    later = check.call(
        watched(tree(early), 0, recorded[3]), 0, 1, 2, 6, returns=("tokens", "score")
    )
    short = check.call(
        watched(tree(early), 0, recorded[4]), 0, 1, 2, 1, returns=("tokens", "score")
    )
    whole = check.call(watched(tree(many), 0, recorded[5]), 0, 1, 9, 3, returns=("tokens", "score"))
    narrow = check.call(
        watched(tree(third), 0, recorded[6]), 0, 1, 1, 6, returns=("tokens", "score")
    )
    two = check.call(watched(tree(four), 0, recorded[7]), 0, 1, 2, 6, returns=("tokens", "score"))
    again = check.call(watched(tree(four), 0, recorded[8]), 0, 1, 2, 6, returns=("tokens", "score"))
    check.true(
        torch.equal(two[0], again[0]),
        "the same call, made again, gives the same result",
        hint="keep the likeliest continuations: nothing is drawn at random",
    )
    check.equal(
        greedy[0],
        torch.tensor([2, 2, 1]),
        "with width 1, beam search is greedy: a, a, end",
    )
    check.equal(
        wide[0],
        torch.tensor([3, 1]),
        "with width 2 it finds b, end (0.4 · 0.8), though a is likelier than b at first",
    )
    check.equal(
        family[0],
        torch.tensor([2, 3, 1]),
        "both hypotheses may continue the same one: aa (0.55 · 0.52) and ab (0.55 · 0.46)",
        hint="the continuations of all open hypotheses compete: one topk over all of them",
    )
    check.equal(
        later[0],
        torch.tensor([2, 1]),
        "the search goes on after the first hypothesis has ended: a, end (0.58 · 0.9) beats end (0.4)",
        hint="set aside what ends, and go on with the open ones",
    )
    check.equal(
        short[0],
        torch.tensor([2]),
        "after max_length calls open hypotheses count too: a (0.58) beats end (0.4)",
        hint="the winner is the best of all that were set aside or are still open",
    )
    check.equal(
        whole[0],
        torch.tensor([4, 4, 1]),
        "with width 9, all continuations are kept at first, and c, c is among the nine after that",
        hint="topk cannot give more than there are: min(width, number of all continuations)",
    )
    check.equal(
        narrow[0],
        torch.tensor([2, 2, 1]),
        "with width 1, one continuation is kept each time, the likeliest: a, then a, a",
    )
    check.equal(
        two[0],
        torch.tensor([2, 2, 2, 1]),
        "with width 2, two continuations are kept of all together: aa (0.52 · 0.51) and ab",
        hint="the continuations of all open hypotheses compete: one topk over all of them",
    )
    chances = (0.075, 0.32, 0.55 * 0.46 * 0.94, 0.522, 0.58, 0.32 * 0.32 * 0.97, 0.048)
    found = (greedy, wide, family, later, short, whole, narrow)
    for (_, score), chance in zip(found, chances, strict=True):
        check.shape(score)
        check.equal(
            score.double(),
            torch.tensor(chance).double().log(),
            "the score is the log of the product of all probabilities, that of end included",
            hint="start with 0 and add the log-softmax of each token",
            within=1e-3,
        )
    check.true(greedy[0].dtype == torch.int64, "token ids are integers: torch.int64")
    for told, made in zip(("first", "second", "third"), recorded[:3], strict=True):
        lengths = [tokens.shape[1] for tokens in made]
        check.equal(
            lengths,
            [*range(1, len(lengths) + 1)],
            f"in the {told} search, step is called once for each length",
            hint="give step all open hypotheses at once, (open, length)",
        )


# %% check beam_search_ends points=2
hint = "log-probability / length ** alpha decides at the very end, among all set aside or open"
with Check("beam_search", "what ends is set aside", hint) as check:
    # two hypotheses are kept; end is one of them
    slots = {"": "45 35 19 1", "a": "25 30 24 21", "b": "99 1 1 1"}
    refilled = {"": "50 46 3 1", "a": "2 50 47 1", "aa": "25 25 25 25", "ab": "99 1 1 1"}
    longer = {"": "30 60 8 2", "a": "38 50 10 2", "aa": "72 20 5 3"}
    pair = {"": "30 66 3 1", "a": "1 50 48 1", "aa": "32 28 22 18", "ab": "97 1 1 1"}
    trap = {"": "5 50 40 5", "a": "20 30 26 24", "aa": "50 20 20 10", "b": "80 10 6 4"}
    results, recorded = [], []
    searches = ((slots, 2.0, 2), (refilled, 2.0, 3), (longer, 0.0, 3), (longer, 1.0, 3))
    for chances, alpha, longest in (*searches, (longer, 0.5, 3), (pair, 0.0, 3), (trap, 1.0, 6)):
        recorded.append([])
        step = watched(tree(chances), 0, recorded[-1])
        results.append(check.call(step, 0, 1, 2, longest, alpha, returns=("tokens", "score")))
    single: list[Tensor] = []
    check.call(watched(tree(trap), 0, single), 0, 1, 1, 6, returns=("tokens", "score"))
    again = check.call(watched(tree({}), 1, []), 1, 1, 3, 4, returns=("tokens", "score"))
    check.equal(
        results[0][0],
        torch.tensor([2, 2]),
        "a hypothesis that ends is one of the `width` that are kept: with width 2, end (0.45) and a "
        "(0.35) leave no room for b",
        hint="first keep the `width` likeliest, then set aside those that end",
    )
    check.equal(
        results[1][0],
        torch.tensor([2, 3, 1]),
        "what was set aside takes no room in later steps: from a alone, aa and ab are both kept",
        hint="each time, keep `width` continuations of the open hypotheses",
    )
    check.equal(
        results[5][0],
        torch.tensor([2, 3, 1]),
        "with end (0.3) set aside, both aa (0.33) and ab (0.32) are kept, and a, b, end wins",
        hint="each time, keep `width` continuations of the open hypotheses",
    )
    check.equal(results[2][0], torch.tensor([1]), "with alpha 0, the likeliest wins: end (0.3)")
    check.equal(
        results[3][0],
        torch.tensor([2, 2, 1]),
        "with alpha 1, the mean log-probability decides: a, a, end (log 0.216 / 3) beats end (log 0.3)",
    )
    check.equal(
        results[6][1].double(),
        torch.tensor(math.log(0.32) / 2).double(),
        "with alpha 1, the score is the mean log-probability: of b, end it is log 0.32 / 2",
        hint="`end` counts in the length, `begin` does not",
        within=1e-3,
    )
    check.equal(
        results[3][1].double(),
        torch.tensor(math.log(0.216) / 3).double(),
        "the score is the log-probability / length ** alpha: a, a, end has length 3",
        hint="`end` counts in the length, `begin` does not",
        within=1e-3,
    )
    check.equal(
        results[4][1].double(),
        torch.tensor(math.log(0.216) / 3**0.5).double(),
        "with alpha 0.5, the log-probability is divided by the root of the length",
        within=1e-3,
    )
    check.equal(
        again[0], torch.tensor([1]), "`begin` may equal `end`: only an end that is written ends"
    )
    check.equal(
        len(single),
        3,
        "with width 1, the search is over after three calls, when the only hypothesis has ended",
        hint="stop when none is open",
    )
# BEGIN HIDDEN TESTS
with Check("beam_search", "equal to a search without tensors") as check:

    def searched(step, begin, end, width, max_length, alpha):
        going_on, closed = [(0.0, [begin])], []
        for _ in range(max_length):
            logs = step(torch.tensor([row for _, row in going_on])).log_softmax(-1).tolist()
            pairs = [
                (score + log, [*row, token])
                for (score, row), row_logs in zip(going_on, logs, strict=True)
                for token, log in enumerate(row_logs)
            ]
            pairs = sorted(pairs, reverse=True)[:width]
            closed += [pair for pair in pairs if pair[1][-1] == end]
            going_on = [pair for pair in pairs if pair[1][-1] != end]
            if not going_on:
                break
        return max((score / (len(row) - 1) ** alpha, row[1:]) for score, row in closed + going_on)

    for vocab, begin, end, width, max_length, alpha, seed in (
        (6, 0, 1, 3, 7, 0.0, 1),
        (6, 0, 1, 3, 7, 1.0, 2),
        (4, 2, 2, 5, 6, 0.6, 3),
        (3, 0, 2, 40, 4, 0.0, 4),
        (9, 5, 0, 1, 8, 1.0, 5),
        (5, 4, 3, 2, 1, 0.0, 6),
        (4, 1, 0, 4, 9, 2.0, 7),
        (7, 3, 6, 6, 5, 0.3, 8),
        (4, 3, 1, 2, 12, 0.9, 9),
        (30, 3, 1, 4, 6, 0.0, 10),
    ):
        calls = []
        step = by_prefix(vocab, seed)
        tokens, score = check.call(
            watched(step, begin, calls),
            begin,
            end,
            width,
            max_length,
            alpha,
            returns=("tokens", "score"),
        )
        best, row = searched(step, begin, end, width, max_length, alpha)
        check.equal(tokens, torch.tensor(row), "the best hypothesis")
        check.shape(score)
        check.equal(score.detach().double(), torch.tensor(best).double(), "its score", within=1e-3)
        check.true(tokens.dtype == torch.int64, "token ids are integers")
        lengths = [read.shape[1] for read in calls]
        check.true(lengths == [*range(1, len(lengths) + 1)], "one call for each length")
        check.true(len(lengths) <= max_length, "at most max_length calls")
# END HIDDEN TESTS


# %%
some_tokens, score = beam_search(toy_step, begin=5, end=4, width=2, max_length=4)
print(*(NAMES[token] for token in some_tokens.tolist()), f"  probability {score.exp():.2f}")

# %% [markdown]
# (Beam search has several variants. Some keep `width` open hypotheses besides the finished ones, or stop once `width` have finished. Formulas for the length differ, too.)
#
# Now your translator after 100 steps, when it still makes many errors. The next cell finds a sentence that needs a beam of width 4.


# %% folded=true
# Translates with your `beam_search`, and looks for such a sentence: click to unfold.
def next_word(model: Transformer, pair: Pair) -> Callable[[Tensor], Tensor]:
    """The step of a decoder for one sentence: (rows, length) -> (rows, vocabulary)."""
    source, _, _ = as_tensors([pair])

    @torch.no_grad()
    def step(tokens: Tensor) -> Tensor:
        return model(source.expand(len(tokens), -1), tokens)[:, -1]

    return step


def beam_translate(
    model: Transformer, pair: Pair, width: int, alpha: float = 0.0
) -> tuple[list[str], float]:
    tokens, score = beam_search(next_word(model, pair), BEGIN, END, width, 13, alpha)
    return as_words(tokens), score.item()


def rescued() -> Pair:
    """The first test sentence that beam search translates with width 4, but not with 1 and 3.

    If there is none, it says so, and gives the first test sentence.
    """
    for pair, words in zip(test_pairs, translate(beginner(), test_pairs), strict=True):
        if words == pair.french or beam_translate(beginner(), pair, 4)[0] != pair.french:
            continue
        if beam_translate(beginner(), pair, 3)[0] != pair.french:
            return pair
    print("Your model has no such sentence. Here is the first one instead:")
    return test_pairs[0]


# %%
hard = rescued()
print("English", *hard.english)
for beam_width in (1, 3, 4):
    words, score = beam_translate(beginner(), hard, beam_width)
    print(f"width {beam_width}", *words, f"  log-probability {score:.2f}")

# %% [markdown]
# **Puzzle.** The view runs your `beam_search` with width 3. It draws the hypotheses that are kept, and the best of those that are dropped. At which step does width 3 lose the right sentence? And why does that sentence win if it is kept?
#
# <details><summary>Hint</summary>Change the width in the cell from 3 to 4, and follow the winner back from its end. At which step is it the last of the four?</details>
# <details><summary>Answer</summary>In our model at step 7: <em>… pas ma</em> ranks only fourth, behind <em>… pas mes</em> with three verbs. The words after <em>ma</em> are likelier than those after <em>mes</em>: <em>petite femme blanche</em> agrees with <em>ma</em>, not with <em>mes</em>. A search that has dropped <em>ma</em> cannot come back to it.</details>

# %%
from transformer_course.widgets import show_beam

show_beam(
    beam_search,
    next_word(beginner(), hard),
    BEGIN,
    END,
    3,
    13,
    FRENCH,
    title="Your beam search, word by word",
)

# %% [markdown]
# ## 9 · BLEU
#
# So far you counted exact matches: one wrong letter makes a sentence wrong. The classic measure of machine translation is **BLEU**, which counts how many n-grams (runs of n words) of a translation also occur in a reference translation.
#
# **Predict.** The reference is *le petit chat noir suit la reine*. A candidate is *le le le le le le le*. What share of its single words should count?
#
# <details><summary>All: le occurs in the reference</summary>Then a translation of seven articles would be perfect.</details>
# <details><summary>1 of 7</summary>Yes. An n-gram counts at most as often as it occurs in the reference: its count is clipped.</details>
# <details><summary>None</summary>One <em>le</em> is right.</details>
#
# The share of the candidates' n-grams that match, counted in this way, is the **clipped n-gram precision** $p_n$. With $c$ words in all candidates and $r$ in all references (here one per sentence):
#
# $$\mathrm{BLEU} = 100 \cdot \min(1,\, e^{1 - r/c}) \cdot (p_1\, p_2\, p_3\, p_4)^{1/4}$$
#
# The **brevity penalty**, $\min(1,\, e^{1 - r/c})$, keeps short candidates from winning. For a reference of 7 words:

# %%
for n_words in range(4, 10):
    print(f"{n_words} words: brevity penalty {min(1, math.exp(1 - 7 / n_words)):.2f}")

# %% [markdown]
# The last factor of the formula is the geometric mean of the four precisions: if one of them is 0, so is BLEU. Single words show whether the right words are there; longer n-grams show whether they are in the right order.
#
# An example. Candidate: *la petite reine suit la reine noire*. Reference: *la petite reine suit la souris noire*.
#
# | n | n-grams of the candidate | found | not found |
# | --- | --- | --- | --- |
# | 1 | 7 | 6 | one *reine*: the reference has it once |
# | 2 | 6 | 4 | *la reine*, *reine noire* |
# | 3 | 5 | 3 | *suit la reine*, *la reine noire* |
# | 4 | 4 | 2 | *reine suit la reine*, *suit la reine noire* |
#
# Both sentences have 7 words, so the brevity penalty is 1: $\mathrm{BLEU} = 100 \cdot (\tfrac{6}{7} \cdot \tfrac{4}{6} \cdot \tfrac{3}{5} \cdot \tfrac{2}{4})^{1/4} \approx 64.3$.
#
# BLEU is a *corpus* measure: first add up the counts of all sentences, then divide.
#
# **Exercise** (25 minutes). Write corpus BLEU with n-grams of 1 to 4 words.
#
# <details><summary>Hint 1</summary><code>Counter</code> counts anything that can be a key of a dict: what about an n-gram? And what does <code>&</code> do with two counters?</details>
# <details><summary>Hint 2</summary>If no 4-gram is found at all, the product is 0, and so is BLEU: no logarithm of 0.</details>
# <details><summary>Hint 3</summary><code>Counter(tuple(words[i : i + n]) for i in …)</code> counts n-grams, and <code>&</code> takes the smaller count of each: that is clipping.</details>


# %% exercise bleu
def bleu(candidates: list[list[str]], references: list[list[str]]) -> float:
    """Return the corpus BLEU-4 of the candidates, from 0 to 100; each has one reference.

    candidates, references: a list of tokens for each sentence, in the same order.
    For n = 1 to 4, the precision is: matches / n-grams of the candidates, both summed over all
    sentences. An n-gram of a candidate matches at most as often as it is in its own reference.
    BLEU is 100 · brevity · the geometric mean of the four precisions, or 0 if one of them is 0 or
    has no n-grams.
    With c tokens in all candidates and r in all references, brevity is exp(1 - r / c) if c < r,
    else 1. Nothing is smoothed.
    """
    # BEGIN SOLUTION
    matches, totals = [0] * 4, [0] * 4
    for candidate, reference in zip(candidates, references, strict=True):
        for n in range(4):
            written = Counter(zip(*(candidate[i:] for i in range(n + 1)), strict=False))
            wanted = Counter(zip(*(reference[i:] for i in range(n + 1)), strict=False))
            matches[n] += (written & wanted).total()
            totals[n] += written.total()
    if 0 in matches:
        return 0.0
    brevity = math.exp(min(0.0, 1 - sum(map(len, references)) / totals[0]))
    precisions = [match / total for match, total in zip(matches, totals, strict=True)]
    return 100 * brevity * math.prod(precisions) ** 0.25
    # END SOLUTION


# %% check bleu points=2
hint = (
    "sum matches and n-grams over all sentences first; then four precisions, their geometric mean"
)
with Check("bleu", "sentences that you can count by hand", hint) as check:
    mat, rug = map(str.split, ("the cat sat on the mat", "the cat sat on a mat"))
    twice, once = map(str.split, ("a b c d a b c d", "a b c d e f g h"))
    joined, apart = map(str.split, ("a bc d e f g", "ab c d e f g"))
    corpus = [mat, *map(str.split, ("he is here", "we saw them run home today"))]
    wanted = [rug, *map(str.split, ("she is here", "we saw them run to school today"))]
    same = check.call([mat, once], [mat, once], returns=float)
    close = check.call([mat], [rug], returns=float)
    clipped = check.call([twice], [once], returns=float)
    short = check.call([mat[:4]], [mat], returns=float)
    long = check.call([[*mat, "now"]], [mat], returns=float)
    swapped = check.call([mat, once], [once, mat], returns=float)
    several = check.call(corpus, wanted, returns=float)
    lengths = check.call([mat[:4], mat], [mat, mat[:5]], returns=float)
    words = check.call([joined], [apart], returns=float)
    turned = check.call([[once[1], once[0], *once[2:]]], [once], returns=float)
    none = check.call([["the", "cat", "sat"]], [["the", "cat", "sat"]], returns=float)
    check.equal(same, 100.0, "candidates equal to their references: 100", within=1e-3)
    check.equal(
        close,
        100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25,
        "the precisions are 5/6, 3/5, 2/4 and 1/3, and the lengths are equal",
        within=1e-3,
    )
    check.equal(
        clipped,
        100 * (4 / 8 * 3 / 7 * 2 / 6 * 1 / 5) ** 0.25,
        "a, b, c and d match once, not twice: the reference has each of them once",
        hint="an n-gram matches at most as often as it is in the reference",
        within=1e-3,
    )
    check.equal(
        short,
        100 * math.exp(1 - 6 / 4),
        "four right tokens for six: all precisions are 1, the brevity is exp(1 - 6/4)",
        within=1e-3,
    )
    check.equal(
        long,
        100 * (6 / 7 * 5 / 6 * 4 / 5 * 3 / 4) ** 0.25,
        "one token too many: that lowers the precisions, and the brevity stays 1",
        within=1e-3,
    )
    check.equal(
        lengths,
        100 * (9 / 10 * 7 / 8 * 5 / 6 * 3 / 4) ** 0.25 * math.exp(1 - 11 / 10),
        "one candidate too short, one too long: the brevity compares the sums of lengths, 10 and 11",
        within=1e-3,
    )
    check.equal(
        several,
        100 * (12 / 15 * 7 / 12 * 4 / 9 * 2 / 6) ** 0.25 * math.exp(1 - 16 / 15),
        "three sentences: matches and n-grams of all of them are summed before you divide",
        within=1e-3,
    )
    check.equal(
        swapped, 0.0, "each candidate is compared with its own reference alone", within=1e-9
    )
    check.equal(
        words,
        100 * (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25,
        "a bc is not ab c: tokens are compared, not their letters",
        within=1e-3,
    )
    check.equal(
        turned,
        100 * (8 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** 0.25,
        "b, a is not a, b: the order of the tokens counts",
        within=1e-3,
    )
    check.equal(none, 0.0, "sentences of three tokens have no 4-gram, so no match: 0", within=1e-9)
# BEGIN HIDDEN TESTS
with Check("bleu", "longer texts") as check:

    def counted(candidates, references):
        product, sizes = 1.0, [sum(map(len, side)) for side in (candidates, references)]
        for n in range(1, 5):
            matches = total = 0
            for candidate, reference in zip(candidates, references, strict=True):
                left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
                for i in range(len(candidate) - n + 1):
                    total += 1
                    if candidate[i : i + n] in left:
                        left.remove(candidate[i : i + n])
                        matches += 1
            product *= matches / max(total, 1)
        return 100 * product**0.25 * math.exp(min(0.0, 1 - sizes[1] / max(sizes[0], 1)))

    for seed, vocab, cut in ((1, 3, 0), (2, 4, 3), (3, 2, 0), (4, 3, 5), (5, 60, 0)):
        ids = [(numbers(9 + i, seed=seed + i).abs() * 50).long() % vocab for i in range(8)]
        texts = [[f"w{token}" for token in row.tolist()] for row in ids]
        candidates = [row[: len(row) - cut * (i % 2)] for i, row in enumerate(texts[:4])]
        expected = counted(candidates, texts[4:])
        check.equal(
            check.call(candidates, texts[4:], returns=float),
            expected,
            "counted one by one",
            within=1e-3,
        )
        check.equal(
            check.call(texts[4:], candidates, returns=float),
            counted(texts[4:], candidates),
            "the other way round",
            within=1e-3,
        )
    empty = [*map(str.split, ("", "a b c d e", "a"))]
    full = [*map(str.split, ("a b", "a b c d e", "b c"))]
    check.equal(
        check.call(empty, full, returns=float),
        counted(empty, full),
        "an empty candidate",
        within=1e-3,
    )
    check.equal(check.call([[], []], full[:2], returns=float), 0.0, "nothing but empty candidates")
# END HIDDEN TESTS


# %%
some_references = [pair.french for pair in test_pairs]
print(f"dictionary            {bleu(looked_up, some_references):.1f}")
for name, model in {"after 100 steps": beginner(), "after 300 steps": translator()}.items():
    print(f"model {name:15} {bleu(translate(model, test_pairs), some_references):.1f}")

# %% [markdown]
# **From the lecture**: “Great Results with Transformers: NMT” in *Introduction to Transformers*, CS60216: the original Transformer (big) reaches a BLEU of 41.8 from English to French. Yours scores higher, but on sentences of one small grammar, each with a single right translation. BLEU scores on different test sets cannot be compared.
#
# **Predict.** Two translators make one error in a sentence. The first writes a wrong ending: *petit* for *petite*. The second writes a wrong word there: *jeune* (young) for *petite* (small). Whose BLEU is higher?
#
# <details><summary>The first one's: a wrong ending is a small error</summary>To a human reader it is. BLEU compares whole words.</details>
# <details><summary>The second one's: its grammar is right</summary>BLEU knows no grammar.</details>
# <details><summary>Both are about equal</summary>Yes. BLEU only asks whether a word is the reference's, so each error breaks the same n-grams.</details>

# %% folded=true
# Puts one wrong adjective into each test sentence that has one: click to unfold.
ADJECTIVES = [entry[1:] for entry in BEFORE_NOUN + AFTER_NOUN]  # all forms of each


def one_error(words: list[str], wrong_word: bool) -> list[str]:
    """The words with another adjective in the same form, or with another form of the same one.

    Without an adjective: no words.
    """
    for i, word in enumerate(words):
        for number, forms in enumerate(ADJECTIVES):
            if word in forms:
                ending = next(form for form in forms if form != word)
                other = ADJECTIVES[number - 1][forms.index(word)]
                return [*words[:i], other if wrong_word else ending, *words[i + 1 :]]
    return []


# %%
for name, wrong_word in {"wrong ending": False, "wrong word": True}.items():
    pairs = [(one_error(words, wrong_word), words) for words in some_references]
    with_error = [(wrong, words) for wrong, words in pairs if wrong]
    score = bleu([wrong for wrong, _ in with_error], [words for _, words in with_error])
    print(f"one {name:12} in each of {len(with_error)} sentences: BLEU {score:.1f}")

# %% [markdown]
# So BLEU cannot tell a slip from a mistranslation. It compares *systems*, on many sentences. It does not say whether one sentence is right. (Newer metrics, such as COMET, are networks trained on human judgements.)
#
# ### Does the beam help?
#
# A wider beam usually finds likelier sentences. (Not always: it can drop the hypothesis that greedy decoding follows.) Are they better translations? First your model after 100 steps, on 60 sentences.


# %%
@cache
def beam_results(width: int) -> tuple[float, float]:
    """The mean log-probability of what beam search finds, and its BLEU, on 60 test sentences."""
    found = [beam_translate(beginner(), pair, width) for pair in test_pairs[:60]]
    score = sum(score for _, score in found) / len(found)
    return score, bleu([words for words, _ in found], some_references[:60])


for beam_width in (1, 4):
    score, quality = beam_results(beam_width)
    print(f"width {beam_width}: log-probability {score:6.3f}   BLEU {quality:.1f}")

# %% [markdown]
# Now three seeds and 100 sentences, recorded with the same code. With α = 1, the log-probability is divided by the length.
#
# Before you look: does BLEU rise further with width 16?

# %%
recorded_beam = {  # seeds 0, 1 and 2
    "width 1": [60.4, 65.5, 55.4],
    "width 4": [64.1, 65.8, 63.7],
    "width 16": [60.6, 60.6, 58.8],
    "width 4, α = 1": [65.5, 70.8, 64.0],
    "width 16, α = 1": [65.5, 70.3, 65.4],
}
figures.runs(recorded_beam, "BLEU", "After 100 steps: the quality of the translations", linked=True)

# %% [markdown]
# What to see: with α = 1, both widths have a higher BLEU than width 1, in every seed. With α = 0, BLEU is higher with width 4 than with width 1 (in one seed hardly), and lower again with width 16, in every seed. (After 300 steps, all three widths have a BLEU of 100.) Yet the wider search does find likelier sentences. Here are means over the 100 sentences; the last two rows leave out the brevity penalty:
#
# | | seed 0 | seed 1 | seed 2 |
# | --- | --- | --- | --- |
# | log-probability of a sentence, width 1 | −5.16 | −5.64 | −6.21 |
# | log-probability of a sentence, width 4 | −4.98 | −5.37 | −5.80 |
# | log-probability of a sentence, width 16 | −4.91 | −5.24 | −5.58 |
# | BLEU without brevity penalty, width 4 | 66.2 | 72.2 | 64.7 |
# | BLEU without brevity penalty, width 16 | 67.3 | 71.0 | 66.3 |
#
# Compare the lengths of the translations. The references have 8.0 words on average:

# %%
recorded_lengths = {  # words in a sentence, for the seeds 0, 1 and 2
    "width 1": [7.9, 7.6, 7.9],
    "width 16": [7.2, 6.9, 7.1],
    "width 16, α = 1": [7.9, 7.7, 7.9],
}
figures.runs(recorded_lengths, "words", "Mean length of the translations", linked=True)

# %% [markdown]
# What to see: width 16 writes too few words. Most of the fall in BLEU is brevity penalty: without it, BLEU falls in only one seed. With α = 1, the lengths are about those of width 1.

# %% [markdown]
# ## 10 · In your own words
#
# **Question** (15 minutes). A friend trains an encoder-decoder. The training and validation losses fall to 0.02. But the translations are nonsense. Name a likely cause, and a test that would show it. Another friend reports a validation loss far *above* the training loss, although the translations are equally good on both sets. Which line of code do you suspect, and why is the loss too high, not too low? Write four or five sentences: double-click the cell below. A person reads them.

# %% answer two_losses [markdown] points=2
# <!-- BEGIN SOLUTION -->
# The first friend's decoder probably has no causal mask, so with teacher forcing each position reads the very word that it should predict, in training and in validation alike: both losses are low and say nothing. While decoding, later words do not exist, and the model has learned nothing else. A test changes the later positions of the decoder's input and checks that no earlier output changes, in training and in evaluation mode. (Or the target was not shifted: then each position reads the word that it should predict, mask or no mask. The test of later positions does not see that; print the decoder's input beside its targets.) The second friend's code probably has the mask only in training, as in `if self.training`: look at the line that makes the mask. The validation loss is computed without it, so self-attention averages over later words, which it never did in training; the model has not learned to use them, so its outputs get worse, not better. Decoding is not affected if the code feeds one new word at a time: there are no later words yet.
# <!-- END SOLUTION -->

# %% [markdown]
# **A good place to stop.** The exercises are done. In the last three parts you only measure. They compare your model with the RNN, with other uses of the same layers, and with PyTorch's own. (Back later? Run all cells above first.)

# %% [markdown]
# ## 11 · The RNN or the Transformer?
#
# Before 2017, most neural translation systems were RNNs with attention. Here is the one of lesson 10, built from PyTorch's parts: a GRU reads the source in both directions, additive attention reads its states, and a GRU cell writes.
#
# **From the lecture**: “Sequence-to-sequence with RNNs and attention” in *Transformer: Part I (Encoder)*, CS7150, draws this model step by step.

# %% folded=true
# The RNN with attention of lesson 10, with about as many parameters as your Transformer: click to unfold.


class RecurrentTranslator(nn.Module):
    """A bidirectional GRU as encoder, additive attention, and a GRU cell as decoder."""

    def __init__(self, d_hidden: int) -> None:
        super().__init__()
        self.source_tokens = nn.Embedding(len(ENGLISH), 64)
        self.target_tokens = nn.Embedding(len(FRENCH), 64)
        self.gru = nn.GRU(64, d_hidden, batch_first=True, bidirectional=True)
        self.w_query = nn.Linear(d_hidden, d_hidden, bias=False)
        self.w_key = nn.Linear(2 * d_hidden, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self.cell = nn.GRUCell(64 + 2 * d_hidden, d_hidden)
        self.output = nn.Linear(3 * d_hidden, len(FRENCH))

    def encode(self, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """All states (batch, source, 2 · d_hidden), and the last backward state."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.source_tokens(source), mask[:, 0].sum(1), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        return nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0], last[1]

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor) -> Tensor:
        states, state = self.encode(source, source_mask)
        keys, collected = self.w_key(states), []
        for token in self.target_tokens(shifted).unbind(1):  # one step at a time
            scores = self.v(torch.tanh(self.w_query(state)[:, None] + keys)).squeeze(-1)
            weights = scores.masked_fill(~source_mask[:, 0], -math.inf).softmax(-1)
            context = (weights[:, None] @ states)[:, 0]
            state = self.cell(torch.cat([token, context], -1), state)
            collected.append(torch.cat([state, context], -1))
        return self.output(torch.stack(collected, 1))


def new_recurrent(seed: int) -> RecurrentTranslator:
    torch.manual_seed(seed)
    return RecurrentTranslator(76)


# %% [markdown]
# Both train with teacher forcing on the same sentences.
#
# **Predict.** Equal parameters, 100 steps, a learning rate that suits both. Which one translates more sentences correctly?
#
# <details><summary>The Transformer: it replaced the RNN</summary>That happened for large models and much data. Here both are small.</details>
# <details><summary>The RNN</summary>Yes, by far. A likely reason, not tested here: it reads in order by construction. The Transformer has to learn what its position embeddings mean.</details>
# <details><summary>They are about equal</summary>Not yet, as you will see below. After 150 steps they are closer: 99 % (RNN) and 95 % (Transformer).</details>


# %% folded=true
# Trains both for 100 steps: click to unfold.
def parameters(model: nn.Module) -> int:
    return sum(part.numel() for part in model.parameters())


@cache  # trains once
def after_100_steps(name: str) -> float:
    """The share of right sentences for seed 0 and a peak rate of 0.008."""
    model = {"RNN": new_recurrent, "Transformer": new_transformer}[name](0)
    return learn(model, 100, seed=0, peak=0.008)[1]


# %%
for name, model in {"RNN": new_recurrent(0), "Transformer": beginner()}.items():
    print(
        f"{name:12} {parameters(model):,} parameters   sentences correct {after_100_steps(name):.1%}"
    )

# %% [markdown]
# This is one seed. A rate that suits one model may not suit the other, so both ran at three peak rates: 0.004, 0.008 and 0.016. For the Transformer, 0.008 is the best; for the RNN, it is within 0.2 percentage points of the best. The next figure shows three seeds at this rate, recorded with `learn`.
#
# - The rate was chosen on the test sentences themselves. If that favours a model, it is the Transformer, which has its best rate.
# - Parts 5 to 9 used 0.004, so their model after 100 steps is weaker.
# - Every run follows the schedule for 300 steps; a shorter run stops earlier.

# %%
recorded_models = {  # seeds 0, 1 and 2
    "RNN, 100 steps": [0.968, 0.984, 0.972],
    "Transformer, 100 steps": [0.688, 0.764, 0.584],
    "RNN, 150 steps": [0.980, 1.0, 0.996],
    "Transformer, 150 steps": [0.960, 0.956, 0.936],
}
figures.runs(recorded_models, "share of sentences correct", "The RNN and the Transformer")

# %% [markdown]
# What to see: on this task the RNN learns *faster* per step, in every seed. After 150 steps it is still a little ahead. So learning from fewer examples is not the Transformer's advantage here.
#
# Then why did the field change? These short sentences do not show it. One reason is training time. The RNN needs the state of step $t$ before it can compute step $t + 1$. The Transformer computes all positions of a layer at once.
#
# **Predict.** Sentences of 160 tokens, one processor core. Which training step takes less time?
#
# <details><summary>The RNN's: the Transformer compares every position with every other</summary>It does, 160 · 160 times. But it does so in a few large matrix products.</details>
# <details><summary>The Transformer's</summary>Yes. The cells below measure it, and one reason for it.</details>
# <details><summary>Neither: on one core nothing runs in parallel</summary>Nothing runs on a second core. But one large matrix product still takes less time than 160 small ones.</details>

# %% folded=true
# Measures time: the numbers differ from run to run
import time

LENGTHS = [10, 20, 40, 80, 160]


def best_milliseconds(run: Callable[[], object]) -> float:
    """The shortest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def step_milliseconds(model: Model, length: int) -> float:
    """The time of one training step on 16 random sentences of this length."""
    draw = torch.Generator().manual_seed(0)
    source = torch.randint(3, len(ENGLISH), (16, length), generator=draw)
    target = torch.randint(3, len(FRENCH), (16, length), generator=draw)
    mask = torch.ones(16, 1, length, dtype=torch.bool)

    def run() -> None:
        logits = model(source, shift_right(target, BEGIN), mask)
        translation_loss(logits, target, PADDING).backward()

    return best_milliseconds(run)


long_transformer = Transformer(len(ENGLISH), len(FRENCH), 64, 4, 2, 128, max_length=160)
timed = {
    "RNN with attention": [step_milliseconds(new_recurrent(0), length) for length in LENGTHS],
    "Transformer": [step_milliseconds(long_transformer, length) for length in LENGTHS],
}
figures.curves(
    LENGTHS, timed, "tokens in a sentence", "milliseconds", "One training step", logarithmic="xy"
)

# %% [markdown]
# What to see (the milliseconds depend on your machine): at 160 tokens, the Transformer's step took 20 to 60 % of the RNN's time in our runs. (A step here is a forward and a backward pass, without the optimiser's update.)
#
# Is it because of the many small steps? To isolate them, apply one linear layer to the same 160 tokens, first in one call, then token by token. The number of multiplications is the same.

# %%
# Measures time: the numbers differ from run to run
linear, long_batch = nn.Linear(64, 256), torch.randn(16, 160, 64)
whole = best_milliseconds(lambda: linear(long_batch))
one_by_one = best_milliseconds(lambda: torch.stack([linear(x) for x in long_batch.unbind(1)], 1))
print(f"one call: {whole:.1f} ms   160 calls: {one_by_one:.1f} ms")

# %% [markdown]
# What to see: 160 small calls take two to eight times as long as one large call (in our runs), although both compute the same. So the many small steps are one reason. (On a GPU we expect a larger gap; it is not measured here.) In decoding, the Transformer loses this advantage: both models write one word at a time.

# %% [markdown]
# ## 12 · Encoder, decoder or both?
#
# Do you need two stacks? The same layers can be used in other ways. Each of the next three models is *one* stack of four layers. It reads the English words and the French positions as one sequence. Only the mask and what the French positions read differ. A dot means that a row may attend to a column.


# %%
def stack_mask(kind: str, source: int, target: int) -> Tensor:
    """Which of the source + target positions may attend to which: (length, length), True = may."""
    allowed = torch.ones(source + target, source + target, dtype=torch.bool).tril()
    if kind == "prefix LM":
        allowed[:source, :source] = True
    if kind == "encoder-only":
        allowed[:] = True
    return allowed


KINDS = ["encoder-only", "decoder-only", "prefix LM"]
sequence = ["old", "cats", "hide", "output 1", "output 2", "output 3"]
figures.masks(
    {kind: (stack_mask(kind, 3, 3), "key", sequence) for kind in KINDS}, "query", sequence
)

# %% [markdown]
# - **Encoder-only**: every position may attend to every other. If it read French words, it would see its targets. So its output positions are empty, and it fills them all at once: it is **non-autoregressive**.
# - **Decoder-only**: one causal mask. Each output position reads the previous French word; the first reads `<begin>`. An English word does not see the English words after it. Only the French outputs count in the loss.
# - **Prefix LM**: as decoder-only, but the English words see one another. Comparing it with decoder-only isolates one property of an encoder: a bidirectional source.
#
# A fourth model is the control: your two stacks, but with a causal mask in the encoder, too. Nothing else differs.

# %% folded=true
# One stack for both languages, with as many parameters as your Transformer: click to unfold.


class OneStack(nn.Module):
    """Four layers over the source and the target in one sequence; `kind` chooses the mask."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.source_tokens = nn.Embedding(len(ENGLISH), 64)
        self.target_tokens = nn.Embedding(len(FRENCH), 64)
        self.positions = nn.Embedding(24, 64)  # the target's positions begin at 11
        # d_ff of 193 instead of 128 makes up for the missing cross-attention
        layers = nn.TransformerEncoderLayer(64, 4, 193, 0.0, batch_first=True, norm_first=True)
        norm = nn.LayerNorm(64)
        self.encoder = nn.TransformerEncoder(layers, 4, norm, enable_nested_tensor=False)
        self.output = nn.Linear(64, len(FRENCH))

    def forward(self, source: Tensor, shifted: Tensor, source_mask: Tensor) -> Tensor:
        length, written = source.shape[1], shifted.shape[1]
        if self.kind == "encoder-only":
            shifted = torch.full_like(shifted, BEGIN)  # empty positions
        positions = self.positions.weight
        x = torch.cat(
            [
                self.source_tokens(source) + positions[:length],
                self.target_tokens(shifted) + positions[11 : 11 + written],
            ],
            1,
        )
        allowed = stack_mask(self.kind, length, written) & F.pad(
            source_mask, (0, written), value=True
        )
        allowed = allowed | torch.eye(length + written, dtype=torch.bool)  # padding sees itself
        stream = self.encoder(x, mask=~allowed.repeat_interleave(4, 0))  # once for each head
        return self.output(stream[:, length:])


def new_stack(kind: str, seed: int) -> OneStack:
    torch.manual_seed(seed)
    return OneStack(kind)


@torch.no_grad()
def translate_at_once(model: OneStack, pairs: list[Pair]) -> list[list[str]]:
    """What an encoder-only model fills into its empty positions."""
    source, _, mask = as_tensors(pairs)
    empty = torch.full((len(pairs), 12), BEGIN)  # the longest target, with its end
    return [as_words(row) for row in model(source, empty, mask).argmax(-1)]


# %% [markdown]
# **From the lecture**: “Transformer – Wrap Up” in *Transformers*, CSCI 4360/6360, recommends both stacks when you want bidirectional context, as in translation. It says that they perform better than decoder-only models.
#
# **Predict.** Equal parameters, 150 steps, six seeds, each model at a learning rate that suits it. Two stacks or decoder-only: which translates more sentences correctly?
#
# <details><summary>Two stacks, in every seed</summary>Yes, by 1 to 16 percentage points.</details>
# <details><summary>Decoder-only, in every seed</summary>Most large language models are decoder-only. Here it is behind in every seed.</details>
# <details><summary>It depends on the seed</summary>The gap does, but not its sign.</details>
#
# Here are the results, recorded with `learn`. (Encoder-only is scored on what `translate_at_once` writes.) Peak rates of 0.004, 0.008 and 0.016 were tried with seeds 0, 1 and 2, and 0.032 where 0.016 was best. Each kind uses the rate that was best over these three seeds.

# %%
recorded_kinds = {  # seeds 0 to 5
    "two stacks, rate 0.008": [0.960, 0.956, 0.936, 0.972, 0.956, 0.932],
    "two stacks, causal encoder, rate 0.008": [0.948, 0.928, 0.880, 0.824, 0.900, 0.932],
    "decoder-only, rate 0.016": [0.944, 0.920, 0.848, 0.808, 0.948, 0.796],
    "prefix LM, rate 0.016": [0.908, 0.864, 0.868, 0.784, 0.940, 0.864],
    "encoder-only, rate 0.008": [0.892, 0.876, 0.532, 0.356, 0.768, 0.876],
}
for name, model in {"two stacks": beginner(), "one stack": new_stack("decoder-only", 0)}.items():
    print(f"{name:10} {parameters(model):,} parameters")
figures.runs(
    recorded_kinds,
    "share of sentences correct",
    "After 150 steps, with equal parameters",
    linked=True,
)

# %% [markdown]
# The rates were chosen on the test sentences themselves, which can favour each kind a little. Seeds 3, 4 and 5 played no part in that choice.
#
# Is it the bidirectional source that helps? The next cell compares kinds that differ in just that, and the two that the slide compares.

# %%
two_stacks, causal_encoder, decoder_only, prefix = list(recorded_kinds.values())[:4]
for name, better, worse in (
    ("two stacks minus decoder-only", two_stacks, decoder_only),
    ("bidirectional minus causal source, two stacks", two_stacks, causal_encoder),
    ("bidirectional minus causal source, one stack", prefix, decoder_only),
):
    gains = [100 * (a - b) for a, b in zip(better, worse, strict=True)]
    print(f"{name:46}", *(f"{gain:+5.1f}" for gain in gains), "percentage points")

# %% [markdown]
# What to see: two stacks are ahead of decoder-only in each of six seeds, once by two sentences of 250. That agrees with the slide. A bidirectional source helped two stacks in five seeds, but one stack in only two (no gain on average).
#
# Encoder-only varies most, and is below two stacks in each seed. A likely reason, not tested here: an output position does not read what the others write. After 300 steps, all five kinds translate 99 % or more (seeds 0, 1 and 2).

# %% [markdown]
# When do you use which?
#
# | you want to | use | because |
# | --- | --- | --- |
# | label or embed a text | encoder | each position sees the whole text, in one pass |
# | continue text of any kind | decoder | one stack, one loss, any text without labels |
# | turn one sequence into another | both, or a decoder | two stacks were ahead here after 150 steps; most large language models are decoder-only |

# %% [markdown]
# ## 13 · The real thing
#
# With the same weights, does PyTorch's `nn.Transformer` compute the same? It has no embeddings, positions or output layer, so both use yours. Its cross-attention is called `multihead_attn`.

# %%
import warnings

# PyTorch says that it cannot use its nested tensors here
warnings.filterwarnings("ignore", message="enable_nested_tensor")
torch.manual_seed(0)
stacks = nn.Transformer(16, 4, 2, 2, 40, 0.0, batch_first=True, norm_first=True).double()
for parameter in stacks.parameters():
    nn.init.normal_(parameter, std=0.3)
whole = Transformer(11, 13, 16, 4, 2, 40, max_length=9).double()
renamed = {}
for name, weight in stacks.state_dict().items():
    if name.startswith("decoder"):
        name = name.removeprefix("decoder.").replace("self_attn", "self_attention")
    renamed[name.replace("multihead_attn", "cross_attention")] = weight
whole.load_state_dict({**whole.state_dict(), **renamed})
some_source, some_shifted = torch.randint(11, (3, 7)), torch.randint(13, (3, 5))
visible = torch.arange(7) < torch.tensor([7, 4, 6])[:, None, None]  # (batch, 1, source)
expected = stacks(
    whole.source_tokens(some_source) + whole.positions.weight[:7],
    whole.target_tokens(some_shifted) + whole.positions.weight[:5],
    tgt_mask=nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64),
    src_key_padding_mask=~visible[:, 0],
    memory_key_padding_mask=~visible[:, 0],
)
difference = whole(some_source, some_shifted, visible) - whole.output(expected)
print(f"largest difference {difference.abs().max():.0e}")

# %% [markdown]
# What to see: a difference below 1e-13 is rounding error. Your model computes what PyTorch's does.
#
# Your model differs from that of *Attention Is All You Need* (2017):
#
# | | your model | the paper's |
# | --- | --- | --- |
# | norms | pre-norm, and one after each stack | post-norm |
# | positions | learned | sinusoids (lesson 6) |
# | token embeddings | added as they are | times $\sqrt{d_\text{model}}$ |
# | both embeddings, output layer | three matrices | one matrix, shared (tied) |
# | training | no dropout | dropout 0.1; label smoothing (the right token has a target probability of about 0.9 instead of 1) |
# | where dropout can be applied | output of each sublayer, embedding sums, attention weights, after the ReLU | output of each sublayer, embedding sums |
# | tokens | whole words | subwords |
# | decoding | greedy, or beam search | beam search of width 4, α = 0.6 (another formula for the length) |
# | size | 2 + 2 layers, $d_\text{model}$ 64 | 6 + 6 layers, $d_\text{model}$ 512 |
#
# ### Two norms too many (optional)
#
# In the paper, each sublayer ends with a norm on the residual stream. PyTorch's `nn.Transformer` is post-norm by default and has the paper's sizes.
#
# **Predict.** Which norms of `nn.Transformer()` are not in the paper?
#
# <details><summary>None: it is the paper's model</summary>It has two norms more: the next cell prints them.</details>
# <details><summary>norm3 of each decoder layer</summary>A decoder layer has three sublayers, and in the paper each is followed by a norm.</details>
# <details><summary>One after each stack</summary>Yes. In a pre-norm model they are needed. A post-norm layer ends with a norm already.</details>

# %%
with torch.device("meta"):  # counts without memory for the weights
    base = nn.Transformer()  # d_model 512, 8 heads, 6 + 6 layers, d_ff 2048
norms = [base.encoder.norm, base.decoder.norm]
print("pre-norm:", base.encoder.layers[0].norm_first, "  after the stacks:", *norms)
in_norms = sum(parameters(norm) for norm in norms if isinstance(norm, nn.Module))
print(f"{parameters(base):,} parameters, {in_norms:,} of them in these two norms")

# %% [markdown]
# `nn.Transformer` always adds both norms, whatever `norm_first` says (as of PyTorch 2.13). To build the paper's stacks, use `nn.TransformerEncoder(layer, 6)` and `nn.TransformerDecoder(layer, 6)` without a norm.

# %% [markdown]
# ### BLEU, from the field's own library
#
# Many papers report BLEU as computed by the library `sacrebleu`. If it is installed, the next cell compares it with yours. (`tokenize="none"`: the words are split already. `smooth_method="none"`: as in the formula.)

# %%
import importlib.util


def sacrebleu_of(candidates: list[list[str]], references: list[list[str]]) -> float:
    library = importlib.import_module("sacrebleu")
    hypotheses = [" ".join(words) for words in candidates]
    truths = [" ".join(words) for words in references]
    return library.corpus_bleu(hypotheses, [truths], tokenize="none", smooth_method="none").score


if importlib.util.find_spec("sacrebleu"):
    for name, some_candidates in {
        "dictionary": looked_up,
        "model after 100 steps": translate(beginner(), test_pairs),
    }.items():
        difference = sacrebleu_of(some_candidates, some_references) - bleu(
            some_candidates, some_references
        )
        print(
            f"{name:22} BLEU {bleu(some_candidates, some_references):.2f}   difference from sacrebleu {abs(difference):.0e}"
        )
else:
    print("sacrebleu is not installed here; `pip install sacrebleu` installs it")

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("11_encoder_decoder")

# %% [markdown]
# - The encoder-decoder has two stacks. The encoder returns the memory, one vector for each source token; every decoder layer reads it by cross-attention: queries from the target, keys and values from the memory.
# - In training, the decoder reads the target, shifted right by one (teacher forcing). Thanks to the shift and the causal mask, all positions train at once and none sees its own target. Without the mask, the loss falls further, and the model cannot translate.
# - If the mask is applied in training only, the *validation* loss is wrong: in your runs, too high. A test that changes later positions, in both modes, finds such a leak. It does not find a target that was never shifted: for that, print the decoder's input beside its targets.
# - Greedy decoding takes the likeliest token at each step. Beam search keeps several hypotheses, and usually finds likelier sentences. If the score is a sum of log-probabilities, a wide beam can write sentences that are too short, as after 100 steps here; length normalisation helps.
# - BLEU compares n-grams of a whole corpus with references: the geometric mean of the clipped precisions of 1- to 4-grams, times a brevity penalty. It does not know what a sentence means.
# - At equal parameters, the RNN with attention needs fewer steps on this small task. On long sentences the Transformer's training step is faster: it computes all positions at once.
# - After 150 steps, two stacks were ahead of decoder-only of equal size in each of six seeds. Whether a bidirectional source helps depended on the model: two stacks gained in five seeds; one stack gained in only two, and not on average.
#
# **What comes next.** You have all three uses of the Transformer's layers: an encoder, a decoder and both. Lesson 12 goes back to the encoder alone, and asks a new question: can it learn from text that nobody has translated or labelled? It hides words, and trains the encoder to predict them.

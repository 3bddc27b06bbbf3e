# %% [markdown]
# ## 1 · One row for two sentences
#
# BERT reads one sentence, or two, in one row of tokens. Two tokens with a role of their own mark the parts: `[CLS]` stands first, `[SEP]` ends each sentence. A row of **segments** says which sentence a token belongs to.

# %%
PADDING, CLS, SEP, MASK = range(4)
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
seen_words = sorted({word for r in reviews(2000, seed=0) for word in r.first + r.second})
VOCABULARY = SPECIAL + seen_words
IDS = {word: i for i, word in enumerate(VOCABULARY)}
print(len(VOCABULARY), "tokens:", *VOCABULARY)

# %% [markdown]
# **Predict.** The pair is *it was good* and *love it*. How many tokens has its row, without padding?
#
# <details><summary>5</summary>Those are the words.</details>
# <details><summary>7</summary>One `[SEP]` ends the first sentence, and another the second.</details>
# <details><summary>8</summary>Yes: 5 words, `[CLS]` and two `[SEP]`.</details>
#
# **Exercise** (15 minutes). Pack pairs into rows. If one does not fit, raise a `ValueError` whose message contains how many tokens it has and how many fit.
#
# <details><summary>Hint 1</summary>Make the tokens of one pair as a list, and its segments as a list of the same length. Then fill both up.</details>
# <details><summary>Hint 2</summary>The first <code>[SEP]</code> belongs to segment 0, the second to segment 1. Padding is 0 in both.</details>


# %% exercise pack
def pack(
    first: list[list[int]], second: list[list[int]] | None, length: int
) -> tuple[Tensor, Tensor]:
    """Pack sentences, or pairs of them, into rows: [CLS] first [SEP] second [SEP], then [PAD].

    first: a list of token ids for each row; second: as many, or None: then rows end after the first
    [SEP]. An empty list is a sentence without words.
    -> tokens and segments, both int64 (batch, length). Segments: 1 for the second sentence and the
    [SEP] after it, 0 for the rest, padding too.
    ValueError naming the number of tokens of a row, and `length`, if it has more than `length`.
    """
    # BEGIN SOLUTION
    tokens = torch.full((len(first), length), PADDING)
    segments = torch.zeros_like(tokens)
    for i, words in enumerate(first):
        row = [CLS, *words, SEP]
        rest = [] if second is None else [*second[i], SEP]
        total = len(row) + len(rest)
        if total > length:
            raise ValueError(f"a row has {total} tokens, and {length} fit")
        tokens[i, :total] = torch.tensor(row + rest)
        segments[i, len(row) : total] = 1
    return tokens, segments
    # END SOLUTION


# %% check pack points=2
hint = "[CLS] first [SEP] second [SEP], then padding; segment 1 begins after the first [SEP]"
with Check("pack", "pairs that you can pack by hand", hint) as check:
    tokens, segments = check.call([[5, 6], [7]], [[8], [9, 4, 5]], 8)
    check.shape(tokens, batch=2, length=8)
    check.equal(
        tokens,
        torch.tensor([[1, 5, 6, 2, 8, 2, 0, 0], [1, 7, 2, 9, 4, 5, 2, 0]]),
        "[CLS] is 1, [SEP] 2, [PAD] 0",
    )
    check.equal(
        segments,
        torch.tensor([[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0]]),
        "1 for the second sentence and its [SEP]",
    )
with Check("pack", "single sentences, and rows that just fit", hint) as check:
    tokens, segments = check.call([[5, 6, 7], []], None, 5)
    check.equal(tokens, torch.tensor([[1, 5, 6, 7, 2], [1, 2, 0, 0, 0]]), "without a second one")
    check.equal(segments, torch.zeros(2, 5, dtype=torch.int64), "all of segment 0")
    tokens, segments = check.call([[4], []], [[], [6]], 4)
    check.equal(tokens, torch.tensor([[1, 4, 2, 2], [1, 2, 6, 2]]), "a sentence without words")
    check.equal(segments, torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]), "its [SEP] stays")
with Check("pack", "pairs that do not fit") as check:
    check.raises([[5], [5, 6, 7]], [[8], [9, 4]], 7, naming=(8, 7))
    check.raises([[5, 6, 7, 8]], None, 5, naming=(6, 5))
# BEGIN HIDDEN TESTS
with Check("pack", "other sizes") as check:
    draw = random.Random(0)
    for batch, length in ((1, 3), (4, 12), (7, 20)):
        sizes = [(draw.randrange(0, length - 2), draw.randrange(3)) for _ in range(batch)]
        pairs = [
            ([draw.randrange(4, 30) for _ in range(min(a, length - 3 - b))], [4 + b] * b)
            for a, b in ((a, min(b, length - 3)) for a, b in sizes)
        ]
        tokens, segments = check.call([a for a, _ in pairs], [b for _, b in pairs], length)
        for row, kinds, (a, b) in zip(tokens.tolist(), segments.tolist(), pairs, strict=True):
            rest = length - len(a) - len(b) - 3
            check.true(row == [1, *a, 2, *b, 2] + [0] * rest, "the row")
            check.true(kinds == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * rest, "segments")
    check.raises([[4] * 9], [[5] * 9], 20, naming=(21, 20))
# END HIDDEN TESTS

# %% [markdown]
# ## 2 · Hide words, and guess them
#
# A decoder learns from text by guessing the *next* word. An encoder sees all words at once, so the next word is no riddle. **Masked language modelling** makes one: hide some words, and guess them from both sides.
#
# BERT chooses each word with probability 0.15. Of the chosen ones, 80 % become `[MASK]`, 10 % become a word drawn at random, and 10 % stay as they are. All of them must be guessed.
#
# **Predict.** Why are some chosen words kept, or replaced by another word?
#
# <details><summary>Because [MASK] never occurs in the reviews that you classify later</summary>That is the reason of the paper. In part 4 you measure what happens with [MASK] alone.</details>
# <details><summary>To make the task easier</summary>It makes it harder: any word may be wrong.</details>
# <details><summary>To save time</summary>It costs as much: each chosen word is guessed in any case.</details>
#
# **Exercise** (20 minutes). Write the masking. Special tokens are never chosen. Draw from `generator` alone.
#
# <details><summary>Hint 1</summary>Two tensors of random numbers, <code>torch.rand(tokens.shape, generator=generator)</code>: one chooses, one says what happens to the chosen.</details>
# <details><summary>Hint 2</summary>A word drawn at random: <code>torch.randint(4, vocab_size, tokens.shape, generator=generator)</code>.</details>
# <details><summary>Hint 3</summary><code>torch.where</code> leaves <code>tokens</code> as it is. The labels are made from the tokens <em>before</em> they were replaced.</details>


# %% exercise mask_tokens
def mask_tokens(
    tokens: Tensor, vocab_size: int, p: float = 0.15, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Hide words for masked language modelling (Devlin et al. 2019, section 3.1).

    tokens: int64 (batch, length); ids below 4 are special and are never chosen.
    Each word is chosen with probability p, on its own. A chosen word becomes [MASK] with
    probability 0.8, any word (4 to vocab_size - 1, each as likely) with 0.1, and stays with 0.1.
    -> inputs and labels, int64 (batch, length). labels: the word where one was chosen, else -100.
    `tokens` stays as it is. All is drawn with `generator`, or else torch's global one.
    """
    # BEGIN SOLUTION
    chosen = (torch.rand(tokens.shape, generator=generator) < p) & (tokens > MASK)
    change = torch.rand(tokens.shape, generator=generator)
    words = torch.randint(MASK + 1, vocab_size, tokens.shape, generator=generator)
    changed = torch.where(change < 0.8, torch.full_like(tokens, MASK), tokens)
    changed = torch.where((change >= 0.8) & (change < 0.9), words, changed)
    return torch.where(chosen, changed, tokens), tokens.masked_fill(~chosen, -100)
    # END SOLUTION


# %% check mask_tokens points=3
hint = "choose words, note their labels, then replace 80 % by [MASK] and 10 % by any word"
with Check("mask_tokens", "what is chosen, and what the labels say", hint) as check:
    tokens = torch.arange(400).reshape(20, 20) % 20
    draw = torch.Generator().manual_seed(1)
    kept = tokens.clone()
    inputs, labels = check.call(tokens, 20, 0.5, draw)
    check.shape(inputs, batch=20, length=20)
    check.equal(tokens, kept, "the tokens that you got stay as they are")
    chosen = labels != -100
    check.true(not chosen[tokens < 4].any(), "special tokens are never chosen")
    check.equal(labels[chosen], tokens[chosen], "a label is the word before it was replaced")
    check.equal(inputs[~chosen], tokens[~chosen], "what was not chosen stays")
with Check("mask_tokens", "the shares", hint) as check:
    tokens = torch.arange(40_000).reshape(200, 200) % 16 + 4
    for p in (0.15, 0.4):
        inputs, labels = check.call(tokens, 20, p, torch.Generator().manual_seed(2))
        chosen = labels != -100
        share = chosen.double().mean().item()
        check.true(abs(share - p) < 0.02, f"about {p:.0%} of the words are chosen; got {share:.0%}")
        masked = (inputs[chosen] == 3).double().mean().item()
        check.true(abs(masked - 0.8) < 0.04, f"80 % of them become [MASK]; got {masked:.0%}")
        other = ((inputs != tokens) & (inputs != 3))[chosen].double().mean().item()
        # one drawn word in 16 is the word itself
        check.true(abs(other - 0.094) < 0.03, f"10 % become any word; {other:.1%} differ, for 9.4 %")
with Check("mask_tokens", "p of 0 and of 1, and the default") as check:
    tokens = torch.arange(3000).reshape(30, 100) % 9
    inputs, labels = check.call(tokens, 9, 0.0, torch.Generator().manual_seed(3))
    check.equal(inputs, tokens, "with p = 0, nothing is hidden")
    check.true(bool((labels == -100).all()), "and there is no label")
    _, labels = check.call(tokens, 9, 1.0, torch.Generator().manual_seed(3))
    check.true(bool(((labels != -100) == (tokens > 3)).all()), "with p = 1, every word is chosen")
    _, labels = check.call(tokens.new_full((100, 100), 5), 9)
    share = (labels != -100).double().mean().item()
    check.true(0.13 < share < 0.17, "without p, 15 % are chosen")
# BEGIN HIDDEN TESTS
with Check("mask_tokens", "drawn from the generator alone, each word by itself") as check:
    tokens = torch.arange(6000).reshape(60, 100) % 26 + 4
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = check.call(tokens, 30, 0.3, torch.Generator().manual_seed(4))
    check.true(torch.equal(before, torch.get_rng_state()), "the global generator is left alone")
    again = check.call(tokens, 30, 0.3, torch.Generator().manual_seed(4))
    check.equal(first[0], again[0], "the same seed, the same inputs")
    other = check.call(tokens, 30, 0.3, torch.Generator().manual_seed(5))
    check.true(not torch.equal(first[1], other[1]), "another seed, other words")
    chosen = (first[1] != -100).double() - 0.3
    check.true(chosen.mean(0).abs().max() < 0.3, "every column")
    check.true(chosen.mean(1).abs().max() < 0.25, "every row")
    hidden = (first[0] == 3).double()[first[1] != -100]
    check.true(0.75 < hidden.mean() < 0.85, "80 %")
    drawn = first[0][(first[0] != tokens) & (first[0] != 3)]
    check.true(drawn.min() >= 4 and drawn.max() <= 29, "words only")
    check.true(len(drawn.unique()) == 26, "every word may come")
# END HIDDEN TESTS

# %% [markdown]
# **Exercise** (10 minutes). Write the loss: the mean cross-entropy over all labels of the batch. A small batch may have no label at all. Then the loss is 0, and so are its gradients.
#
# <details><summary>Hint</summary><code>F.cross_entropy(..., reduction="sum")</code> ignores −100 by default. Divide by the number of labels, or by 1 if there are none.</details>


# %% exercise masked_lm_loss
def masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy, in nats, over all positions with a label.

    logits (batch, length, vocab); labels int64 (batch, length), -100 where there is none.
    -> a single number, (). Without any label: 0, whose gradients are zeros.
    """
    # BEGIN SOLUTION
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    return total / max(1, int((labels != -100).sum()))
    # END SOLUTION


# %% check masked_lm_loss points=2
hint = "-log of the probability of each label, averaged over the labels alone"
with Check("masked_lm_loss", "an example you can do by hand", hint) as check:
    chances = torch.tensor(
        [[[1 / 2, 1 / 4, 1 / 4], [1 / 8, 3 / 4, 1 / 8]], [[1 / 4, 1 / 4, 1 / 2], [1 / 3] * 3]],
        dtype=torch.float64,
    )
    labels = torch.tensor([[0, -100], [1, -100]])
    logits = chances.log() + torch.tensor([[1.0, -2.0], [0.5, 3.0]])[..., None]
    loss = check.call(logits, labels)
    check.shape(loss)
    check.equal(
        loss,
        torch.tensor(3 * math.log(2) / 2, dtype=torch.float64),
        "labels of probability 1/2 and 1/4: (log 2 + 2 log 2) / 2",
    )
with Check("masked_lm_loss", "rows with different numbers of labels, and gradients", hint) as check:
    logits = numbers(3, 4, 6, scale=2.0).requires_grad_()
    labels = torch.tensor([[5, -100, 4, 2], [-100, 2, -100, -100], [-100] * 4])
    loss = check.call(logits, labels)
    chosen = logits.detach().log_softmax(-1).gather(-1, labels.clamp(0)[..., None]).squeeze(-1)
    check.equal(loss.detach(), -chosen[labels != -100].mean(), "four labels, each counts the same")
    slope = check.gradient(loss, logits)
    wanted = logits.detach().softmax(-1) - F.one_hot(labels.clamp(0), 6)
    check.equal(slope, wanted * (labels != -100)[..., None] / 4, "(softmax - one-hot) / 4, or 0")
with Check("masked_lm_loss", "no label at all", hint) as check:
    logits = numbers(2, 3, 4).requires_grad_()
    loss = check.call(logits, torch.full((2, 3), -100))
    check.equal(loss.detach(), torch.tensor(0.0, dtype=torch.float64), "0, not nan")
    slope = check.gradient(loss, logits)
    check.equal(slope, torch.zeros(2, 3, 4, dtype=torch.float64), "gradients of zero")

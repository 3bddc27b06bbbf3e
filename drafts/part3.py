# %% [markdown]
# ## 3 · BERT
#
# The model is the encoder of lesson 7, on the sum of *three* embeddings: the token, its position, and its segment. A norm and dropout follow.
#
# **Exercise** (25 minutes). Build it. If a row is longer than the table of positions, raise a `ValueError` whose message contains both lengths.
#
# <details><summary>Hint 1</summary><code>nn.TransformerEncoderLayer</code> has the arguments <code>activation="gelu"</code> and <code>batch_first=True</code>, and is post-norm by default.</details>
# <details><summary>Hint 2</summary>The mask of padding: <code>src_key_padding_mask=tokens == PADDING</code>, where True means <em>not</em> a key.</details>


# %% exercise Bert
class Bert(nn.Module):
    """An encoder of sentences and of pairs of them (Devlin et al. 2019, section 3).

    Parts: `token_table`, `position_table` (max_length rows), `segment_table` (two rows), each an
    `nn.Embedding`; `norm`, an `nn.LayerNorm`; `encoder`, an `nn.TransformerEncoder` of num_layers
    layers: post-norm, GELU, batch first, without a final norm.
    The three embeddings are added, then come `norm` and dropout, then the encoder, with the same
    dropout. Padding (id 0) is no key; what comes out at padding does not matter.
    forward: tokens, int64 (batch, length), segments, the same shape, or None: all 0
    -> (batch, length, d_model).
    ValueError naming the length and `max_length` if the length exceeds it.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.token_table = nn.Embedding(vocab_size, d_model)
        self.position_table = nn.Embedding(max_length, d_model)
        self.segment_table = nn.Embedding(2, d_model)
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, "gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        # END SOLUTION

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        length, most = tokens.shape[1], self.position_table.num_embeddings
        if length > most:
            raise ValueError(f"rows of {length} tokens are longer than max_length {most}")
        if segments is None:
            segments = torch.zeros_like(tokens)
        positions = self.position_table.weight[:length]  # (length, d_model)
        x = self.token_table(tokens) + positions + self.segment_table(segments)
        return self.encoder(self.dropout(self.norm(x)), src_key_padding_mask=tokens == PADDING)
        # END SOLUTION


# %% exercise MaskedLM
class MaskedLM(nn.Module):
    """`Bert`, and a logit of every token of the vocabulary at every position.

    Parts: `bert`, your `Bert` of the same arguments, and `bias`, a parameter (vocab_size,), zeros.
    A logit is the dot product of the output with the token's row of `bert.token_table`, plus its
    bias: the table is used twice, and nothing else is added.
    forward: tokens and segments as for `Bert` -> logits (batch, length, vocab_size).
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.bert = Bert(vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        # END SOLUTION

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        return F.linear(self.bert(tokens, segments), self.bert.token_table.weight, self.bias)
        # END SOLUTION


# %% exercise sentence_vector
def sentence_vector(hidden: Tensor, tokens: Tensor, pool: str = "cls") -> Tensor:
    """Reduce the outputs of an encoder to one vector for each row.

    hidden (batch, length, d_model), tokens int64 (batch, length) -> (batch, d_model).
    pool: "cls", the output at position 0; "mean", the mean over all positions but padding (id 0).
    ValueError naming `pool` if it is anything else.
    """
    # BEGIN SOLUTION
    if pool == "cls":
        return hidden[:, 0]
    if pool != "mean":
        raise ValueError(f"pool should be 'cls' or 'mean'; got {pool!r}")
    real = (tokens != PADDING)[..., None].to(hidden.dtype)  # (batch, length, 1)
    return (hidden * real).sum(1) / real.sum(1)
    # END SOLUTION


# %% exercise SentenceClassifier
class SentenceClassifier(nn.Module):
    """`Bert`, and logits of classes from one vector for each row.

    Parts: `bert`, your `Bert` of the same arguments, and `head`, an `nn.Linear` from d_model to
    num_classes, on your `sentence_vector` of its outputs.
    forward: tokens and segments as for `Bert` -> logits (batch, num_classes).
    """

    def __init__(
        self,
        num_classes: int,
        vocab_size: int,
        max_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        pool: str = "cls",
    ) -> None:
        # BEGIN SOLUTION
        super().__init__()
        self.bert = Bert(vocab_size, max_length, d_model, num_layers, num_heads, d_ff, dropout)
        self.head, self.pool = nn.Linear(d_model, num_classes), pool
        # END SOLUTION

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        # BEGIN SOLUTION
        return self.head(sentence_vector(self.bert(tokens, segments), tokens, self.pool))
        # END SOLUTION


# %% exercise fine_tune
def fine_tune(
    model: nn.Module,
    tokens: Tensor,
    labels: Tensor,
    steps: int,
    lr: float,
    batch_size: int = 16,
    frozen: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Train a classifier on labelled rows; return the loss of each step, (steps,).

    model(tokens) -> logits (batch, classes); its part `bert` may be frozen.
    Each step draws batch_size rows with replacement, from `generator`, and takes one AdamW step
    (defaults but for lr) on the mean cross-entropy. A loss is that before its update, detached.
    The model trains in training mode. frozen: every parameter and buffer of `model.bert` stays as
    it is, bit for bit, and `bert` is in evaluation mode.
    Afterwards the whole model is in evaluation mode, and `requires_grad` is what it was before.
    """
    # BEGIN SOLUTION
    trained = [p for n, p in model.named_parameters() if not (frozen and n.startswith("bert."))]
    optimizer = torch.optim.AdamW(trained, lr=lr)
    losses = []
    model.train()
    if frozen:
        model.bert.eval()
    for _ in range(steps):
        rows = torch.randint(len(tokens), (batch_size,), generator=generator)
        loss = F.cross_entropy(model(tokens[rows]), labels[rows])
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    return torch.stack(losses)
    # END SOLUTION

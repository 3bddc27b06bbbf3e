"""Lesson 03: modules built in another exercise, PyTorch's weights, counts, and clear errors."""

from autograder.tests.to_come import Case

SPLIT = """
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise {error}
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)
"""
SPLITS = """
with Check("split_heads", "four heads") as check:
    x = numbers(2, 5, 12)
    heads = check.call(x, 4)
    check.shape(heads, batch=2, head=4, length=5, d_head=3)
    check.equal(heads[:, 1], x[..., 3:6], "the second head has the second three numbers")
with Check("split_heads", "seven heads") as check:
    check.raises(x := numbers(2, 5, 12), 7, naming=(12, 7))
"""
MODULE = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        split = lambda x: x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        q, k, v = split(self.w_query(query)), split(self.w_key(key)), split(self.w_value(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -math.inf)
        weights = scores.softmax(-1).nan_to_num()
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights
"""
ATTENDS = """
with Check("MultiHeadAttention", "equal to PyTorch's") as check:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).double()
    parts = dict(zip(("w_query", "w_key", "w_value"), theirs.in_proj_weight.chunk(3)))
    parameters = {f"{name}.weight": weight for name, weight in parts.items()}
    parameters |= {f"{name}.bias": torch.zeros(12).double() for name in parts}
    output = theirs.out_proj
    parameters |= {"w_output.weight": output.weight, "w_output.bias": output.bias}
    mine = check.build(12, 3).double()
    mine.load(parameters)
    query, key = numbers(2, 4, 12), numbers(2, 5, 12, seed=1)
    mask = numbers(2, 1, 5, seed=3) > -1
    opposite = ~mask.expand(2, 4, 5).repeat_interleave(3, 0)
    result = mine.call(query, key, key, mask, returns=("output", "weights"))
    expected = theirs(query, key, key, attn_mask=opposite, average_attn_weights=False)
    for actual, wanted in zip(result, expected):
        check.equal(actual, wanted, "PyTorch's own")
    alone = mine.call(query[1:], key[1:], key[1:], mask[1:], returns=("output", "weights"))
    check.equal(alone[0], result[0][1:], "each sentence stands for itself")
    slopes = mine.gradients(result[0])
    slope = check.gradient(expected[0], theirs.out_proj.weight)
    check.equal(slopes["w_output.weight"], slope, "gradients of the weights")
"""
COPY = """
def load_from_torch(mine, theirs):
    with torch.no_grad():
        weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
        for part, weight, bias in zip((mine.w_query, mine.w_key, mine.w_value), weights, biases):
            {copy}
        mine.w_output.load_state_dict(theirs.out_proj.state_dict())
    return "done"
"""
COPIES = """
with Check("load_from_torch", "copies the weights") as check:
    theirs = nn.MultiheadAttention(6, 2, batch_first=True)
    mine = check.other("MultiHeadAttention").build(6, 2)
    check.call(mine, theirs, returns=None)
    x = numbers(2, 3, 6, dtype=torch.float32)
    output, _ = mine.call(x, x, x, returns=("output", "weights"))
    check.equal(output, theirs(x, x, x)[0], "the same numbers as theirs")
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(1.0)
    later, _ = mine.call(x, x, x, returns=("output", "weights"))
    check.equal(later, output, "copied, not shared: what happens to theirs is nothing to mine")
"""
COUNT = """
with Check("attention_parameters", "as many as there are") as check:
    for bias in (True, False):
        theirs = nn.MultiheadAttention(512, 8, bias=bias)
        count = check.call(512, bias=bias, returns=int)
        expected = sum(weight.numel() for weight in theirs.parameters())
        check.equal(count, expected, "four matrices, and their biases")
"""
CONCAT = """
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        parts = {parts}
        self.parts = nn.ModuleList(parts)
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x):
        queries, keys, values = [[part(x) for part in self.parts[i::3]] for i in range(3)]
        weights = torch.stack([
            (q @ k.transpose(-2, -1) / math.sqrt(x.shape[-1])).softmax(-1)
            for q, k in zip(queries, keys)
        ], 1)
        heads = [weights[:, i] @ value for i, value in enumerate(values)]
        return self.w_output(torch.cat(heads, -1)), weights
"""
FULL = "[nn.Linear(d_model, d_model, bias=False) for _ in range(3 * num_heads)]"
SHARED = "[nn.Linear(d_model, d_model, bias=False) for _ in range(3)] * num_heads"
CONCATS = """
with Check("ConcatMultiHead", "its parameters") as check:
    module = check.build(5, 3).double()
    module.load({"w_output.weight": torch.zeros(5, 15)}, whole=False)
    count = sum(weight.numel() for weight in module.parameters().values())
    check.equal(count, 3 * 3 * 25 + 75, "three full matrices for each head, and w_output")
    output, weights = module.call(numbers(2, 4, 5), returns=("output", "weights"))
    check.shape(weights, batch=2, head=3, query=4, key=4)
    check.equal(output, torch.zeros(2, 4, 5).double(), "what w_output gives")
"""
CASES = [
    Case(
        "split_heads",
        SPLIT.format(error='ValueError(f"{x.shape[-1]} is no multiple of {num_heads}")'),
        SPLIT.format(error='ValueError("does not fit")'),
        SPLITS,
        "expected a ValueError that names 12 and 7 you called split_heads(x: tensor (2, 5, 12), "
        "num_heads: 7) message does not fit",
    ),
    Case(
        "split_heads",
        "class Misfit(ValueError):\n    pass\n"
        + SPLIT.format(error='Misfit(f"{num_heads} heads, but {x.shape[-1]} numbers")'),
        SPLIT.replace("if x", "if False and x").format(error="ValueError"),
        SPLITS,
        "your code raised RuntimeError",
    ),
    Case(
        "split_heads",
        SPLIT.format(error='ValueError(f"{num_heads}, {x.shape[-1]}")'),
        "def split_heads(x, num_heads):\n"
        "    return x[..., : x.shape[-1] // num_heads * num_heads]"
        ".unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
        SPLITS,
        "expected a ValueError that names 12 and 7, but nothing was raised",
    ),
    Case(
        "MultiHeadAttention",
        MODULE,
        MODULE.replace("q.shape[-1]", "query.shape[-1]"),
        ATTENDS,
        "PyTorch's own",
    ),
    Case(
        "MultiHeadAttention",
        MODULE,
        MODULE.replace("nan_to_num()", "nan_to_num().mean(0, keepdim=True)"),
        ATTENDS,
        "PyTorch's own",
    ),
    Case(
        "load_from_torch",
        MODULE + COPY.format(copy="part.weight.copy_(weight), part.bias.copy_(bias)"),
        MODULE + COPY.format(copy="part.weight.data, part.bias.data = weight.data, bias.data"),
        COPIES,
        "copied, not shared",
    ),
    Case(
        "load_from_torch",
        MODULE + COPY.format(copy="part.weight.copy_(weight), part.bias.copy_(bias)"),
        MODULE + COPY.format(copy="part.weight.copy_(weight.T)"),
        COPIES,
        "the same numbers as theirs",
    ),
    Case(
        "attention_parameters",
        "def attention_parameters(d_model, bias):\n    return 4 * d_model * (d_model + bias)",
        "def attention_parameters(d_model, bias):\n    return 3 * d_model * (d_model + bias)",
        COUNT,
        "four matrices, and their biases",
    ),
    Case(
        "attention_parameters",
        "def attention_parameters(d_model, bias):\n"
        "    return torch.tensor(4.0 * d_model * (d_model + bias))",
        "def attention_parameters(d_model, bias):\n    print(4 * d_model * d_model)",
        COUNT,
        "expected a whole number, got None",
    ),
    Case(
        "ConcatMultiHead", CONCAT.format(parts=FULL), CONCAT.format(parts=SHARED), CONCATS, "full"
    ),
    Case(
        "ConcatMultiHead",
        CONCAT.format(parts=FULL),
        CONCAT.format(parts=FULL).replace("w_output", "w_out"),
        CONCATS,
        "the parameters are not the ones the docstring names",
    ),
]

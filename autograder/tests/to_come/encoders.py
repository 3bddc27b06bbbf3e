"""Lesson 07: whole blocks; plain answers, and a trained model."""

from autograder.tests.to_come import Case

BLOCK = """
class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first

    def attend(self, x, mask):
        blocked = None if mask is None else ~mask.expand(len(x), x.shape[1], x.shape[1])
        if blocked is not None:
            blocked = blocked.repeat_interleave(self.attention.num_heads, 0)
        return self.dropout(self.attention(x, x, x, attn_mask=blocked)[0])

    def forward(self, x, mask=None):
        feed = lambda x: self.dropout(self.linear2(self.dropout(self.linear1(x).relu())))
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + feed(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + feed(x))
"""
PARITY = """
NAMES = {"self_attn": "attention"}
with Check("EncoderBlock", "equal to PyTorch's") as check:
    x, mask = numbers(2, 5, 12).requires_grad_(), torch.ones(5, 5).tril().bool()
    for norm_first in (True, False):
        theirs = nn.TransformerEncoderLayer(
            12, 3, 7, 0.5, batch_first=True, norm_first=norm_first
        ).double().eval()
        mine = check.build(12, 3, 7, 0.5, norm_first).double()
        state = theirs.state_dict()
        renamed = {name.replace("self_attn", "attention"): part for name, part in state.items()}
        mine.load(renamed)
        for name, part in mine.state().items():
            check.equal(part, renamed[name], "what was loaded is there")
        expected, result = theirs(x, src_mask=~mask), mine.eval().call(x, mask[None])
        check.equal(result, expected, f"PyTorch's own, norm_first={norm_first}")
        check.equal(check.gradient(result, x), check.gradient(expected, x), "its gradient")
        slope = check.gradient(expected, theirs.self_attn.in_proj_weight)
        mine_slope = mine.gradients(result)["attention.in_proj_weight"]
        check.equal(mine_slope, slope, "the gradient of a part within a part")
        check.equal(mine.call(x[1:], mask[None]), result[1:], "each sentence stands for itself")
    check.true(not torch.equal(mine.train().call(x), mine.call(x)), "dropout in training")
"""
ENCODER = """
class Encoder(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        block = lambda: nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=norm_first
        )
        self.blocks = {blocks}
        self.norm = nn.LayerNorm(d_model)
    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)
"""
COUNTS = """
with Check("Encoder", "its parameters") as check:
    module = check.build(3, 6, 2, 5)
    block = nn.TransformerEncoderLayer(6, 2, 5)
    expected = 3 * sum(weight.numel() for weight in block.parameters()) + 12
    count = sum(weight.numel() for weight in module.parameters().values())
    check.equal(count, expected, "three blocks of their own, and the norm")
"""
SCHEDULE = """
with Check("warmup_schedule", "up, then down") as check:
    for step in (1, 10, 4000, 9000):
        expected = 512 ** -0.5 * min(step ** -0.5, step * 4000 ** -1.5)
        check.equal(check.call(step, 512, 4000, returns=float), expected, "the paper's formula")
    check.equal(check.call(0, 512, 4000, returns=float), 0.0, "step 0 gives 0")
"""
TRAINED = """
x = torch.linspace(-1, 1, 20)[:, None]
model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))
model[2].p = 0.0
optimiser = torch.optim.Adam(model.parameters(), 0.05)
torch.manual_seed(0)
for _ in range({steps}):
    optimiser.zero_grad()
    F.mse_loss(model(x), x ** 2).backward()
    optimiser.step()
model[2].p = 0.5
"""
TRAINS = """
with Check("model", "it has learnt the square") as check:
    x = torch.tensor([[-0.7], [0.1], [0.8]])
    prediction = check.module().eval().call(x)
    check.equal(prediction, x.square(), "within a tenth", within=0.1)
    check.true(not torch.equal(check.call(x), check.module().train().call(x)), "modes")
"""


def plain(kind: str, right: str, wrong: str, says: str, holds: str) -> Case:
    """An answer that is no tensor."""
    check = f"with Check('answer', 'an answer') as check:\n    answer = check.value({kind})\n"
    check += f"    check.true({holds}, 'not right yet')"
    return Case("answer", f"answer = {right}", f"answer = {wrong}", check, says)


CASES = [
    Case(
        "EncoderBlock",
        BLOCK,
        BLOCK.replace("x + feed(self.norm2(x))", "self.norm2(x) + feed(x)"),
        PARITY,
        "PyTorch's own, norm_first=True",
    ),
    Case(
        "EncoderBlock",
        BLOCK,
        BLOCK.replace("self.attention(x", "self.attention(x.detach()"),
        PARITY,
        "its gradient",
    ),
    Case(
        "EncoderBlock",
        BLOCK,
        BLOCK.replace("self.attention", "self.attend_to"),
        PARITY,
        "the parameters are not the ones the docstring names",
    ),
    Case(
        "EncoderBlock",
        BLOCK,
        BLOCK.replace("nn.Dropout(dropout)", "nn.Identity()").replace(
            "num_heads, dropout", "num_heads"
        ),
        PARITY,
        "dropout in training",
    ),
    Case(
        "Encoder",
        ENCODER.format(blocks="nn.ModuleList(block() for _ in range(num_layers))"),
        ENCODER.format(blocks="nn.ModuleList([block()] * num_layers)"),
        COUNTS,
        "of their own",
    ),
    Case(
        "Encoder",
        ENCODER.format(blocks="nn.ModuleList(block() for _ in range(num_layers))"),
        ENCODER.format(blocks="[block() for _ in range(num_layers)]"),
        COUNTS,
        "of their own",
    ),
    Case(
        "warmup_schedule",
        "def warmup_schedule(step, d_model, warmup):\n"
        "    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5) if step else 0",
        "def warmup_schedule(step, d_model, warmup):\n"
        "    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
        SCHEDULE,
        "ZeroDivisionError",
    ),
    Case(
        "warmup_schedule",
        "import numpy as np\ndef warmup_schedule(step, d_model, warmup):\n"
        "    if step == 0:\n        return 0\n"
        "    return np.float64(d_model)**-0.5 * min(step**-0.5, step * warmup**-1.5)",
        "def warmup_schedule(step, d_model, warmup):\n"
        "    return d_model**-0.5 * step * warmup**-1.5",
        SCHEDULE,
        "the paper's formula",
    ),
    Case("model", TRAINED.format(steps=400), TRAINED.format(steps=2), TRAINS, "within a tenth"),
    plain("float", "torch.tensor(0.5)", "'half'", "expected a number, got 'half'", "answer == 0.5"),
    plain("int", "8", "True", "expected a whole number, got True", "answer == 8"),
    plain("bool", "True", "1", "expected True or False, got 1", "answer is True"),
    plain("str", "'keys'", "['keys']", "expected a text, got ['keys']", "answer == 'keys'"),
    plain("list", "['q', 'k']", "['q']", "not right yet", "answer == ['q', 'k']"),
    plain(
        "dict",
        "{'q': 1, 'k': [2.0]}",
        "{'q': 1}",
        "not right yet your answer {'q': 1}",
        "answer == {'q': 1, 'k': [2.0]}",
    ),
]

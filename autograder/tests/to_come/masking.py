"""Lesson 02: boolean masks, masked attention, and a function that is handed over."""

from autograder.tests.to_come import Case

LEAKS = """
with Check("leaks_future", "{title}") as check:
    x = numbers(4, 3)
    leaky, honest = (lambda x: x.flip(0) * 2), (lambda x: x.cumsum(0))
    def attention(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)
    def hides(x):
        return x + 0 * x.sum()
    check.true(check.call(leaky, x, returns=bool), "an output that needs a later input leaks")
    for attend in (honest, attention, hides):
        check.true(not check.call(attend, x, returns=bool), "running sums and masks do not")
    check.true(not x.requires_grad, "the input stays as it is")
"""
JACOBIAN = """
def leaks_future(attend, x):
    slopes = {jacobian}
    later = torch.ones(len(x), len(x)).triu(1).bool()
    return bool((slopes.abs().amax((1, 3))[later] > 1e-8).any())
"""
CASES = [
    Case(
        "causal_mask",
        "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()",
        "def causal_mask(length):\n    return torch.ones(length, length).tril()",
        """
with Check("causal_mask", "three words") as check:
    mask = check.call(3)
    check.shape(mask, query=3, key=3)
    check.equal(mask, torch.arange(3) <= torch.arange(3)[:, None], "no word sees a later one")
""",
        "expected a tensor of torch.bool, got one of torch.float32",
    ),
    Case(
        "causal_mask",
        "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()",
        "def causal_mask(length):\n    return torch.ones(length, length).triu().bool()",
        """
with Check("causal_mask", "three words") as check:
    expected = torch.arange(3) <= torch.arange(3)[:, None]
    check.equal(check.call(3), expected, "no word sees a later one")
""",
        "no word sees a later one",
    ),
    Case(
        "padding_mask",
        "def padding_mask(lengths, max_length):\n"
        "    return (torch.arange(max_length) < lengths[:, None])[:, None]",
        "def padding_mask(lengths, max_length):\n    lengths.clamp_(max=max_length - 1)\n"
        "    return (torch.arange(max_length) < lengths[:, None])[:, None]",
        """
with Check("padding_mask", "two sentences") as check:
    mask = check.call(torch.tensor([2, 4]), 4)
    check.shape(mask, batch=2, one=1, key=4)
    check.equal(mask[:, 0].sum(-1), torch.tensor([2, 4]), "as many words as there are")
""",
        "your code changed its input `lengths`",
    ),
    Case(
        "masked_attention",
        """
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, -1).nan_to_num()
    return weights @ value, weights
""",
        """
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -100.0)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights
""",
        """
with Check("masked_attention", "masks of every shape") as check:
    query = numbers(2, 3, 4, 6).requires_grad_()
    key, value = numbers(2, 3, 5, 6, seed=1), numbers(2, 3, 5, 7, seed=2)
    for mask in (None, numbers(4, 5) > -1, numbers(2, 1, 1, 5) > -1, numbers(2, 3, 4, 5) > -1):
        output, weights = check.call(query, key, value, mask, returns=("output", "weights"))
        expected = F.scaled_dot_product_attention(query, key, value, mask)
        check.equal(output, expected, "PyTorch's own")
        slope = check.gradient(expected, query)
        check.equal(check.gradient(output, query), slope, "and its gradient")
    mask = torch.zeros(4, 5).bool()
    output, weights = check.call(query, key, value, mask=mask, returns=("output", "weights"))
    check.equal(weights, torch.zeros(2, 3, 4, 5).double(), "who may see nothing takes nothing")
""",
        "who may see nothing takes nothing",
    ),
    Case(
        "leaks_future",
        JACOBIAN.format(jacobian="torch.autograd.functional.jacobian(attend, x)"),
        "def leaks_future(attend, x):\n    return 'yes'",
        LEAKS.format(title="by a Jacobian"),
        "expected True or False, got 'yes'",
    ),
    Case(
        "leaks_future",
        JACOBIAN.format(jacobian="torch.func.jacrev(attend)(x)"),
        JACOBIAN.format(jacobian="torch.func.jacrev(attend)(x).transpose(0, 2)"),
        LEAKS.format(title="by a transform"),
        "running sums and masks do not",
    ),
    Case(
        "leaks_future",
        """
def leaks_future(attend, x):
    x = x.detach().clone().requires_grad_()
    output = attend(x)
    for i in range(len(x) - 1):
        (slope,) = torch.autograd.grad(output[i].sum(), x, retain_graph=True)
        if (slope[i + 1:].abs() > 1e-8).any():
            return True
    return False
""",
        """
def leaks_future(attend, x):
    x = x.detach().clone().requires_grad_()
    attend(x).sum().backward()
    return (x.grad[1:].abs() > 1e-8).any()
""",
        LEAKS.format(title="by backward passes"),
        "running sums and masks do not",
    ),
    Case(
        "leaks_future",
        """
def leaks_future(attend, x):
    before = attend(x)
    for i in range(1, len(x)):
        other = x.clone()
        other[i] += 1.0
        if not torch.allclose(attend(other)[:i], before[:i], atol=1e-8):
            return True
    return False
""",
        """
def leaks_future(attend, x):
    before = attend(x)
    x[-1] += 1.0
    return not torch.allclose(attend(x)[:-1], before[:-1])
""",
        LEAKS.format(title="by perturbation"),
        "your code changed its input `x`",
    ),
    Case(
        "leaks_future",
        """
def leaks_future(attend, x):
    others = torch.stack([x + torch.eye(len(x), dtype=x.dtype)[:, [i]] for i in range(len(x))])
    moved = (torch.vmap(attend)(others) - attend(x)).abs().amax(-1) > 1e-8
    return moved.tril(-1).any()
""",
        "def leaks_future(attend, x):\n"
        "    return torch.vmap(attend)(x[None].expand(4, -1, -1)).std(0).amax() > 1e-8",
        LEAKS.format(title="by perturbations in one batch"),
        "an output that needs a later input leaks",
    ),
]

"""Lessons 04 and 05: parts of the test's inside the student's module, modes, and chance."""

from autograder.tests.to_come import Case

RESIDUAL = """
class Residual(nn.Module):
    def __init__(self, sublayer, d_model, norm_first):
        super().__init__()
        self.sublayer, self.norm, self.norm_first = sublayer, nn.LayerNorm(d_model), norm_first

    def forward(self, x):
        if self.norm_first:
            return x + self.sublayer(self.norm(x))
        return self.norm(x + self.sublayer(x))
"""
AROUND = """
with Check("Residual", "around a linear layer") as check:
    linear, norm = nn.Linear(5, 5).double(), nn.LayerNorm(5).double()
    x = numbers(2, 3, 5).requires_grad_()
    for norm_first, wanted in ((True, x + linear(norm(x))), (False, norm(x + linear(x)))):
        mine = check.build(linear, 5, norm_first).double()
        result = mine.call(x)
        check.equal(result, wanted, "x is added to what the sublayer gives")
        check.equal(check.gradient(result, x), check.gradient(wanted, x), "its gradient")
        slope = mine.gradients(result)["sublayer.weight"]
        check.equal(slope, check.gradient(wanted, linear.weight), "gradients of its parts")
        check.equal(check.gradient(result, linear.weight), slope, "which are the check's own")
    mine.load({"sublayer.weight": torch.eye(5), "sublayer.bias": torch.zeros(5)}, whole=False)
    check.equal(linear(x), x, "what is loaded is in the check's own too")
    with torch.no_grad():
        linear.weight.zero_()
    check.equal(mine.call(x), norm(x), "what the check changes, the module sees")
"""
FUNCTION = """
with Check("Residual", "around a function") as check:
    x = numbers(2, 3, 5).requires_grad_()
    norm = nn.LayerNorm(5).double()
    mine = check.build(lambda x: x.square(), 5, True).double()
    wanted = x + norm(x).square()
    check.equal(mine.call(x), wanted, "x is added to what the sublayer gives")
    check.equal(check.gradient(mine.call(x), x), check.gradient(wanted, x), "its gradient")
    check.equal(mine.gradients(mine.call(x))["norm.weight"],
        check.gradient(wanted, norm.weight), "the gradient of its norm")
"""
NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, correction=0)
        return self.gain * centred / (variance + self.eps).sqrt() + self.bias
"""
NORMS = """
with Check("LayerNorm", "equal to PyTorch's") as check:
    theirs = nn.LayerNorm(7, eps=0.1).double()
    gain, bias = numbers(7, seed=1), numbers(7, seed=2)
    theirs.load_state_dict({"weight": gain, "bias": bias})
    mine = check.build(7, eps=0.1).double()
    mine.load({"gain": gain, "bias": bias})
    x = numbers(4, 7, 3, scale=3.0).transpose(1, 2)
    check.equal(mine.call(x), theirs(x), "PyTorch's own, of a view that is not contiguous")
    check.equal(mine.call(x[2:]), theirs(x)[2:], "each word stands for itself")
    slope = check.gradient(theirs(x), theirs.weight)
    check.equal(mine.gradients(mine.call(x))["gain"], slope, "the gradient of gain")
"""
DROPOUT = """
def dropout(x, p, training, generator=None):
    if not training:
        return x
    kept = torch.rand(x.shape, dtype=x.dtype, generator=generator) >= p
    return {result}
"""
DROPS = """
with Check("dropout", "statistics") as check:
    generator = torch.Generator().manual_seed(4)
    before = generator.get_state()
    x = torch.full((200, 500), 3.0).double()
    result = check.call(x, 0.3, True, generator=generator)
    deviation = 3.0 * (0.3 / 0.7 / x.numel()) ** 0.5
    check.equal(result.mean(), torch.tensor(3.0).double(), "the mean stays", within=6 * deviation)
    check.true(len(result.unique()) == 2, "a number is dropped, or scaled")
    check.true(not torch.equal(generator.get_state(), before), "the generator is used")
    again = check.call(x, 0.3, True, generator=generator)
    check.true(not torch.equal(again, result), "and goes on")
    generator.set_state(before)
    same = check.call(x, 0.3, True, generator=generator)
    check.equal(same, result, "the same generator, the same mask")
    check.equal(check.call(x, 0.3, False), x, "nothing happens in evaluation")
"""
MODULE = """
class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
    def forward(self, x):
        return F.dropout(x, self.p, {training})
"""
MODES = """
with Check("Dropout", "modes") as check:
    module = check.build(0.5)
    x = torch.ones(30, 40)
    first, second = module.call(x), module.call(x)
    check.true(not torch.equal(first, second), "each call drops others")
    torch.manual_seed(8)
    first = module.call(x)
    torch.manual_seed(8)
    check.equal(module.call(x), first, "the same seed, the same mask")
    check.equal(module.eval().call(x), x, "nothing happens in evaluation")
    check.true(not torch.equal(module.train().call(x), x), "and again in training")
    check.true(not module.parameters(), "nothing is learnt")
"""
PREDICT = """
def monte_carlo_predict(model, x, samples):
    modes = [(part, part.training) for part in model.modules()]
    for part, _ in modes:
        part.training = {when}
    with torch.no_grad():
        results = torch.stack([model(x) for _ in range(samples)])
    for part, training in {restored}:
        part.training = training
    return results.mean(0), results.std(0)
"""
WHEN = "isinstance(part, nn.Dropout)"
PREDICTS = """
with Check("monte_carlo_predict", "a model of the check's") as check:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    model.train()
    model[2].eval()
    modes = [part.training for part in model.modules()]
    state = {name: part.clone() for name, part in model.state_dict().items()}
    x = numbers(5, 6, dtype=torch.float32)
    mean, std = check.call(model, x, 400, returns=("mean", "std"))
    check.true([part.training for part in model.modules()] == modes, "every mode is restored")
    for name, part in model.state_dict().items():
        check.equal(part, state[name], "the model stays as it is")
    check.true(bool((std > 0).all()), "the predictions differ")
    expected = model.eval()(x).detach()
    check.equal(mean, expected, "their mean is the prediction", within=0.5)
"""
EXPECT = """
with Check("expected_activation", "by hand") as check:
    result = check.call(torch.tensor([2.0, -3.0]), torch.tensor([1.0, 4.0]), 0.25)
    check.shape(result)
    check.equal(result, torch.tensor(-7.5), "(1 - p) w x")
"""
CASES = [
    Case(
        "Residual",
        RESIDUAL,
        RESIDUAL.replace(
            "x + self.sublayer(self.norm(x))", "self.norm(x) + self.sublayer(self.norm(x))"
        ),
        AROUND,
        "x is added",
    ),
    Case(
        "Residual",
        RESIDUAL,
        RESIDUAL.replace("= sublayer,", "= copy.deepcopy(sublayer),"),
        AROUND,
        "which are the check's own",
    ),
    Case(
        "Residual",
        RESIDUAL,
        RESIDUAL.replace("self.sublayer(self.norm(x))", "self.sublayer(self.norm(x).detach())"),
        FUNCTION,
        "its gradient",
    ),
    Case("LayerNorm", NORM, NORM.replace("correction=0", "correction=1"), NORMS, "PyTorch's own"),
    Case(
        "LayerNorm",
        NORM,
        NORM.replace("self.gain *", "self.gain.detach() *"),
        NORMS,
        "the gradient of gain",
    ),
    Case(
        "dropout",
        DROPOUT.format(result="torch.where(kept, x / (1 - p), 0)"),
        DROPOUT.format(result="torch.where(kept, x, 0)"),
        DROPS,
        "the mean stays",
    ),
    Case(
        "dropout",
        DROPOUT.format(result="x * kept / (1 - p)"),
        DROPOUT.format(result="x.mul_(kept) / (1 - p)"),
        DROPS,
        "changed its input `x`",
    ),
    Case(
        "dropout",
        DROPOUT.format(result="x * kept / (1 - p)"),
        DROPOUT.format(result="x * kept / (1 - p)").replace(
            "generator=generator", "generator=None"
        ),
        DROPS,
        "the generator is used",
    ),
    Case(
        "Dropout",
        MODULE.format(training="self.training"),
        MODULE.format(training="True"),
        MODES,
        "nothing happens in evaluation",
    ),
    Case(
        "monte_carlo_predict",
        PREDICT.format(when=WHEN, restored="modes"),
        PREDICT.format(when=WHEN, restored="[]"),
        PREDICTS,
        "every mode is restored",
    ),
    Case(
        "monte_carlo_predict",
        PREDICT.format(when=WHEN, restored="modes"),
        PREDICT.format(when="True", restored="modes"),
        PREDICTS,
        "the model stays as it is",
    ),
    Case(
        "expected_activation",
        "def expected_activation(weights, x, p):\n    return (1 - p) * weights @ x",
        "def expected_activation(weights, x, p):\n    return (weights @ x).item()",
        EXPECT,
        "the result should be a tensor, got float",
    ),
]

"""Lessons 06 and 08: positions, patches of images, and lists of tensors."""

from autograder.tests.to_come import Case

ROTARY = """
def rotary_embedding(x, positions, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError(f"an odd width: {{x.shape[-1]}}")
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
    angles = {positions}[:, None] * speeds
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()
    return torch.stack(turned, -1).flatten(-2)
"""
ROTATES = """
with Check("rotary_embedding", "offsets alone") as check:
    query, key = numbers(2, 1, 6).requires_grad_(), numbers(2, 1, 6, seed=1)
    def score(at):
        places = torch.tensor([at]), torch.tensor([at + 3])
        turned = [check.call(part, place) for part, place in zip((query, key), places)]
        return (turned[0] * turned[1]).sum(-1)
    check.equal(score(40), score(2), "a score depends on the distance alone")
    check.equal(check.gradient(score(40), query), check.gradient(score(2), query), "its gradient")
    far = check.call(query, torch.tensor([7])) * check.call(key, torch.tensor([40]))
    check.true(not torch.allclose(far.sum(-1), score(2)), "the distance counts")
    check.raises(numbers(2, 3, 7), torch.arange(3), naming=[7])
"""
TABLE = """
class LearnedPositions(nn.Module):
    def __init__(self, max_length, d_model):
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)
    def forward(self, x):
        length, most = x.shape[-2], self.table.num_embeddings
        if length > most:
            raise ERROR
        return x + self.table.weight[:length]
"""
TABLES = """
with Check("LearnedPositions", "a table of four") as check:
    module = check.build(4, 3).double()
    table = numbers(4, 3, seed=1)
    module.load({"table.weight": table})
    check.equal(module.call(numbers(2, 3, 3)), numbers(2, 3, 3) + table[:3], "rows are added")
    module.raises(numbers(2, 5, 3), naming=(5, 4))
"""
PATCH = """
def patchify(images, patch_size):
    height, width = images.shape[-2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"{{height}} x {{width}} pixels are no multiple of {{patch_size}}")
    patches = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return patches.{order}.flatten(3).flatten(1, 2)
"""
PATCHES = """
with Check("patchify", "equal to unfold") as check:
    images = numbers(2, 3, 6, 4).to(memory_format=torch.channels_last)
    expected = F.unfold(images, 2, stride=2).transpose(1, 2)
    check.equal(check.call(images, 2), expected, "row by row, channel first inside a patch")
    check.raises(images, 5, naming=(6, 4, 5))
"""
INTERPOLATE = """
def interpolate_positions(table, old_grid, new_grid):
    rows = table[1:].T.reshape(1, -1, *old_grid)
    rows = F.interpolate(rows, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([table[:{first}], rows.flatten(2)[0].T])
"""
INTERPOLATES = """
with Check("interpolate_positions", "properties") as check:
    table = numbers(13, 5)
    check.equal(check.call(table, (3, 4), (3, 4)), table, "the same grid, the same table")
    larger = check.call(table, (3, 4), (6, 7))
    check.shape(larger, position=43, d_model=5)
    check.equal(larger[0], table[0], "the class token's row is kept")
"""
ROLLOUT = """
def attention_rollout(weights):
    result = torch.eye(weights[0].shape[-1], dtype=weights[0].dtype)
    for layer in weights:
        mean = layer.mean(1)
        result = {residual} @ result
    return result
"""
HALF = "((mean + torch.eye(mean.shape[-1], dtype=mean.dtype)) / 2)"
ROLLS = """
with Check("attention_rollout", "three layers") as check:
    weights = [numbers(2, 4, 5, 5, seed=i).softmax(-1) for i in range(3)]
    weights[1].requires_grad_()
    half = [(layer.mean(1) + torch.eye(5).double()) / 2 for layer in weights]
    expected = half[2] @ half[1] @ half[0]
    check.equal(check.call([layer.detach() for layer in weights]), expected.detach(), "alone")
    result = check.call(weights)
    check.equal(result, expected, "the later layers stand on the left")
    slope = check.gradient(expected[0, 0, 1], weights[1])
    check.equal(check.gradient(result[0, 0, 1], weights[1]), slope, "a gradient in a list")
"""
CASES = [
    Case(
        "rotary_embedding",
        ROTARY.format(positions="positions"),
        ROTARY.format(positions="torch.arange(x.shape[-2])"),
        ROTATES,
        "the distance counts",
    ),
    Case(
        "rotary_embedding",
        ROTARY.format(positions="positions"),
        ROTARY.format(positions="positions.square()"),
        ROTATES,
        "the distance alone",
    ),
    Case(
        "LearnedPositions",
        TABLE.replace("ERROR", "ValueError(f'{length} words, {most} rows')"),
        TABLE.replace("ERROR", "IndexError(f'{length} words, {most} rows')"),
        TABLES,
        "your code raised IndexError",
    ),
    Case(
        "patchify",
        PATCH.format(order="permute(0, 2, 3, 1, 4, 5)"),
        PATCH.format(order="permute(0, 2, 3, 4, 5, 1)"),
        PATCHES,
        "channel first",
    ),
    Case(
        "interpolate_positions",
        INTERPOLATE.format(first=1),
        INTERPOLATE.format(first=0),
        INTERPOLATES,
        "(13, 5)",
    ),
    Case(
        "attention_rollout",
        ROLLOUT.format(residual=HALF),
        ROLLOUT.format(residual="mean"),
        ROLLS,
        "alone",
    ),
    Case(
        "attention_rollout",
        ROLLOUT.format(residual=HALF),
        ROLLOUT.format(residual="mean.add_(1)").replace("layer.mean(1)", "layer[:, 0]"),
        ROLLS,
        "your code changed its input `weights[0]`",
    ),
]

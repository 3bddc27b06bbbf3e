# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportIndexIssue=false
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """As the lesson gives it."""
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    weights = F.scaled_dot_product_attention(query, key, identity, mask)
    return weights @ value, weights


# %% wrong ConcatMultiHead averaged_heads
# You average the heads before the projection, so what each head found is lost in the mean. Put
# them side by side.
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.queries = nn.ModuleList(
            nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
        )
        self.keys = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads))
        self.values = nn.ModuleList(
            nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
        )
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = [], []
        for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
            output, weight = attention(ask(x), answer(x), give(x))
            outputs.append(output)
            weights.append(weight)
        return self.w_output(torch.stack(outputs).mean(0).repeat(1, 1, len(outputs))), torch.stack(
            weights, dim=1
        )


# %% wrong ConcatMultiHead added_heads of="averaged_heads"
# You add the heads up. Put them side by side instead.
# replace: outputs).mean(
# by:      outputs).sum(


# %% wrong ConcatMultiHead averaged_weights
# Your weights are the mean over the heads. Return the weights of each head, on an axis of their
# own.
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.queries = nn.ModuleList(
            nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
        )
        self.keys = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads))
        self.values = nn.ModuleList(
            nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
        )
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = [], []
        for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
            output, weight = attention(ask(x), answer(x), give(x))
            outputs.append(output)
            weights.append(weight)
        return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)


# %% wrong ConcatMultiHead summed_output_without_projection of="averaged_weights"
# The output projection is missing. w_output should map the heads, side by side, back to the width
# of the model.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return torch.stack(outputs).sum(0), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead not_projected of="averaged_weights"
# You return the heads side by side, h times as wide as the model. Apply w_output to them.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return torch.cat(outputs, dim=-1), torch.stack(weights, dim=1)


# %% wrong ConcatMultiHead shared_layers
# All your heads use the same three layers, so all compute the same. Give each head layers of its
# own.
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.queries = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
        self.keys = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
        self.values = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = [], []
        for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
            output, weight = attention(ask(x), answer(x), give(x))
            outputs.append(output)
            weights.append(weight)
        return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


# %% wrong ConcatMultiHead plain_lists of="shared_layers"
# PyTorch does not find layers in a plain list. Keep them in an nn.ModuleList.
# replace: self.queries = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
#          self.keys = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
#          self.values = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * num_heads)
# by:      self.queries = [nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)]
#          self.keys = [nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)]
#          self.values = [nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)]

# %% wrong ConcatMultiHead with_biases of="averaged_weights"
# Your layers have biases, but in this exercise no layer has one.
# replace: self.queries = nn.ModuleList(
#              nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
# by:      self.queries = nn.ModuleList(
#              nn.Linear(d_model, d_model, bias=True) for _ in range(num_heads)
# replace: nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads))
# by:      nn.ModuleList(nn.Linear(d_model, d_model, bias=True) for _ in range(num_heads))
# replace: nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads)
# by:      nn.Linear(d_model, d_model, bias=True) for _ in range(num_heads)
# replace: self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)
# by:      self.w_output = nn.Linear(num_heads * d_model, d_model, bias=True)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead keys_with_bias of="averaged_weights"
# The layers of your keys have biases, but in this exercise no layer has one.
# replace: nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(num_heads))
# by:      nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(num_heads))
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead output_with_bias of="averaged_weights"
# Your w_output has a bias, but in this exercise no layer has one.
# replace: self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)
# by:      self.w_output = nn.Linear(num_heads * d_model, d_model)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead concatenated_words of="averaged_weights"
# You put the heads below one another, along the tokens. Side by side means along the features,
# the last axis.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead stacked_heads_first of="averaged_weights"
# The heads axis of your weights comes before the batch. The order is (batch, heads, query, key).
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights)

# %% wrong ConcatMultiHead stacked_heads_last of="averaged_weights"
# The heads axis of your weights comes last. The order is (batch, heads, query, key).
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=-1)

# %% wrong ConcatMultiHead weights_side_by_side of="averaged_weights"
# You put the weights of all heads side by side in one row. Make a new axis for the heads instead.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.cat(weights, dim=-1)

# %% wrong ConcatMultiHead last_head_only of="averaged_weights"
# You return only the weights of the last head. Collect the weights of every head.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), weights[-1][:, None].expand(
#              -1, len(weights), -1, -1
#          )

# %% wrong ConcatMultiHead heads_interleaved of="averaged_weights"
# You mix the heads feature by feature. First come all features of head 0, then all of head 1.
# replace: torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(
# by:      torch.stack(outputs, dim=-1).flatten(-2)), torch.stack(weights, dim=

# %% wrong ConcatMultiHead heads_backwards of="averaged_weights"
# The heads are in reverse order before w_output. Head 0 comes first.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs[::-1], dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead key_asks_itself of="averaged_weights"
# Your queries are never used: the keys are compared with themselves. Compare the queries with the
# keys.
# replace: for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), answer(x), give(x))
# by:      for _ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(answer(x), answer(x), give(x))
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead query_used_for_key of="averaged_weights"
# Your keys are never used: the queries are compared with themselves. Compare the queries with the
# keys.
# replace: for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), answer(x), give(x))
# by:      for ask, _answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), ask(x), give(x))
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead value_not_projected of="averaged_weights"
# Your heads blend x itself. Each head should project its values too.
# replace: for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), answer(x), give(x))
# by:      for ask, answer, _give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), answer(x), x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead head_feeds_the_next of="averaged_weights"
# Each of your heads reads the output of the head before it. All heads should read the same x.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:          x = output
#          return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead first_query_for_all of="averaged_weights"
# Every head makes its queries with the layer of head 0. Each head should use its own.
# replace: for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(ask(x), answer(x), give(x))
# by:      for _ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
#              output, weight = attention(self.queries[0](x), answer(x), give(x))
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead no_scale of="averaged_weights"
# You do not scale the scores. Divide them by the root of the head's width, here d_model.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      scores = ask(x) @ answer(x).transpose(-2, -1)
#          weight = torch.softmax(scores, dim=-1)
#          output = weight @ give(x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead scaled_by_split_width of="averaged_weights"
# You divide by the root of d_model / heads. These heads are as wide as the model, so divide by
# the root of d_model.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      scores = ask(x) @ answer(x).transpose(-2, -1)
#          weight = torch.softmax(scores / math.sqrt(x.shape[-1] / len(self.queries)), dim=-1)
#          output = weight @ give(x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead divided_by_width of="averaged_weights"
# In all you divide the scores by the width, not by its root. The given `attention` already
# divides by the root.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      scores = ask(x) @ answer(x).transpose(-2, -1)
#          weight = torch.softmax(scores / x.shape[-1], dim=-1)
#          output = weight @ give(x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead softmax_over_queries of="averaged_weights"
# Each column of your weights sums to 1, but each row should. Softmax runs over the keys, the last
# axis.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      scores = ask(x) @ answer(x).transpose(-2, -1)
#          weight = torch.softmax(scores / math.sqrt(x.shape[-1]), dim=-2)
#          output = weight @ give(x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead softmax_over_batch of="averaged_weights"
# Your softmax runs over the batch. It should run over the keys, the last axis.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      scores = ask(x) @ answer(x).transpose(-2, -1)
#          weight = torch.softmax(scores / math.sqrt(x.shape[-1]), dim=0)
#          output = weight @ give(x)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


# %% wrong ConcatMultiHead narrow_heads
# w_output reads all heads side by side, each as wide as the model: nn.Linear(num_heads * d_model,
# d_model)
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        d_head = d_model // num_heads
        self.queries = nn.ModuleList(
            nn.Linear(d_model, d_head, bias=False) for _ in range(num_heads)
        )
        self.keys = nn.ModuleList(nn.Linear(d_model, d_head, bias=False) for _ in range(num_heads))
        self.values = nn.ModuleList(
            nn.Linear(d_model, d_head, bias=False) for _ in range(num_heads)
        )
        self.w_output = nn.Linear(num_heads * d_head, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, weights = [], []
        for ask, answer, give in zip(self.queries, self.keys, self.values, strict=True):
            output, weight = attention(ask(x), answer(x), give(x))
            outputs.append(output)
            weights.append(weight)
        return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


# %% wrong ConcatMultiHead output_misnamed of="averaged_weights"
# name the output projection `w_output`
# replace: self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)
# by:      self.w_out = nn.Linear(num_heads * d_model, d_model, bias=False)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_out(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead only_output of="averaged_weights"
# The weights are missing. Return the output and the weights.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1))

# %% wrong ConcatMultiHead detached of="averaged_weights"
# Your output is detached from the layers of the heads, so no gradient can flow back to them.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      output, weight = attention(ask(x).detach(), answer(x).detach(), give(x).detach())
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead causal of="averaged_weights"
# Your tokens do not attend to later tokens. In this exercise there is no mask: every token
# attends to all.
# replace: output, weight = attention(ask(x), answer(x), give(x))
# by:      output, weight = attention(
#              ask(x), answer(x), give(x), torch.ones(x.shape[1], x.shape[1]).tril().bool()
#          )
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead no_call_of_super of="averaged_weights"
# Your `__init__` makes layers before the module is ready for them. Its first line should call the
# `__init__` of nn.Module.
# replace: super().__init__()
# by:
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead residual of="averaged_weights"
# You add x to the result. The output should be what w_output returns, nothing more.
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return x + self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)

# %% wrong ConcatMultiHead output_per_head of="averaged_weights"
# w_output reads all heads side by side, each as wide as the model: nn.Linear(num_heads * d_model,
# d_model)
# replace: self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)
# by:      self.w_output = nn.Linear(d_model, d_model, bias=False)
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      return sum(self.w_output(output) for output in outputs), torch.stack(weights, dim=1)


# %% right ConcatMultiHead one_list_of_heads
class Head(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
        weights = scores.softmax(-1)
        return weights @ self.v(x), weights


class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model) for _ in range(num_heads)])
        self.w_output = nn.Linear(d_model * num_heads, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        pairs = [head(x) for head in self.heads]
        joined = torch.cat([output for output, _ in pairs], dim=-1)
        return self.w_output(joined), torch.stack([weights for _, weights in pairs], dim=1)


# %% right ConcatMultiHead packed_without_a_loop
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.packed = nn.Linear(d_model, 3 * num_heads * d_model, bias=False)
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        batch, length, d_model = x.shape
        roles = self.packed(x).reshape(batch, length, 3, self.num_heads, d_model)
        query, key, value = roles.permute(2, 0, 3, 1, 4)
        output, weights = attention(query, key, value)
        return self.w_output(output.transpose(1, 2).flatten(2)), weights


# %% right ConcatMultiHead matrices_and_einsum
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        shape = (3, num_heads, d_model, d_model)
        self.matrices = nn.Parameter(torch.randn(shape) / d_model**0.5)
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = torch.einsum("bld,rhde->rbhle", x, self.matrices)
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        blends = torch.einsum("bhqk,bhkd->bqhd", weights, value)
        return self.w_output(blends.reshape(*x.shape[:2], -1)), weights


# %% right ConcatMultiHead named_layers
class ConcatMultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        for i in range(num_heads):
            for role in "qkv":
                setattr(self, f"{role}{i}", nn.Linear(d_model, d_model, bias=False))
        self.w_output = nn.Linear(num_heads * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = []
        for i in range(self.num_heads):
            q, k, v = (getattr(self, f"{role}{i}")(x) for role in "qkv")
            found.append(attention(q, k, v))
        joined = torch.cat([pair[0] for pair in found], 2)
        return self.w_output(joined), torch.cat([pair[1][:, None] for pair in found], 1)


# %% right ConcatMultiHead output_in_parts of="averaged_weights"
# replace: return self.w_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1).mean(1)
# by:      blocks = self.w_output.weight.chunk(len(outputs), dim=1)
#          parts = [output @ block.T for output, block in zip(outputs, blocks, strict=True)]
#          return torch.stack(parts).sum(0), torch.stack(weights, dim=1)

# %% wrong flying_heads no_scale
# You take the softmax of the plain dot products. Divide them by √2 first, in both heads.
flying_heads = [0.762, 0.119, -0.462, 0.731]

# %% wrong flying_heads scaled_by_the_embedding
# You divide by √6, the root of the width of the embedding. The queries of a head have two numbers,
# so divide by √2.
flying_heads = [0.387, 0.307, -0.201, 0.601]

# %% wrong flying_heads scaled_by_the_heads
# You divide by √3, the root of the number of heads. The queries of a head have two numbers, so
# divide by √2.
flying_heads = [0.521, 0.240, -0.281, 0.640]

# %% wrong flying_heads divided_by_width
# You divide the dot products by 2. The scale is the square root of the width, √2.
flying_heads = [0.462, 0.269, -0.245, 0.622]

# %% wrong flying_heads heads_swapped
# Your two heads are right but swapped. Head 0 comes first.
flying_heads = [-0.340, 0.670, 0.609, 0.196]

# %% wrong flying_heads head_0_twice
# Both pairs are the output of head 0. In head 1 the query comes from features 2 and 3, and the key
# from features 0 and 1.
flying_heads = [0.609, 0.196, 0.609, 0.196]

# %% wrong flying_heads head_1_twice
# Both pairs are the output of head 1. In head 0 the query comes from features 0 and 1, and the key
# from features 2 and 3.
flying_heads = [-0.340, 0.670, -0.340, 0.670]

# %% wrong flying_heads other_token
# These are the outputs for arrows. Start from the queries of flying.
flying_heads = [0.786, 0.107, -0.609, 0.804]

# %% wrong flying_heads largest_score_only
# In head 1 you give all weight to arrows. Its key only matches better: flying gets a weight, too.
flying_heads = [0.609, 0.196, -1.0, 1.0]

# %% wrong flying_heads weights
# These are the weights of both heads. Use them to add up the two values.
flying_heads = [0.804, 0.196, 0.330, 0.670]

# %% wrong flying_heads values_of_features_0_and_1
# In head 1 you add up features 0 and 1, its keys. Its values are features 4 and 5, as in head 0.
flying_heads = [0.609, 0.196, 0.670, 1.0]

# %% wrong flying_heads weights_swapped_in_head_1
# In head 1 each weight multiplies the wrong value. The first weight belongs to flying.
flying_heads = [0.609, 0.196, 0.340, 0.330]

# %% wrong flying_heads weights_swapped
# In both heads each weight multiplies the value of the other token. The first weight belongs to
# flying.
flying_heads = [-0.609, 0.804, 0.340, 0.330]

# %% wrong flying_heads values_of_features_2_and_3
# In head 1 you add up features 2 and 3, its queries. Its values are features 4 and 5, as in head 0.
flying_heads = [0.609, 0.196, 0.330, -0.340]

# %% wrong flying_heads averaged
# You average the two heads. Put them side by side: four numbers.
flying_heads = [0.135, 0.433, 0.135, 0.433]

# %% wrong flying_heads interleaved
# You mix the heads number by number. First come both numbers of head 0, then both of head 1.
flying_heads = [0.609, -0.340, 0.196, 0.670]

# %% wrong flying_heads one_head
# This is head 0 alone. Put the two numbers of head 1 behind it.
flying_heads = [0.609, 0.196]

# %% right flying_heads two_decimals
flying_heads = [0.61, 0.20, -0.34, 0.67]

# %% right flying_heads four_decimals
flying_heads = [0.6089, 0.1956, -0.3395, 0.6698]

# %% right flying_heads a_tensor
flying_heads = torch.tensor([0.609, 0.196, -0.340, 0.670])

# %% right flying_heads computed
flying = torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0, 0.0])
arrows = torch.tensor([1.0, 1.0, 0.0, -1.0, -1.0, 1.0])
both = torch.stack([flying, arrows])
found = [
    attention(flying[None, a : a + 2], both[:, b : b + 2], both[:, 4:])[0][0]
    for a, b in ((0, 2), (2, 0))
]
flying_heads = torch.cat(found)


# %% wrong who_and_whom roles_swapped
# The nouns have the queries and the verb has the key. The verb asks, so its feature belongs into
# w_query, and those of the nouns into w_key.
def who_and_whom() -> tuple[Tensor, Tensor, Tensor]:
    w_query, w_key, w_value = torch.zeros(3, 2, 8, 4)
    w_key[:, 1, 0] = 10.0
    w_query[:, 0, 0] = 1.0
    w_query[0, 2, 0] = 1.0
    w_query[1, 3, 0] = 1.0
    w_value[:, 4:] = torch.eye(4)
    return w_query, w_key, w_value


# %% base who_and_whom step_by_step
def who_and_whom() -> tuple[Tensor, Tensor, Tensor]:
    w_query, w_key, w_value = torch.zeros(3, 2, 8, 4)
    w_query[:, 1, 0] = 10.0
    w_key[:, 0, 0] = 1.0
    w_key[0, 2, 0] = 1.0
    w_key[1, 3, 0] = 1.0
    w_value[:, 4:] = torch.eye(4)
    return w_query, w_key, w_value


# %% wrong who_and_whom heads_swapped of="step_by_step"
# Your heads are swapped: head 0 finds the noun after the verb. Head 0 is “who”, the noun before it.
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 3, 0] = 1.0
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 2, 0] = 1.0

# %% wrong who_and_whom same_head_twice of="step_by_step"
# Both heads look for the noun before the verb. The key of head 1 should be largest for the noun
# after it.
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 2, 0] = 1.0

# %% wrong who_and_whom side_only of="step_by_step"
# Your keys tell the side of the verb, but not that a token is a noun. So “the” has the same key as
# the noun beside it: add the feature noun.
# replace: w_key[:, 0, 0] = 1.0
# by:

# %% wrong who_and_whom noun_only of="step_by_step"
# Your keys tell that a token is a noun, but not on which side of the verb it stands. So each noun
# gets the same weight: add before in head 0 and after in head 1.
# replace: w_key[0, 2, 0] = 1.0
#          w_key[1, 3, 0] = 1.0
# by:

# %% wrong who_and_whom side_stronger_than_noun of="step_by_step"
# The feature before or after counts so much more than noun that “the” still gets a large weight.
# Let both features count.
# replace: w_key[:, 0, 0] = 1.0
# by:      w_key[:, 0, 0] = 0.1

# %% wrong who_and_whom too_small of="step_by_step"
# The right tokens get the most, but your scores are too small, so softmax is flat. Multiply one of
# the matrices by a larger number.
# replace: = 10.0
# by:      = 1.0

# %% wrong who_and_whom only_ones_in_the_key of="step_by_step"
# Your scores forget the scale: they are divided by √4, so a factor of 5 gives differences of 2.5
# only. Choose a larger one.
# replace: = 10.0
# by:      = 5.0

# %% wrong who_and_whom sign of="step_by_step"
# The sign is wrong: your scores are smallest for the noun that the verb should find. Query and key
# should have the same sign.
# replace: = 10.0
# by:      = -10.0

# %% wrong who_and_whom minus_infinity of="step_by_step"
# Your matrices hold an infinity, and 0 · inf is NaN. Use large numbers instead.
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 3, 0] = float("-inf")
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 2, 0] = float("-inf")

# %% wrong who_and_whom dog_and_cat_named of="step_by_step"
# Your keys name dog and cat, so the heads find these words, wherever they stand.
# replace: w_key[:, 0, 0] = 1.0
# by:
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 4, 0] = 1.0
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 5, 0] = 1.0

# %% wrong who_and_whom noun_asks of="step_by_step"
# Your queries read the feature noun, so the nouns ask and the verb has a query of 0. Row 1 of
# w_query belongs to the feature verb.
# replace: w_query[:, 1, 0]
# by:      w_query[:, 0, 0]

# %% wrong who_and_whom different_columns of="step_by_step"
# The query stands in column 0 and the key in column 1, so every dot product is 0. A query feature
# meets the key feature of the same column.
# replace: w_key[:, 0, 0] = 1.0
# by:      w_key[:, 0, 1] = 1.0
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 2, 1] = 1.0
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 3, 1] = 1.0

# %% wrong who_and_whom columns_of_the_key_apart of="step_by_step"
# Your key has noun in column 0 and the side in columns 2 and 3, but the query asks only in column
# 0. Ask in every column that should count.
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 2, 2] = 1.0
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 3, 3] = 1.0

# %% wrong who_and_whom only_head_0_asks of="step_by_step"
# The verb has a query in head 0 only. Head 1 needs one too.
# replace: w_query[:, 1, 0]
# by:      w_query[0, 1, 0]

# %% wrong who_and_whom dog_is_who of="step_by_step"
# Your keys look for “dog” and “cat” themselves, so they fit one sentence only. Look for a noun
# before the verb, whichever it is.
# replace: w_key[0, 2, 0] = 1.0
# by:      w_key[0, 4, 0] = 1.0
# replace: w_key[1, 3, 0] = 1.0
# by:      w_key[1, 5, 0] = 1.0

# %% wrong who_and_whom no_value of="step_by_step"
# w_value is all 0, so the heads find the nouns but pass nothing on. Let the value be the last four
# features.
# replace: w_value[:, 4:] = torch.eye(4)
# by:

# %% wrong who_and_whom first_four_as_value of="step_by_step"
# Your values are the first four features: noun, verb, before, after. The last four say which noun
# it is.
# replace: w_value[:, 4:] = torch.eye(4)
# by:      w_value[:, :4] = torch.eye(4)

# %% wrong who_and_whom large_value of="step_by_step"
# Your values are ten times too large. Only the scores need large numbers: the value of a noun is 1
# in its own feature.
# replace: torch.eye(4)
# by:      10 * torch.eye(4)

# %% wrong who_and_whom value_of_head_0_only of="step_by_step"
# Only head 0 has values. Head 1 finds its noun, but passes nothing on.
# replace: w_value[:, 4:]
# by:      w_value[0, 4:]

# %% wrong who_and_whom values_reversed of="step_by_step"
# Your values name the nouns in reverse order. Feature 4 of the token, dog, belongs into column 0.
# replace: torch.eye(4)
# by:      torch.eye(4).flip(0)

# %% wrong who_and_whom ones_as_value of="step_by_step"
# Every noun gives the same value, so the output does not say which noun it is. Each of the last
# four features belongs into a column of its own.
# replace: torch.eye(4)
# by:      torch.ones(4, 4)

# %% wrong who_and_whom transposed of="step_by_step"
# Your matrices are stored like those of nn.Linear, (out, in). Here they are (d_model, d_head), for
# x @ w.
# replace: return w_query, w_key, w_value
# by:      return w_query.mT, w_key.mT, w_value.mT

# %% wrong who_and_whom value_as_wide_as_the_model of="step_by_step"
# Your w_value is 8 × 8 in each head: it passes on the whole token. A head is four features wide,
# so each of its matrices is 8 × 4.
# replace: w_value[:, 4:] = torch.eye(4)
# by:      w_value = torch.eye(8).repeat(2, 1, 1)

# %% wrong who_and_whom one_head of="step_by_step"
# You return the matrices of head 0 alone. Stack those of both heads: (2, 8, 4).
# replace: return w_query, w_key, w_value
# by:      return w_query[0], w_key[0], w_value[0]

# %% wrong who_and_whom stacked of="step_by_step"
# You return one tensor for all. Return three: w_query, w_key, w_value.
# replace: return w_query, w_key, w_value
# by:      return torch.stack([w_query, w_key, w_value])

# %% wrong who_and_whom another_order of="step_by_step"
# You return the key's matrices before the query's. The order is w_query, w_key, w_value.
# replace: return w_query, w_key, w_value
# by:      return w_key, w_query, w_value

# %% wrong who_and_whom two_tuples of="step_by_step"
# You return the matrices head by head. Return three tensors, each with both heads.
# replace: return w_query, w_key, w_value
# by:      return (w_query[0], w_key[0], w_value[0]), (w_query[1], w_key[1], w_value[1])


# %% right who_and_whom not_the_other_side
def who_and_whom():
    def matrix(**features: float) -> Tensor:
        names = ["noun", "verb", "before", "after"]
        column = [features.get(name, 0.0) for name in names] + [0.0] * 4
        return torch.tensor([[number, 0.0, 0.0, 0.0] for number in column])

    asks = torch.stack([matrix(verb=8.0)] * 2)
    offers = torch.stack([matrix(noun=2.0, after=-2.0), matrix(noun=2.0, before=-2.0)])
    gives = torch.cat([torch.zeros(4, 4), torch.eye(4)]).expand(2, 8, 4)
    return asks, offers, gives


# %% right who_and_whom a_column_for_each_feature
def who_and_whom():
    w_query, w_key, w_value = (torch.zeros(2, 8, 4, dtype=torch.float64) for _ in range(3))
    w_query[:, 1, :2] = 20.0
    w_key[:, 0, 0] = 1.0
    for head, side in enumerate((2, 3)):
        w_key[head, side, 1] = 1.0
    for noun in range(4):
        w_value[:, 4 + noun, noun] = 1.0
    return w_query, w_key, w_value


# %% right who_and_whom by_the_query
def who_and_whom():
    # both heads have the same keys: noun, before, after; the queries differ
    w_key = torch.zeros(8, 4)
    w_key[0, 0] = w_key[2, 1] = w_key[3, 2] = 5.0
    w_query = torch.zeros(2, 8, 4)
    w_query[0, 1] = torch.tensor([3.0, 3.0, 0.0, 0.0])
    w_query[1, 1] = torch.tensor([3.0, 0.0, 3.0, 0.0])
    w_value = F.pad(torch.eye(4), (0, 0, 4, 0))
    return w_query, torch.stack([w_key, w_key]), torch.stack([w_value, w_value])


# %% right who_and_whom by_the_nouns
def who_and_whom():
    # the noun features themselves say that a token is a noun; both signs are turned round
    w_query, w_key, w_value = torch.zeros(3, 2, 8, 4).unbind()
    w_query[:, 1, 3] = -30.0
    w_key[:, 4:, 3] = -1.0
    w_key[0, 2, 3] = w_key[1, 3, 3] = -1.0
    w_value[:, 4:] = torch.eye(4)
    w_value[:, 1] = 7.0  # the verb itself gets no weight, so its value does not matter
    return w_query, w_key, w_value


# %% wrong split_heads view_without_transpose of="chunks_stacked"
# The shape is right, but each head holds the features of only a few tokens. First split the last
# axis, then exchange the axes of length and heads.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, num_heads, length, d_model // num_heads)

# %% wrong split_heads not_transposed of="chunks_stacked"
# The heads axis comes after the length. Exchange these two axes.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, num_heads, d_model // num_heads)

# %% wrong split_heads interleaved of="chunks_stacked"
# You give the features to the heads in turn, one at a time. Each head should get neighbouring
# features.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, d_model // num_heads, num_heads).permute(0, 3, 1, 2)

# %% wrong split_heads sizes_exchanged of="chunks_stacked"
# You make as many heads as a head has features, and the other way round. First comes the number
# of heads, then their width.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, d_model // num_heads, num_heads).transpose(1, 2)

# %% wrong split_heads heads_first of="chunks_stacked"
# The heads axis comes before the batch. The order is (batch, heads, length, d_head).
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      return torch.stack(x.chunk(num_heads, dim=-1))

# %% wrong split_heads transposed_then_reshaped of="chunks_stacked"
# You exchange length and features before you split, so the split goes through the tokens. Split
# first.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.transpose(1, 2).reshape(batch, num_heads, length, d_model // num_heads)

# %% wrong split_heads features_and_words_exchanged of="chunks_stacked"
# The last two axes are exchanged. Each head should be (length, d_head).
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.transpose(1, 2).reshape(batch, num_heads, d_model // num_heads, length)

# %% wrong split_heads heads_in_the_batch of="chunks_stacked"
# Batch and heads share one axis. Keep them apart: (batch, heads, length, d_head).
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          parts = x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)
#          return parts.flatten(0, 1)

# %% wrong split_heads wrong_axes_exchanged of="chunks_stacked"
# You exchange the axes of batch and heads. The batch stays first: exchange length and heads.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(0, 2)

# %% wrong split_heads last_two_exchanged of="chunks_stacked"
# You exchange the axes of heads and d_head. Exchange those of length and heads.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(2, 3)

# %% wrong split_heads words_split of="chunks_stacked"
# You divide the tokens among the heads. Each head should get all tokens, and a share of their
# features.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.repeat(1, num_heads, 1).reshape(batch, num_heads, length, d_model)

# %% wrong split_heads no_check of="assertion"
# The heads cannot share these features evenly, and you raise no error of your own. Test it first,
# and raise a ValueError with both numbers.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:


# %% wrong split_heads rest_cut_off
# You raise nothing where the heads cannot share the features evenly. Raise a ValueError that
# names both numbers; do not return it, and do not drop the remainder.
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    d_head = d_model // num_heads
    kept = x[..., : num_heads * d_head]
    return kept.reshape(batch, length, num_heads, d_head).transpose(1, 2)


# %% wrong split_heads error_without_numbers of="assertion"
# Your error does not name both numbers. Put d_model and num_heads into its text.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:      if x.shape[-1] % num_heads:
#              raise ValueError("d_model is no multiple of num_heads")

# %% wrong split_heads error_with_one_number of="assertion"
# Your error does not name both numbers. Put d_model and num_heads into its text.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:      if x.shape[-1] % num_heads:
#              raise ValueError(f"{x.shape[-1]} features cannot be shared evenly")


# %% wrong split_heads assertion
# An assert raises an AssertionError. The docstring asks for a ValueError.
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


# %% wrong split_heads length_tested of="assertion"
# You test whether the heads divide the length. They share the features, the last axis.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:      if x.shape[1] % num_heads:
#              raise ValueError(f"{x.shape[1]} {num_heads}")

# %% wrong split_heads test_inverted of="assertion"
# You raise the error where the heads can share the features evenly. Invert the condition.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:      if x.shape[-1] % num_heads == 0:
#              raise ValueError(f"{x.shape[-1]} {num_heads}")

# %% wrong split_heads error_returned of="assertion"
# You raise nothing where the heads cannot share the features evenly. Raise a ValueError that
# names both numbers; do not return it, and do not drop the remainder.
# replace: assert x.shape[-1] % num_heads == 0, (x.shape[-1], num_heads)
# by:      if x.shape[-1] % num_heads:
#              return ValueError(f"{x.shape[-1]} {num_heads}")

# %% wrong split_heads a_tuple_of_heads of="chunks_stacked"
# You return several tensors. Return one tensor with an axis for the heads.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      return x.chunk(num_heads, dim=-1)

# %% wrong split_heads chunks_of_that_size of="chunks_stacked"
# You make as many heads as a head has features, and the other way round. First comes the number
# of heads, then their width.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      return torch.stack(x.split(num_heads, dim=-1), dim=1)

# %% wrong split_heads detached of="chunks_stacked"
# Your heads are detached from x, so no gradient can flow back.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.detach().reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


# %% wrong split_heads strides_of_contiguous_only
# You read the memory of x with strides that only fit an x whose memory is in order.
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads cannot share {d_model} features")
    d_head = d_model // num_heads
    strides = (length * d_model, d_head, d_model, 1)
    return x.as_strided((batch, num_heads, length, d_head), strides)


# %% wrong split_heads number_of_heads_fixed of="chunks_stacked"
# You always make two heads. num_heads says how many.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      return torch.stack(x.chunk(2, dim=-1), dim=1)

# %% wrong split_heads heads_backwards of="chunks_stacked"
# The heads are in reverse order. Head 0 gets the first features.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      return torch.stack(x.chunk(num_heads, dim=-1)[::-1], dim=1)

# %% wrong split_heads true_division of="chunks_stacked"
# d_model / num_heads is a float such as 3.0, which is no valid size. Divide whole numbers with
# //.
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          return x.reshape(batch, length, num_heads, d_model / num_heads).transpose(1, 2)

# %% wrong split_heads forgotten_return of="chunks_stacked"
# does the last line say `return`?
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      batch, length, d_model = x.shape
#          x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


# %% right split_heads chunks_stacked
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    if x.shape[-1] % num_heads:
        raise ValueError(f"d_model {x.shape[-1]} is no multiple of num_heads {num_heads}")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


# %% right split_heads permuted
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    d_head, rest = divmod(d_model, num_heads)
    if rest:
        raise ValueError(f"{d_model} / {num_heads} leaves {rest}")
    return x.reshape(batch, length, num_heads, d_head).permute(0, 2, 1, 3).contiguous()


# %% right split_heads written_head_by_head
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    if x.shape[-1] % num_heads:
        raise ValueError(f"d_model {x.shape[-1]} is no multiple of num_heads {num_heads}")
    batch, length, d_model = x.shape
    heads = x.new_empty(batch, num_heads, length, d_model // num_heads)
    for i, part in enumerate(x.split(d_model // num_heads, dim=2)):
        heads[:, i] = part
    return heads


# %% right split_heads the_error_of_reshape
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    _batch, _length, d_model = x.shape
    try:
        return x.unflatten(2, (num_heads, d_model // num_heads)).swapaxes(1, 2)
    except RuntimeError as error:
        raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}") from error


# %% right split_heads by_places of="chunks_stacked"
# replace: return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
# by:      places = torch.arange(x.shape[-1]).reshape(num_heads, -1)
#          return x[:, :, places].transpose(1, 2)

# %% wrong merge_heads view_without_transpose of="contiguous_view"
# The shape is right, but the features of a token come from several tokens. Exchange the axes of
# heads and length first.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.reshape(batch, length, heads * d_head)

# %% wrong merge_heads view_after_transpose of="contiguous_view"
# After a transpose the numbers are not in their new order in memory, so `view` refuses. `reshape`
# copies them.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.transpose(1, 2).view(batch, length, heads * d_head)

# %% wrong merge_heads interleaved of="contiguous_view"
# You mix the heads feature by feature. First come all features of head 0, then all of head 1.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.permute(0, 2, 3, 1).reshape(batch, length, heads * d_head)


# %% wrong merge_heads averaged
# You average the heads. Put them side by side.
def merge_heads(x: Tensor) -> Tensor:
    return x.mean(1)


# %% wrong merge_heads added
# You add the heads up. Put them side by side.
def merge_heads(x: Tensor) -> Tensor:
    return x.sum(1)


# %% wrong merge_heads words_in_a_row
# You put the heads below one another, along the tokens. Side by side means along the features.
def merge_heads(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


# %% wrong merge_heads two_axes_left
# Heads and features are still two axes. Make one axis of them.
def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


# %% wrong merge_heads wrong_axes_exchanged of="contiguous_view"
# You exchange the length and the features of a head. Exchange heads and length.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.transpose(2, 3).reshape(batch, length, heads * d_head)

# %% wrong merge_heads mixed_sequences of="contiguous_view"
# The shape is right, but the features of a token come from several tokens. Exchange the axes of
# heads and length first.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.transpose(0, 1).reshape(batch, length, heads * d_head)

# %% wrong merge_heads transposed_back_wrongly of="contiguous_view"
# You exchange batch and length as well. The batch should stay first.
# replace: return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)
# by:      return x.permute(2, 0, 1, 3).reshape(batch, length, heads * d_head)


# %% wrong merge_heads first_head_only
# You return only head 0. Put all heads side by side.
def merge_heads(x: Tensor) -> Tensor:
    return x[:, 0]


# %% wrong merge_heads backwards
# The heads are in reverse order. Head 0 comes first.
def merge_heads(x: Tensor) -> Tensor:
    return torch.cat(x.unbind(1)[::-1], dim=-1)


# %% wrong merge_heads sequences_side_by_side
# You put the sequences side by side, not the heads. The heads are axis 1.
def merge_heads(x: Tensor) -> Tensor:
    return torch.cat([*x], dim=-1)


# %% wrong merge_heads a_list_of_heads
# You return several tensors. Return one, with the heads side by side.
def merge_heads(x: Tensor) -> Tensor:
    return x.unbind(1)


# %% wrong merge_heads detached
# Your result is detached from the heads, so no gradient can flow back.
def merge_heads(x: Tensor) -> Tensor:
    return x.detach().transpose(1, 2).flatten(2)


# %% wrong merge_heads batch_lost
# The result lacks the batch axis, which has size 1 here. Keep it.
def merge_heads(x: Tensor) -> Tensor:
    _batch, heads, _length, d_head = x.shape
    return x.transpose(1, 2).reshape(-1, heads * d_head)


# %% wrong merge_heads squeezed
# The result lacks the batch axis, which has size 1 here. Keep it.
def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2).squeeze()


# %% wrong merge_heads transposed_in_place
# Your code changes its input x. Make a new tensor instead.
def merge_heads(x: Tensor) -> Tensor:
    x.transpose_(1, 2)
    return x.flatten(2)


# %% wrong merge_heads forgotten_return
# does the last line say `return`?
def merge_heads(x: Tensor) -> Tensor:
    x.transpose(1, 2).flatten(2)


# %% right merge_heads concatenated
def merge_heads(x: Tensor) -> Tensor:
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% right merge_heads contiguous_view
def merge_heads(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).contiguous().view(batch, length, heads * d_head)


# %% right merge_heads permuted
def merge_heads(x: Tensor) -> Tensor:
    batch, _heads, length, _d_head = x.shape
    return x.permute(0, 2, 1, 3).reshape(batch, length, -1)


# %% right merge_heads loop
def merge_heads(x: Tensor) -> Tensor:
    _batch, heads, length, _d_head = x.shape
    merged = []
    for word in range(length):
        merged.append(torch.cat([x[:, head, word] for head in range(heads)], dim=1))
    return torch.stack(merged, dim=1)


# %% right merge_heads written_in_place
def merge_heads(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    merged = torch.zeros(batch, length, heads * d_head, dtype=x.dtype)
    for head in range(heads):
        merged[..., head * d_head : (head + 1) * d_head] = x[:, head]
    return merged


# %% wrong repaired_queries slices_of_x
# Each head still reads only its own slice of each token. Multiply whole tokens by the matrix,
# then split.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    d_head = x.shape[-1] // num_heads
    heads = []
    for i in range(num_heads):
        own = slice(i * d_head, (i + 1) * d_head)
        heads.append(x[..., own] @ w_query[own, own])
    return torch.stack(heads, dim=1)


# %% wrong repaired_queries split_first
# You split first, so the widths do not fit the matrix. Multiply first.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x, num_heads) @ w_query


# %% wrong repaired_queries not_projected
# You split x itself. Multiply it by the matrix first.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x, num_heads)


# %% wrong repaired_queries not_split
# You return the queries of all heads in one axis. Split them into heads.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return x @ w_query


# %% wrong repaired_queries transposed_matrix
# You multiply by the transposed matrix. A token is a row of x, so the matrix goes on its right as
# it is.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x @ w_query.T, num_heads)


# %% wrong repaired_queries view_without_transpose
# The shape is right, but each head holds the queries of only a few tokens. Split with your own
# function.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return (x @ w_query).reshape(batch, num_heads, length, d_model // num_heads)


# %% wrong repaired_queries not_transposed
# The heads axis comes after the length. The order is (batch, heads, length, d_head).
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return (x @ w_query).unflatten(-1, (num_heads, -1))


# %% wrong repaired_queries interleaved
# You give the columns to the heads in turn, one at a time. Head 0 should get the first columns,
# all next to each other.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return (x @ w_query).unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


# %% wrong repaired_queries slices_against_rows
# Each head multiplies its slice of the token by some rows of the matrix. Every head needs all
# rows and all features.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    parts = zip(x.chunk(num_heads, -1), w_query.chunk(num_heads, 0), strict=True)
    return torch.stack([part @ rows for part, rows in parts], dim=1)


# %% wrong repaired_queries rows_for_columns
# You multiply by the transposed matrix. A token is a row of x, so the matrix goes on its right as
# it is.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return torch.stack([x @ rows.T for rows in w_query.chunk(num_heads, 0)], dim=1)


# %% wrong repaired_queries heads_first
# The heads axis comes before the batch. The order is (batch, heads, length, d_head).
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return torch.stack((x @ w_query).chunk(num_heads, -1))


# %% wrong repaired_queries elementwise
# You multiply number by number. A projection is a matrix product.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x * w_query[0], num_heads)


# %% wrong repaired_queries head_zero_for_all
# All heads get the queries of head 0. Each head has columns of its own.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    d_head = x.shape[-1] // num_heads
    return torch.stack([x @ w_query[:, :d_head]] * num_heads, dim=1)


# %% wrong repaired_queries always_two_heads
# You always make two heads. num_heads says how many.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x @ w_query, 2)


# %% wrong repaired_queries width_as_number
# You make as many heads as a head has features. num_heads is the number of heads.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return split_heads(x @ w_query, x.shape[-1] // num_heads)


# %% wrong repaired_queries matrix_reshaped_into_heads
# You cut the matrix by a reshape, which reads it row by row. Each head needs whole columns.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    d_model = x.shape[-1]
    return x[:, None] @ w_query.reshape(num_heads, d_model, d_model // num_heads)


# %% wrong repaired_queries new_random_layer
# The numbers of w_query play no part: your code multiplies by a matrix of its own.
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    layer = nn.Linear(w_query.shape[0], w_query.shape[1], bias=False).to(x.dtype)
    return split_heads(layer(x), num_heads)


# %% right repaired_queries columns_of_each_head
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    return torch.stack([x @ columns for columns in w_query.chunk(num_heads, 1)], dim=1)


# %% right repaired_queries einsum
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    columns = w_query.reshape(x.shape[-1], num_heads, -1)
    return torch.einsum("bld,dhe->bhle", x, columns)


# %% right repaired_queries broadcast
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    columns = w_query.unflatten(1, (num_heads, -1)).transpose(0, 1)
    return x[:, None] @ columns


# %% right repaired_queries reshaped
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    queries = F.linear(x, w_query.T)
    return queries.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2)


# %% right repaired_queries all_slices_added
def repaired_queries(x: Tensor, w_query: Tensor, num_heads: int) -> Tensor:
    d_head = x.shape[-1] // num_heads
    rows = zip(x.split(d_head, -1), w_query.split(d_head, 0), strict=True)
    whole = sum(part @ matrix for part, matrix in rows)
    return split_heads(whole, num_heads)


# %% wrong repaired_output not_transposed
# In your product the matrix is the wrong way round: `@` needs it with a row for each of the heads'
# features, `F.linear` as it is on the slide.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads) @ w_output


# %% wrong repaired_output matrix_on_the_left
# You multiply with the matrix on the left. A token is a row, so the matrix goes on its right.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return w_output @ merge_heads(heads)


# %% wrong repaired_output heads_not_merged
# What you multiply is as wide as one head, not as all heads of a token side by side.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return heads @ w_output.T


# %% wrong repaired_output merged_without_exchange
# The features of a token come from several tokens. Exchange heads and length before you make one
# axis of the last two.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    batch, num_heads, length, d_v = heads.shape
    return heads.reshape(batch, length, num_heads * d_v) @ w_output.T


# %% wrong repaired_output interleaved
# You mix the heads feature by feature. Head 0 comes first, with all its features.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(2) @ w_output.T


# %% wrong repaired_output heads_added
# All heads share one part of the matrix, as if you added them up first. Put them side by side.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    width = heads.shape[-1]
    return heads.sum(1) @ w_output[:, :width].T


# %% wrong repaired_output heads_averaged
# You take the mean over the heads. Put them side by side.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    mean = heads.mean(1)
    return mean.repeat(1, 1, heads.shape[1]) @ w_output.T


# %% wrong repaired_output not_projected
# You put the heads side by side, but do not use the matrix yet.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads)


# %% wrong repaired_output reshaped_matrix
# You reshape the matrix where you should transpose it. `reshape` keeps the order of the numbers,
# and so mixes rows with columns.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads) @ w_output.reshape(w_output.shape[1], w_output.shape[0])


# %% wrong repaired_output heads_backwards
# The heads are in reverse order. Head 0 comes first.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads.flip(1)) @ w_output.T


# %% wrong repaired_output words_last
# The last two axes of your output are exchanged. The order is (batch, length, d_model).
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return w_output @ merge_heads(heads).transpose(1, 2)


# %% wrong repaired_output words_and_features_flattened
# You put the tokens of all heads into one row. Side by side means along the features.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return heads.flatten(1, 2) @ w_output.T[: heads.shape[-1]]


# %% wrong repaired_output transposed_twice
# In your product the matrix is the wrong way round: `@` needs it with a row for each of the heads'
# features, `F.linear` as it is on the slide.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return F.linear(merge_heads(heads), w_output.T)


# %% wrong repaired_output mean_of_heads
# What you multiply is as wide as one head, not as all heads of a token side by side.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return heads.mean(dim=1) @ w_output.T


# %% wrong repaired_output first_head_alone
# What you multiply is as wide as one head, not as all heads of a token side by side.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return heads[:, 0] @ w_output.T


# %% wrong repaired_output transposed_in_place
# Your code changes its input w_output. Make a new tensor instead.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads) @ w_output.t_()


# %% wrong repaired_output matrix_cut_from_gradient
# No gradient reaches w_output. Stay in torch: no detach, data, no_grad or NumPy.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return merge_heads(heads) @ w_output.data.T


# %% wrong repaired_output new_random_layer
# The numbers of w_output play no part: your code multiplies by a matrix of its own.
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    layer = nn.Linear(w_output.shape[1], w_output.shape[0], bias=False).to(heads.dtype)
    return layer(merge_heads(heads))


# %% right repaired_output linear
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return F.linear(merge_heads(heads), w_output)


# %% right repaired_output einsum
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    blocks = w_output.unflatten(1, (heads.shape[1], heads.shape[3]))
    return torch.einsum("bhlv,mhv->blm", heads, blocks)


# %% right repaired_output concatenated
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    return torch.cat(list(heads.unbind(1)), dim=-1) @ w_output.mT


# %% right repaired_output sum_over_heads
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    blocks = w_output.chunk(heads.shape[1], dim=1)
    return sum(head @ block.T for head, block in zip(heads.unbind(1), blocks, strict=True))


# %% right repaired_output left_product
def repaired_output(heads: Tensor, w_output: Tensor) -> Tensor:
    merged = heads.transpose(1, 2).flatten(2)
    return (w_output @ merged.transpose(1, 2)).transpose(1, 2)


# %% base MultiHeadAttention four_linear_layers
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        q = split_heads(self.w_query(query), self.num_heads)
        k = split_heads(self.w_key(key), self.num_heads)
        v = split_heads(self.w_value(value), self.num_heads)
        heads, weights = attention(q, k, v, mask)
        return self.w_output(merge_heads(heads)), weights


# %% wrong MultiHeadAttention scaled_by_model_width of="four_linear_layers"
# Your weights are too even: you divide the scores by the root of d_model. Each score sums over
# the features of one head only, so divide by the root of d_head.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention no_scale of="four_linear_layers"
# Your weights are too sharp. Divide the scores by the root of d_head.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1)
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention divided_by_d_head of="four_linear_layers"
# Your weights are too even: in all you divide the scores by d_head, not by its root. (The given
# `attention` already divides by the root.)
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / q.shape[-1]
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention scaled_by_heads of="four_linear_layers"
# You divide by the root of the number of heads. Divide by the root of d_head.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(self.num_heads)
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention scaled_by_length of="four_linear_layers"
# You divide by the root of the number of tokens. Divide by the root of d_head.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-2])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention softmax_over_queries of="four_linear_layers"
# Each column of your weights sums to 1, but each row should. Softmax runs over the keys.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          weights = torch.softmax(scores, dim=-2).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention softmax_over_heads of="four_linear_layers"
# Your softmax runs over the heads. The weights of one head should sum to 1 over the keys.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          weights = torch.softmax(scores, dim=1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention view_without_transpose of="four_linear_layers"
# Your heads hold only a few tokens each, because a view mixes their features. Split the last
# axis, then exchange the axes of length and heads.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
# by:      batch = len(query)
#          q, k, v = (
#              layer(x).view(batch, self.num_heads, x.shape[1], -1)
#              for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
#          )

# %% wrong MultiHeadAttention heads_merged_by_view of="four_linear_layers"
# You merge the heads of several tokens into one. Exchange heads and length back before you make
# one axis of heads and features.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(heads.reshape(query.shape)), weights

# %% wrong MultiHeadAttention interleaved_heads of="four_linear_layers"
# You give the features to the heads in turn, one at a time. Head 0 should get the first d_head
# features.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
# by:      q, k, v = (
#              layer(x).unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
#              for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
#          )

# %% wrong MultiHeadAttention no_output_projection of="four_linear_layers"
# The output projection is missing. Apply w_output to the merged heads.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return merge_heads(heads), weights

# %% wrong MultiHeadAttention averaged_weights of="four_linear_layers"
# Your weights are the mean over the heads. Return those of each head.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(merge_heads(heads)), weights.mean(1)

# %% wrong MultiHeadAttention averaged_weights_in_every_head of="four_linear_layers"
# Your weights are the mean over the heads, repeated for each head. Return those of each head.
# replace: self.w_output(merge_heads(heads)), weights
# by:      self.w_output(merge_heads(heads)), weights.mean(1, keepdim=True).expand_as(weights)

# %% wrong MultiHeadAttention summed_weights of="four_linear_layers"
# Your weights are summed over the heads. Return those of each head.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(merge_heads(heads)), weights.sum(1)

# %% wrong MultiHeadAttention query_used_for_key of="four_linear_layers"
# You make the keys from the query. Queries, keys and values each have their own input.
# replace: k = split_heads(self.w_key(key), self.num_heads)
# by:      k = split_heads(self.w_key(query), self.num_heads)

# %% wrong MultiHeadAttention query_for_all of="four_linear_layers"
# You make keys and values from the query. Queries, keys and values each have their own input.
# replace: k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
# by:      k = split_heads(self.w_key(query), self.num_heads)
#          v = split_heads(self.w_value(query), self.num_heads)

# %% wrong MultiHeadAttention key_used_for_value of="four_linear_layers"
# You make the values from the key. Queries, keys and values each have their own input.
# replace: v = split_heads(self.w_value(value), self.num_heads)
# by:      v = split_heads(self.w_value(key), self.num_heads)

# %% wrong MultiHeadAttention key_layer_for_query of="four_linear_layers"
# The query goes through the layer of the keys. It has its own, w_query.
# replace: q = split_heads(self.w_query(query), self.num_heads)
# by:      q = split_heads(self.w_key(query), self.num_heads)

# %% wrong MultiHeadAttention query_layer_for_key of="four_linear_layers"
# The key goes through the layer of the queries. It has its own, w_key.
# replace: k = split_heads(self.w_key(key), self.num_heads)
# by:      k = split_heads(self.w_query(key), self.num_heads)

# %% wrong MultiHeadAttention key_layer_for_value of="four_linear_layers"
# The value goes through the layer of the keys. It has its own, w_value.
# replace: v = split_heads(self.w_value(value), self.num_heads)
# by:      v = split_heads(self.w_key(value), self.num_heads)

# %% wrong MultiHeadAttention values_not_projected of="four_linear_layers"
# Your heads blend the values without projecting them. Apply w_value first.
# replace: v = split_heads(self.w_value(value), self.num_heads)
# by:      v = split_heads(value, self.num_heads)

# %% wrong MultiHeadAttention nothing_projected of="four_linear_layers"
# You do not project queries and keys. Apply w_query and w_key first.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
# by:      q = split_heads(query, self.num_heads)
#          k = split_heads(key, self.num_heads)

# %% wrong MultiHeadAttention split_before_projection of="four_linear_layers"
# Each of your heads uses only a block of the matrix, so it is blind to the rest of the token.
# Project whole tokens, then split.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
# by:      d_head = query.shape[-1] // self.num_heads
#
#          def per_slice(layer: nn.Linear, x: Tensor) -> Tensor:
#              parts = []
#              for i in range(self.num_heads):
#                  own = slice(i * d_head, (i + 1) * d_head)
#                  shift = None if layer.bias is None else layer.bias[own]
#                  parts.append(F.linear(x[..., own], layer.weight[own, own], shift))
#              return torch.stack(parts, dim=1)
#
#          q, k = per_slice(self.w_query, query), per_slice(self.w_key, key)
#          v = per_slice(self.w_value, value)

# %% wrong MultiHeadAttention shared_layer of="four_linear_layers"
# Queries, keys and values share one layer. Make one for each.
# replace: self.w_key = nn.Linear(d_model, d_model, bias)
#          self.w_value = nn.Linear(d_model, d_model, bias)
# by:      self.w_key = self.w_query
#          self.w_value = self.w_query

# %% wrong MultiHeadAttention heads_share_weights of="four_linear_layers"
# All your heads use the features of head 0. Each head has its own share.
# replace: v = split_heads(self.w_value(value), self.num_heads)
# by:      v = split_heads(self.w_value(value), self.num_heads)
#          q, k, v = (part[:, :1].expand_as(part) for part in (q, k, v))

# %% wrong MultiHeadAttention one_head of="four_linear_layers"
# You compute attention once, with all features. Split into heads first.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
#          heads, weights = attention(q, k, v, mask)
#          return self.w_output(merge_heads(heads)), weights
# by:      q, k, v = self.w_query(query), self.w_key(key), self.w_value(value)
#          heads, weights = attention(q[:, None], k[:, None], v[:, None], mask)
#          weights = weights.expand(-1, self.num_heads, -1, -1)
#          return self.w_output(heads[:, 0]), weights

# %% wrong MultiHeadAttention heads_averaged of="four_linear_layers"
# You average the heads instead of merging them. Put them side by side.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(heads.mean(1).repeat(1, 1, self.num_heads)), weights

# %% wrong MultiHeadAttention attends_over_heads of="four_linear_layers"
# Your attention compares the heads of one token with one another. The length should be the second
# last axis.
# replace: q = split_heads(self.w_query(query), self.num_heads)
#          k = split_heads(self.w_key(key), self.num_heads)
#          v = split_heads(self.w_value(value), self.num_heads)
# by:      q = split_heads(self.w_query(query), self.num_heads).transpose(1, 2)
#          k = split_heads(self.w_key(key), self.num_heads).transpose(1, 2)
#          v = split_heads(self.w_value(value), self.num_heads).transpose(1, 2)
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(heads.flatten(2)), weights

# %% wrong MultiHeadAttention bias_ignored of="four_linear_layers"
# pass `bias` to each of the four layers, w_output too
# replace: self.w_query = nn.Linear(d_model, d_model, bias)
#          self.w_key = nn.Linear(d_model, d_model, bias)
#          self.w_value = nn.Linear(d_model, d_model, bias)
#          self.w_output = nn.Linear(d_model, d_model, bias)
# by:      self.w_query = nn.Linear(d_model, d_model)
#          self.w_key = nn.Linear(d_model, d_model)
#          self.w_value = nn.Linear(d_model, d_model)
#          self.w_output = nn.Linear(d_model, d_model)

# %% wrong MultiHeadAttention never_a_bias of="four_linear_layers"
# pass `bias` to each of the four layers, w_output too
# replace: self.w_query = nn.Linear(d_model, d_model, bias)
#          self.w_key = nn.Linear(d_model, d_model, bias)
#          self.w_value = nn.Linear(d_model, d_model, bias)
#          self.w_output = nn.Linear(d_model, d_model, bias)
# by:      self.w_query = nn.Linear(d_model, d_model, bias=False)
#          self.w_key = nn.Linear(d_model, d_model, bias=False)
#          self.w_value = nn.Linear(d_model, d_model, bias=False)
#          self.w_output = nn.Linear(d_model, d_model, bias=False)

# %% wrong MultiHeadAttention output_without_bias of="four_linear_layers"
# pass `bias` to each of the four layers, w_output too
# replace: self.w_output = nn.Linear(d_model, d_model, bias)
# by:      self.w_output = nn.Linear(d_model, d_model, bias=False)

# %% wrong MultiHeadAttention residual of="four_linear_layers"
# You add the query to the result. The output should be what w_output returns, nothing more.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return query + self.w_output(merge_heads(heads)), weights

# %% wrong MultiHeadAttention narrow_layers of="four_linear_layers"
# four layers nn.Linear(d_model, d_model); project, split, attend, merge, then w_output
# replace: self.w_query = nn.Linear(d_model, d_model, bias)
#          self.w_key = nn.Linear(d_model, d_model, bias)
# by:      d_head = d_model // num_heads
#          self.w_query = nn.Linear(d_model, d_head, bias)
#          self.w_key = nn.Linear(d_model, d_head, bias)


# %% wrong MultiHeadAttention names_of_pytorch
# Your layers have other names. Call them w_query, w_key, w_value and w_output.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, d_model, bias)
        self.v_proj = nn.Linear(d_model, d_model, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        q = split_heads(self.q_proj(query), self.num_heads)
        k = split_heads(self.k_proj(key), self.num_heads)
        v = split_heads(self.v_proj(value), self.num_heads)
        heads, weights = attention(q, k, v, mask)
        return self.out_proj(merge_heads(heads)), weights


# %% wrong MultiHeadAttention output_only of="four_linear_layers"
# The weights are missing. Return the output and the weights.
# replace: heads, weights = attention(q, k, v, mask)
#          return self.w_output(merge_heads(heads)), weights
# by:      heads, _weights = attention(q, k, v, mask)
#          return self.w_output(merge_heads(heads))

# %% wrong MultiHeadAttention weights_first of="four_linear_layers"
# You return the weights first. The order is (output, weights).
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return weights, self.w_output(merge_heads(heads))

# %% wrong MultiHeadAttention output_applied_twice of="four_linear_layers"
# You apply w_output twice. Once is enough.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      return self.w_output(self.w_output(merge_heads(heads))), weights

# %% wrong MultiHeadAttention detached of="four_linear_layers"
# Your queries and keys are detached from their layers, so no gradient can flow back.
# replace: heads, weights = attention(q, k, v, mask)
# by:      heads, weights = attention(q.detach(), k.detach(), v, mask)

# %% wrong MultiHeadAttention dropout_left_in of="four_linear_layers"
# You drop weights at random. There is no dropout in this exercise.
# replace: heads, weights = attention(q, k, v, mask)
# by:      heads, weights = attention(q, k, v, mask)
#          weights = F.dropout(weights, 0.5)
#          heads = weights @ v

# %% wrong MultiHeadAttention mask_ignored of="four_linear_layers"
# The mask does not change your weights. Pass it to `attention`.
# replace: heads, weights = attention(q, k, v, mask)
# by:      heads, weights = attention(q, k, v)

# %% wrong MultiHeadAttention mask_without_heads_axis of="four_linear_layers"
# Head i obeys the mask of sequence i, in every sequence. All heads of a sequence should obey the
# mask of this sequence.
# replace: if mask is not None and mask.dim() == 3:
#              mask = mask[:, None]
# by:

# %% wrong MultiHeadAttention mask_axis_at_the_wrong_place of="four_linear_layers"
# Head i obeys the mask of sequence i, in every sequence. All heads of a sequence should obey the
# mask of this sequence.
# replace: mask = mask[:, None]
# by:      mask = mask[None]

# %% wrong MultiHeadAttention mask_axis_before_the_keys of="four_linear_layers"
# You insert the new axis of the mask before the keys. The heads axis comes second, after the
# batch.
# replace: mask = mask[:, None]
# by:      mask = mask[:, :, None]

# %% wrong MultiHeadAttention every_mask_gets_an_axis of="four_linear_layers"
# Your code inserts an axis into this mask (query, key), so its queries line up with the heads. Only
# a mask with three axes needs one.
# replace: if mask is not None and mask.dim() == 3:
# by:      if mask is not None:

# %% wrong MultiHeadAttention mask_as_numbers of="four_linear_layers"
# Your mask forbids nothing: it is no longer bool, so its numbers are added to the scores.
# replace: if mask is not None and mask.dim() == 3:
# by:      if mask is not None:
#              mask = mask.to(query.dtype)
#          if mask is not None and mask.dim() == 3:

# %% wrong MultiHeadAttention mask_of_head_0_for_all of="four_linear_layers"
# All your heads obey the mask of head 0. A mask with four axes may differ between heads.
# replace: if mask is not None and mask.dim() == 3:
# by:      if mask is not None and mask.dim() == 4:
#              mask = mask[:, 0]
#          if mask is not None and mask.dim() == 3:

# %% wrong MultiHeadAttention mask_of_the_first_sequence of="four_linear_layers"
# All your sequences obey the mask of the first one. Each has its own.
# replace: mask = mask[:, None]
# by:      mask = mask[0]

# %% wrong MultiHeadAttention three_axes_ignored of="four_linear_layers"
# A mask (batch, 1, key) has no effect in your weights: the keys of the padding still get some. The
# last axis of a mask belongs to the keys.
# replace: mask = mask[:, None]
# by:      mask = None

# %% wrong MultiHeadAttention mask_turned_round of="four_linear_layers"
# Your mask is inverted. True means may attend.
# replace:     mask = mask[:, None]
# by:          mask = mask[:, None]
#          if mask is not None:
#              mask = ~mask

# %% wrong MultiHeadAttention empty_row_is_nan of="four_linear_layers"
# A query that may attend to nothing has NaN for weights. They should be 0.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1)
#          heads = weights @ v

# %% wrong MultiHeadAttention minus_1e9 of="four_linear_layers"
# A query that may attend to nothing attends to everything. A large negative score is not enough
# there: its weights should be 0.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              scores = scores.masked_fill(~mask, -1e9)
#          weights = torch.softmax(scores, dim=-1)
#          heads = weights @ v

# %% wrong MultiHeadAttention masked_after_softmax of="four_linear_layers"
# The weights of the allowed keys do not sum to 1. Apply the mask before softmax, not after it.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          weights = torch.softmax(scores, dim=-1)
#          if mask is not None:
#              weights = weights * mask
#          heads = weights @ v

# %% wrong MultiHeadAttention score_zero of="four_linear_layers"
# You set forbidden scores to 0, but exp(0) = 1. Set them to minus infinity.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              scores = scores * mask
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention mask_for_head_zero of="four_linear_layers"
# Only head 0 obeys the mask. All heads should.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              full = torch.ones_like(scores, dtype=torch.bool)
#              full[:, 0] = mask.expand(len(query), -1, -1, -1)[:, 0] if mask.dim() == 4 else mask
#              scores = scores.masked_fill(~full, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention mask_repeated_in_blocks of="four_linear_layers"
# Head i obeys the mask of sequence i, in every sequence. All heads of a sequence should obey the
# mask of this sequence.
# replace: mask = mask[:, None]
# by:      batch, rows, keys = mask.shape
#          mask = mask.repeat(self.num_heads, 1, 1).view(batch, self.num_heads, rows, keys)

# %% wrong MultiHeadAttention padding_masked_on_queries of="four_linear_layers"
# A mask (batch, 1, key) has no effect in your weights: the keys of the padding still get some. The
# last axis of a mask belongs to the keys.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              if mask.shape[-2] == 1:
#                  mask = mask[..., :1].expand_as(mask)
#              scores = scores.masked_fill(~mask, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v

# %% wrong MultiHeadAttention output_zeroed of="four_linear_layers"
# You set the output of a query that may attend to nothing to 0. It should be w_output(0), which
# is the bias of w_output.
# replace: return self.w_output(merge_heads(heads)), weights
# by:      output = self.w_output(merge_heads(heads))
#          if mask is not None:
#              output = output * (weights.sum(-1) > 0).all(1)[..., None]
#          return output, weights

# %% wrong MultiHeadAttention nan_in_the_gradient of="four_linear_layers"
# The gradient holds NaN. Either you add to a forbidden score where you should replace it, or you
# make NaN and replace it later.
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
#          if mask is not None:
#              scores = scores + torch.where(mask, 0.0, -math.inf)
#          weights = torch.softmax(scores, dim=-1).nan_to_num()
#          heads = weights @ v


# %% wrong MultiHeadAttention axis_by_batch_size
# Your code inserts an axis into this mask (query, key), so its queries line up with the heads. Only
# a mask with three axes needs one.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias=bias)
        self.w_key = nn.Linear(d_model, d_model, bias=bias)
        self.w_value = nn.Linear(d_model, d_model, bias=bias)
        self.w_output = nn.Linear(d_model, d_model, bias=bias)
        pass

    def forward(self, query, key, value, mask=None):
        pass
        q = split_heads(self.w_query(query), self.num_heads)
        k = split_heads(self.w_key(key), self.num_heads)
        v = split_heads(self.w_value(value), self.num_heads)
        if mask is not None and mask.shape[0] == query.shape[0] and mask.dim() < 4:
            mask = mask.unsqueeze(1)
        output, weights = attention(q, k, v, mask)
        return self.w_output(merge_heads(output)), weights


# %% wrong MultiHeadAttention key_is_value of="axis_by_batch_size"
# You make the values from the key. Queries, keys and values each have their own input.
# replace: v = split_heads(self.w_value(value), self.num_heads)
#          if mask is not None and mask.shape[0] == query.shape[0] and mask.dim() < 4:
#              mask = mask.unsqueeze(1)
# by:      v = split_heads(self.w_value(key), self.num_heads)
#          if mask is not None and mask.dim() == 3:
#              mask = mask[:, None]


# %% right MultiHeadAttention fused_kernel
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        q = split_heads(self.w_query(query), self.num_heads)
        k = split_heads(self.w_key(key), self.num_heads)
        v = split_heads(self.w_value(value), self.num_heads)
        heads = F.scaled_dot_product_attention(q, k, v, mask)
        identity = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-1], k.shape[-2])
        weights = F.scaled_dot_product_attention(q, k, identity, mask)
        return self.w_output(merge_heads(heads)), weights


# %% right MultiHeadAttention einsum
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        def heads_of(layer: nn.Linear, x: Tensor) -> Tensor:
            return layer(x).view(x.shape[0], x.shape[1], self.num_heads, -1)

        q, k = heads_of(self.w_query, query), heads_of(self.w_key, key)
        v = heads_of(self.w_value, value)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            full = mask.unsqueeze(1) if mask.ndim == 3 else mask
            scores = torch.where(full, scores, -math.inf)
            weights = torch.where(full, scores.softmax(-1), 0.0)
        else:
            weights = scores.softmax(-1)
        blends = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.w_output(blends.flatten(2)), weights


# %% right MultiHeadAttention loop_over_heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        q, k, v = self.w_query(query), self.w_key(key), self.w_value(value)
        d_head = q.shape[-1] // self.num_heads
        outputs, all_weights = [], []
        for i in range(self.num_heads):
            own = slice(i * d_head, (i + 1) * d_head)
            seen = mask
            if mask is not None and mask.dim() == 4:
                seen = mask[:, i] if mask.shape[1] > 1 else mask[:, 0]
            output, weights = attention(q[..., own], k[..., own], v[..., own], seen)
            outputs.append(output)
            all_weights.append(weights)
        return self.w_output(torch.cat(outputs, -1)), torch.stack(all_weights, 1)


# %% right MultiHeadAttention heads_in_the_batch
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        batch, rows, _ = query.shape
        q, k, v = (
            split_heads(layer(x), self.num_heads).flatten(0, 1)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        if mask is not None:
            full = mask[:, None] if mask.dim() == 3 else mask
            mask = full.expand(batch, self.num_heads, rows, k.shape[1]).flatten(0, 1)
        output, weights = attention(q, k, v, mask)
        output = merge_heads(output.unflatten(0, (batch, self.num_heads)))
        return self.w_output(output), weights.unflatten(0, (batch, self.num_heads))


# %% right MultiHeadAttention scaled_queries of="four_linear_layers"
# replace: heads, weights = attention(q, k, v, mask)
# by:      scores = (q * q.shape[-1] ** -0.5) @ k.mT
#          if mask is None:
#              mask = torch.ones_like(scores, dtype=torch.bool)
#          powers = (scores - scores.amax(-1, keepdim=True).detach()).exp() * mask
#          weights = powers / powers.sum(-1, keepdim=True).clamp_min(1e-30)
#          heads = weights @ v


# %% right MultiHeadAttention functional_of_torch
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if mask is not None:
            full = mask[:, None] if mask.dim() == 3 else mask
            mask = full.expand(len(query), self.num_heads, query.shape[1], key.shape[1])
        q, k, v = self.w_query(query), self.w_key(key), self.w_value(value)
        heads, weights = attention(
            *(torch.stack(part.chunk(self.num_heads, -1), 1) for part in (q, k, v)), mask=mask
        )
        return self.w_output(torch.cat(heads.unbind(1), -1)), weights


# %% right MultiHeadAttention layers_in_a_loop of="four_linear_layers"
# replace: self.w_query = nn.Linear(d_model, d_model, bias)
#          self.w_key = nn.Linear(d_model, d_model, bias)
#          self.w_value = nn.Linear(d_model, d_model, bias)
#          self.w_output = nn.Linear(d_model, d_model, bias)
# by:      self.d_head = d_model // num_heads
#          for role in ("output", "value", "key", "query"):
#              setattr(self, f"w_{role}", nn.Linear(d_model, d_model, bias=bias))


# %% wrong attention_parameters three_matrices
# You count three matrices. The output projection is the fourth.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 3 * d_model * (d_model + bias)


# %% wrong attention_parameters no_biases
# You leave out the biases. With biases there are d_model more parameters for each matrix.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * d_model


# %% wrong attention_parameters always_biases
# You count biases where there are none. They are there only if `bias` is True.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * (d_model + 1)


# %% wrong attention_parameters one_bias
# You count the bias of one layer. All four layers have one.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * d_model + bias * d_model


# %% wrong attention_parameters three_biases
# You count three biases. The output projection has one too.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * d_model + 3 * bias * d_model


# %% wrong attention_parameters one_number_of_bias
# You count a bias as one parameter. It has d_model of them, one for each output feature.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * d_model + 4 * bias


# %% wrong attention_parameters bias_is_turned_round
# You count the biases when there are none, and leave them out when there are some.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model * (d_model + (not bias))


# %% wrong attention_parameters one_matrix
# You count one matrix. There are four.
def attention_parameters(d_model: int, bias: bool) -> int:
    return d_model * (d_model + bias)


# %% wrong attention_parameters eight_full_heads
# You count eight heads of full width. Narrow heads share the width, so the number of heads drops
# out.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * 8 * d_model * (d_model + bias)


# %% wrong attention_parameters added_for_squared
# You add where you should multiply: a matrix has d_model · d_model parameters.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * (d_model + d_model) + 4 * d_model * bias


# %% wrong attention_parameters printed
# You print the count. Return it.
def attention_parameters(d_model: int, bias: bool) -> int:
    print(4 * d_model * (d_model + bias))


# %% wrong attention_parameters slide_only
# You return the slide's number for every d_model. Compute it from d_model.
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * 512 * (512 + bias)


# %% right attention_parameters written_out
def attention_parameters(d_model: int, bias: bool) -> int:
    count = 0
    for _ in ("query", "key", "value", "output"):
        count += d_model**2
        if bias:
            count += d_model
    return count


# %% right attention_parameters whole_float
def attention_parameters(d_model: int, bias: bool) -> int:
    return 4 * d_model**2.0 + 4 * d_model * bias


# %% right attention_parameters built
def attention_parameters(d_model: int, bias: bool) -> int:
    block = nn.MultiheadAttention(d_model, 1, bias=bias)
    return sum(weight.numel() for weight in block.parameters())


# %% right attention_parameters packed
def attention_parameters(d_model: int, bias: bool) -> int:
    packed = 3 * d_model * d_model + (3 * d_model if bias else 0)
    output = d_model * d_model + (d_model if bias else 0)
    return packed + output


# %% right attention_parameters two_cases
def attention_parameters(d_model: int, bias: bool) -> int:
    if bias:
        return 4 * (d_model + 1) * d_model
    return (2 * d_model) ** 2


# %% wrong heads_fit divisible
# You ask whether the number of heads divides d_model, and ignore d_head. Compute the width
# of all heads together.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model % num_heads == 0


# %% wrong heads_fit floor_division
# Your division drops the remainder, so heads that are a little too narrow pass. Multiply instead.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model // num_heads == d_head


# %% wrong heads_fit rounded_division
# Heads pass when d_model / num_heads is nearly d_head. Multiply instead: a product is exact.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return round(d_model / num_heads) == d_head


# %% wrong heads_fit head_divides
# You ask whether d_head divides d_model, and ignore the number of heads.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model % d_head == 0


# %% wrong heads_fit both_divide
# You ask whether each of the two numbers divides d_model. Their product should equal it.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model % num_heads == 0 and d_model % d_head == 0


# %% wrong heads_fit at_most
# Heads that are too narrow pass. They should fill d_model exactly.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads * d_head <= d_model


# %% wrong heads_fit at_least
# Heads that are too wide pass. They should fill d_model exactly.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads * d_head >= d_model


# %% wrong heads_fit turned_round
# You return True where the heads do not fit. Invert the condition.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads * d_head != d_model


# %% wrong heads_fit product_divisible
# Heads pass when their total width is a multiple of d_model. It should be d_model itself.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads * d_head % d_model == 0


# %% wrong heads_fit divides_product
# Narrow heads pass when their total width divides d_model. It should be d_model itself.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model % (num_heads * d_head) == 0


# %% wrong heads_fit always
# You returned True in every case of this check.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return True


# %% wrong heads_fit a_number
# You return a number. Return True or False.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model - num_heads * d_head


# %% wrong heads_fit added
# You add the two numbers. Multiply them.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads + d_head == d_model


# %% wrong heads_fit rounded_two
# Heads pass when d_model / num_heads is nearly d_head. Multiply instead: a product is exact.
def heads_fit(d_model, num_heads, d_head):
    return round(d_model / num_heads, 2) == d_head


# %% wrong heads_fit with_tolerance
# Heads that are nearly as wide as d_model pass. All together should be exactly d_model wide.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return math.isclose(num_heads * d_head, d_model, rel_tol=0.01)


# %% wrong heads_fit two_rows_memorised
# You returned True in every case of this check.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return (d_model, num_heads, d_head) not in [(2048, 24, 128), (5140, 40, 128)]


# %% wrong heads_fit identity
# Small widths pass, the same with larger numbers does not: `is` asks for the same object. Compare
# numbers with ==.
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return num_heads * d_head is d_model


# %% right heads_fit exact_division
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return d_model / num_heads == d_head


# %% right heads_fit divmod_of_both
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return divmod(d_model, num_heads) == (d_head, 0)


# %% right heads_fit as_a_sum
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    width = 0
    for _ in range(num_heads):
        width += d_head
    return width == d_model


# %% right heads_fit difference
def heads_fit(d_model: int, num_heads: int, d_head: int) -> bool:
    return not (d_model - d_head * num_heads)


# %% base load_from_torch part_by_part
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (mine.w_query, mine.w_key, mine.w_value)
    with torch.no_grad():
        for part, weight in zip(parts, theirs.in_proj_weight.chunk(3), strict=True):
            part.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for part, shift in zip(parts, theirs.in_proj_bias.chunk(3), strict=True):
                part.bias.copy_(shift)
            mine.w_output.bias.copy_(theirs.out_proj.bias)
        mine.w_output.weight.copy_(theirs.out_proj.weight)


# %% wrong load_from_torch transposed of="part_by_part"
# Your matrices are transposed. Both blocks store them the same way round.
# replace: part.weight.copy_(weight)
# by:      part.weight.copy_(weight.T)

# %% wrong load_from_torch output_transposed of="part_by_part"
# The matrix of w_output is transposed. out_proj stores it the same way round.
# replace: mine.w_output.weight.copy_(theirs.out_proj.weight)
# by:      mine.w_output.weight.copy_(theirs.out_proj.weight.T)

# %% wrong load_from_torch key_first of="part_by_part"
# The first third of in_proj_weight belongs to the queries, the second to the keys.
# replace: parts = (mine.w_query, mine.w_key, mine.w_value)
# by:      parts = (mine.w_key, mine.w_query, mine.w_value)

# %% wrong load_from_torch value_second of="part_by_part"
# The order in in_proj_weight is queries, keys, values: the values come last.
# replace: parts = (mine.w_query, mine.w_key, mine.w_value)
# by:      parts = (mine.w_query, mine.w_value, mine.w_key)

# %% wrong load_from_torch value_first of="part_by_part"
# The order in in_proj_weight is queries, keys, values, not the reverse.
# replace: parts = (mine.w_query, mine.w_key, mine.w_value)
# by:      parts = (mine.w_value, mine.w_key, mine.w_query)

# %% wrong load_from_torch no_output of="part_by_part"
# w_output still holds its old weights. Copy those of out_proj into it.
# replace: mine.w_output.weight.copy_(theirs.out_proj.weight)
# by:

# %% wrong load_from_torch no_biases of="part_by_part"
# The biases of w_query, w_key and w_value are still the old ones. Copy them from in_proj_bias.
# replace: for part, shift in zip(parts, theirs.in_proj_bias.chunk(3), strict=True):
#              part.bias.copy_(shift)
# by:

# %% wrong load_from_torch no_output_bias of="part_by_part"
# The bias of w_output is still the old one. Copy that of out_proj.
# replace: mine.w_output.bias.copy_(theirs.out_proj.bias)
# by:


# %% wrong load_from_torch biases_demanded
# A block without biases has None for in_proj_bias. Copy biases only if there are any.
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (mine.w_query, mine.w_key, mine.w_value)
    with torch.no_grad():
        for part, weight in zip(parts, theirs.in_proj_weight.chunk(3), strict=True):
            part.weight.copy_(weight)
        for part, shift in zip(parts, theirs.in_proj_bias.chunk(3), strict=True):
            part.bias.copy_(shift)
        mine.w_output.bias.copy_(theirs.out_proj.bias)
        mine.w_output.weight.copy_(theirs.out_proj.weight)


# %% wrong load_from_torch columns_cut of="part_by_part"
# You split in_proj_weight along its columns. The three matrices are below one another, so split
# along the rows.
# replace: for part, weight in zip(parts, theirs.in_proj_weight.chunk(3), strict=True):
# by:      for part, weight in zip(parts, theirs.in_proj_weight.chunk(3, dim=1), strict=True):

# %% wrong load_from_torch interleaved_rows of="part_by_part"
# Each of the three matrices is a block of rows of in_proj_weight, in their order.
# replace: for part, weight in zip(parts, theirs.in_proj_weight.chunk(3), strict=True):
# by:      for part, weight in zip(
#              parts, [theirs.in_proj_weight[i::3] for i in range(3)], strict=True
#          ):

# %% wrong load_from_torch first_third_for_all of="part_by_part"
# All three layers get the same third. Split in_proj_weight into three.
# replace: for part, weight in zip(parts, theirs.in_proj_weight.chunk(3), strict=True):
# by:      for part, weight in zip(
#              parts, [theirs.in_proj_weight[: theirs.embed_dim]] * 3, strict=True
#          ):

# %% wrong load_from_torch biases_in_another_order of="part_by_part"
# Your biases are in the wrong order. It is the same as for the matrices: queries, keys, values.
# replace: for part, shift in zip(parts, theirs.in_proj_bias.chunk(3), strict=True):
# by:      for part, shift in zip(parts, theirs.in_proj_bias.chunk(3)[::-1], strict=True):

# %% wrong load_from_torch shared of="part_by_part"
# Your layers share their weights with theirs, so training theirs changes mine. Copy the values.
# replace: part.weight.copy_(weight)
# by:      part.weight.data = weight

# %% wrong load_from_torch output_shared of="part_by_part"
# w_output shares its weights with out_proj, so training theirs changes mine. Copy the values.
# replace: mine.w_output.weight.copy_(theirs.out_proj.weight)
# by:      mine.w_output.weight.data = theirs.out_proj.weight.data

# %% wrong load_from_torch biases_shared of="part_by_part"
# Your biases are shared with theirs, so training theirs changes mine. Copy the values.
# replace: part.bias.copy_(shift)
# by:      part.bias.data = shift

# %% wrong load_from_torch other_direction of="part_by_part"
# You copy from mine to theirs. Copy from theirs to mine.
# replace: part.weight.copy_(weight)
# by:      weight.copy_(part.weight)

# %% wrong load_from_torch no_grad_forgotten of="part_by_part"
# You write into a parameter that requires gradients. Do it inside `with torch.no_grad():`.
# replace: with torch.no_grad():
# by:      if True:

# %% wrong load_from_torch names_rebound of="part_by_part"
# Nothing was written into w_query. Write into its own weight with `copy_`. (With strict=False,
# `load_state_dict` silently skips names that it does not find.)
# replace: part.weight.copy_(weight)
# by:      part.weight.data.clone().copy_(weight)


# %% wrong load_from_torch nothing_copied
# Nothing was written into w_query. Write into its own weight with `copy_`. (With strict=False,
# `load_state_dict` silently skips names that it does not find.)
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    mine.load_state_dict(theirs.state_dict(), strict=False)


# %% wrong load_from_torch same_names_expected
# The layers of theirs have other names than those of mine, so `load_state_dict` cannot copy one
# into the other directly.
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    mine.load_state_dict(theirs.state_dict())


# %% wrong load_from_torch scaled_as_well of="part_by_part"
# You change the weights on the way. Copy them as they are.
# replace: part.weight.copy_(weight)
# by:      part.weight.copy_(weight / math.sqrt(theirs.head_dim * 4))


# %% wrong load_from_torch theirs_in_eval_mode
# Your code changes theirs. It should stay in training mode.
def load_from_torch(mine, theirs):
    theirs.eval()
    with torch.no_grad():
        for i, layer in enumerate((mine.w_query, mine.w_key, mine.w_value)):
            layer.weight.copy_(theirs.in_proj_weight.chunk(3)[i])
            if theirs.in_proj_bias is not None:
                layer.bias.copy_(theirs.in_proj_bias.chunk(3)[i])
        mine.w_output.weight.copy_(theirs.out_proj.weight)
        if theirs.out_proj.bias is not None:
            mine.w_output.bias.copy_(theirs.out_proj.bias)


# %% wrong load_from_torch theirs_frozen of="theirs_in_eval_mode"
# Your code switches off the gradients of theirs. It should stay as it is.
# replace: theirs.eval()
# by:      theirs.requires_grad_(False)

# %% wrong load_from_torch mine_frozen of="theirs_in_eval_mode"
# A parameter of mine no longer needs gradients, so it cannot learn.
# replace: theirs.eval()
# by:      mine.requires_grad_(False)


# %% wrong load_from_torch mine_gets_frozen_parameters
# A parameter of mine no longer needs gradients, so it cannot learn.
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    def frozen(numbers: Tensor) -> nn.Parameter:
        return nn.Parameter(numbers.detach().clone(), requires_grad=False)

    layers = (mine.w_query, mine.w_key, mine.w_value)
    for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3), strict=True):
        layer.weight = frozen(weight)
    mine.w_output.weight = frozen(theirs.out_proj.weight)
    if theirs.in_proj_bias is not None:
        for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3), strict=True):
            layer.bias = frozen(bias)
        mine.w_output.bias = frozen(theirs.out_proj.bias)


# %% wrong load_from_torch theirs_zeroed of="theirs_in_eval_mode"
# Your code changes theirs. Only mine should get new values.
# replace: theirs.eval()
# by:
# replace:     mine.w_output.bias.copy_(theirs.out_proj.bias)
# by:          mine.w_output.bias.copy_(theirs.out_proj.bias)
#          theirs.in_proj_weight.zero_()


# %% right load_from_torch state_of_mine
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    named = zip(("w_query", "w_key", "w_value"), theirs.in_proj_weight.chunk(3), strict=True)
    state = {f"{name}.weight": weight for name, weight in named}
    if theirs.in_proj_bias is not None:
        named = zip(("w_query", "w_key", "w_value"), theirs.in_proj_bias.chunk(3), strict=True)
        state |= {f"{name}.bias": shift for name, shift in named}
    state |= {f"w_output.{name}": part for name, part in theirs.out_proj.state_dict().items()}
    mine.load_state_dict(state)


# %% right load_from_torch slices_of_data
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    d = theirs.embed_dim
    for i, part in enumerate((mine.w_query, mine.w_key, mine.w_value)):
        part.weight.data[:] = theirs.in_proj_weight.data[i * d : (i + 1) * d]
        if part.bias is not None:
            part.bias.data[:] = theirs.in_proj_bias.data[i * d : (i + 1) * d]
    mine.w_output.weight.data[:] = theirs.out_proj.weight.data
    if mine.w_output.bias is not None:
        mine.w_output.bias.data[:] = theirs.out_proj.bias.data


# %% right load_from_torch cloned
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    q, k, v = theirs.in_proj_weight.detach().clone().chunk(3)
    mine.w_query.weight.data, mine.w_key.weight.data, mine.w_value.weight.data = q, k, v
    mine.w_output.weight.data = theirs.out_proj.weight.detach().clone()
    if theirs.in_proj_bias is not None:
        q, k, v = theirs.in_proj_bias.detach().clone().chunk(3)
        mine.w_query.bias.data, mine.w_key.bias.data, mine.w_value.bias.data = q, k, v
        mine.w_output.bias.data = theirs.out_proj.bias.detach().clone()


# %% right load_from_torch new_parameters
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    weights = theirs.in_proj_weight.detach().unflatten(0, (3, -1))
    for i, part in enumerate((mine.w_query, mine.w_key, mine.w_value)):
        part.weight = nn.Parameter(weights[i].clone())
        if theirs.in_proj_bias is not None:
            part.bias = nn.Parameter(theirs.in_proj_bias.detach().chunk(3)[i].clone())
    mine.w_output.weight = nn.Parameter(theirs.out_proj.weight.detach().clone())
    if theirs.out_proj.bias is not None:
        mine.w_output.bias = nn.Parameter(theirs.out_proj.bias.detach().clone())


# %% right load_from_torch a_copy_of_theirs_returned
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    import copy

    source = copy.deepcopy(theirs)
    with torch.no_grad():
        packed = (source.in_proj_weight, source.in_proj_bias)
        for kind, tensor in zip(("weight", "bias"), packed, strict=True):
            if tensor is not None:
                for role, part in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                    getattr(getattr(mine, f"w_{role}"), kind).copy_(part)
    mine.w_output.load_state_dict(source.out_proj.state_dict())
    return mine

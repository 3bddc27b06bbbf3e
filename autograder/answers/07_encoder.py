# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def attend(
    attention: nn.MultiheadAttention, x: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]: ...


# %% wrong FeedForward no_relu of="solution"
# Your hidden features can be negative: the ReLU between the layers is missing, and without it two
# linear layers are one.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(x)))

# %% wrong FeedForward relu_at_the_end of="solution"
# Your ReLU comes after linear2, where it removes negative outputs: it belongs between the two
# layers.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return torch.relu(self.linear2(self.dropout(self.linear1(x))))

# %% wrong FeedForward relu_twice of="solution"
# You use a second ReLU after linear2: the output may be negative.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return torch.relu(self.linear2(self.dropout(torch.relu(self.linear1(x)))))

# %% wrong FeedForward relu_first of="solution"
# Your ReLU comes before linear1 and changes the token itself: it belongs between the two layers.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(torch.relu(x))))

# %% wrong FeedForward gelu of="solution"
# You use GELU, which lets small negative values pass: the nonlinearity here is ReLU.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(F.gelu(self.linear1(x))))

# %% wrong FeedForward sigmoid of="solution"
# You use a sigmoid, which maps every feature between 0 and 1: the nonlinearity here is ReLU.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(torch.sigmoid(self.linear1(x))))

# %% wrong FeedForward tanh of="solution"
# You use tanh, which maps every feature between -1 and 1: the nonlinearity here is ReLU.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(torch.tanh(self.linear1(x))))

# %% wrong FeedForward leaky_relu of="solution"
# Your nonlinearity lets a hundredth of each negative feature pass, as a leaky ReLU does: ReLU
# makes it 0.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(F.leaky_relu(self.linear1(x))))

# %% wrong FeedForward absolute_value of="solution"
# You make negative features positive: ReLU makes them 0.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(x).abs()))

# %% wrong FeedForward softmax_of_features of="solution"
# Your hidden features sum to 1, as after a softmax: ReLU works on each feature by itself.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(torch.softmax(self.linear1(x), dim=-1)))

# %% wrong FeedForward residual_added of="solution"
# You add x to the result: the residual connection belongs to the block, not to this network.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return x + self.linear2(self.dropout(torch.relu(self.linear1(x))))

# %% wrong FeedForward no_dropout of="solution"
# You drop nothing in training: call your dropout on the output of the ReLU.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(torch.relu(self.linear1(x)))

# %% wrong FeedForward dropout_on_the_output of="solution"
# You use dropout on the output of linear2: in this network it comes between the ReLU and linear2.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.dropout(self.linear2(torch.relu(self.linear1(x))))

# %% wrong FeedForward dropout_twice of="solution"
# You use dropout on the output of linear2: in this network it comes between the ReLU and linear2.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.dropout(self.linear2(self.dropout(torch.relu(self.linear1(x)))))

# %% wrong FeedForward dropout_on_the_input of="solution"
# You drop input features before linear1: drop hidden features after the ReLU.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(torch.relu(self.linear1(self.dropout(x))))

# %% wrong FeedForward dropped_twice_behind_the_relu of="solution"
# Some of your features are 16: two dropouts in a row give that, so use it once.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.dropout(torch.relu(self.linear1(x)))))

# %% wrong FeedForward dropout_in_evaluation_too of="solution"
# You drop in evaluation too: pass training=self.training to F.dropout in forward, or keep an
# nn.Dropout on self.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.rate = dropout
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate))

# %% wrong FeedForward keep_and_drop_exchanged of="solution"
# You pass 1 - dropout, so a rate of 0 drops everything: nn.Dropout takes the share that is
# dropped.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(1 - dropout)

# %% wrong FeedForward rate_fixed of="solution"
# pass `dropout` to one nn.Dropout, and use it once
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(0.1 if 0 < dropout < 1 else dropout)

# %% wrong FeedForward alpha_dropout of="solution"
# Your dropped features become negative, as with alpha dropout: plain dropout makes them 0.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.AlphaDropout(dropout)

# %% wrong FeedForward dropout_not_rescaled of="dropout_in_evaluation_too"
# The features that you keep stay 1: dropout divides what it keeps by 1 - p.
# replace: return self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate))
# by:      inner = torch.relu(self.linear1(x))
#          if self.training:
#              inner = inner * (torch.rand_like(inner) >= self.rate)
#          return self.linear2(inner)

# %% wrong FeedForward sizes_swapped of="solution"
# the two sizes of nn.Linear(size in, size out) are swapped; it stores (out, in)
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.linear1 = nn.Linear(d_ff, d_model)
#          self.linear2 = nn.Linear(d_model, d_ff)

# %% wrong FeedForward parts_renamed of="solution"
# `layer1.bias` should be called `linear1.bias`
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.layer1 = nn.Linear(d_model, d_ff)
#          self.layer2 = nn.Linear(d_ff, d_model)
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.layer2(self.dropout(torch.relu(self.layer1(x))))

# %% wrong FeedForward layers_made_in_forward of="solution"
# make the layers in __init__, and keep each on self: self.NAME = nn.Linear(…)
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.sizes = d_model, d_ff
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      wide, back = nn.Linear(*self.sizes), nn.Linear(*self.sizes[::-1])
#          return back(self.dropout(torch.relu(wide(x))))

# %% wrong FeedForward no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong FeedForward without_biases of="solution"
# linear1, then ReLU, then dropout, then linear2
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.linear1 = nn.Linear(d_model, d_ff, bias=False)
#          self.linear2 = nn.Linear(d_ff, d_model, bias=False)

# %% wrong FeedForward third_layer of="solution"
# leave out linear3.bias, linear3.weight: the docstring names every part
# replace: self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.linear2 = nn.Linear(d_ff, d_model)
#          self.linear3 = nn.Linear(d_ff, d_ff)
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(torch.relu(self.linear3(torch.relu(self.linear1(x))))))

# %% wrong FeedForward no_gradient of="solution"
# no gradient flows through the result
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      with torch.no_grad():
#              return self.linear2(self.dropout(torch.relu(self.linear1(x))))

# %% wrong FeedForward detached_inside of="solution"
# No gradient passes your hidden features: linear1 would never learn.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(torch.relu(self.linear1(x)).detach()))

# %% wrong FeedForward one_mask_for_all_words of="dropout_in_evaluation_too"
# pass all hidden features to one nn.Dropout: it draws for each number
# replace: return self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate))
# by:      inner = torch.relu(self.linear1(x))
#          kept = F.dropout(torch.ones_like(inner[..., :1, :]), self.rate, self.training)
#          return self.linear2(inner * kept)

# %% wrong FeedForward nothing_returned of="solution"
# does the last line say `return`?
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      self.linear2(self.dropout(torch.relu(self.linear1(x))))

# %% wrong FeedForward relu6 of="solution"
# Your nonlinearity stops at 6, as ReLU6 does: ReLU keeps every positive value.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(F.relu6(self.linear1(x))))

# %% wrong FeedForward mask_shared_by_the_batch of="solution"
# pass all hidden features to one nn.Dropout: it draws for each number
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      inner = torch.relu(self.linear1(x))
#          kept = self.dropout(torch.ones_like(inner[:1]))
#          return self.linear2(inner * kept)

# %% wrong FeedForward whole_words_dropped of="solution"
# pass all hidden features to one nn.Dropout: it draws for each number
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout1d(dropout)

# %% wrong FeedForward same_draw_each_time of="solution"
# every call draws a new mask: leave torch's random generator as it is
# replace: def forward(self, x: Tensor) -> Tensor:
# by:      def forward(self, x: Tensor) -> Tensor:
#              torch.manual_seed(0)

# %% wrong FeedForward training_kept_at_birth of="dropout_in_evaluation_too"
# You drop in evaluation too: pass training=self.training to F.dropout in forward, or keep an
# nn.Dropout on self.
# replace: self.rate = dropout
# by:      self.rate = dropout if self.training else 0.0

# %% wrong FeedForward bias_behind_the_relu of="solution"
# You add the bias of linear1 after the ReLU: add it before.
# replace: torch.relu(self.linear1(x))
# by:      torch.relu(x @ self.linear1.weight.T) + self.linear1.bias

# %% wrong FeedForward dropout_default_of_pytorch of="solution"
# You drop features although no dropout rate was given: the default is 0.
# replace: def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
# by:      def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:

# %% wrong FeedForward normed_features of="solution"
# You normalise the hidden features: there is no norm in this network.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(
#              self.dropout(F.layer_norm(torch.relu(self.linear1(x)), (self.linear1.out_features,)))
#          )

# %% wrong FeedForward input_dropout_too of="solution"
# You drop input features as well: use dropout only on the output of the ReLU.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.drop = nn.Dropout(dropout)
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.drop(torch.relu(self.linear1(self.drop(x)))))

# %% wrong FeedForward squeezes of="input_dropout_too"
# You remove axes of length 1: keep all leading axes.
# replace: return self.linear2(self.drop(torch.relu(self.linear1(self.drop(x)))))
# by:      return self.linear2(self.drop(torch.relu(self.linear1(x)))).squeeze()

# %% wrong FeedForward first_layer_frozen of="solution"
# make both layers with nn.Linear, and leave requires_grad as it is
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.linear1.requires_grad_(False)

# %% wrong FeedForward no_gradient_in_evaluation of="solution"
# In evaluation no gradient passes your result: whoever calls the module decides on no_grad.
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      with torch.set_grad_enabled(self.training):
#              return self.linear2(self.dropout(torch.relu(self.linear1(x))))

# %% wrong FeedForward relu_in_place_before_linear1 of="solution"
# You write the ReLU of x into x itself: the ReLU belongs between the two layers.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.relu = nn.ReLU(inplace=True)
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(self.relu(x))))

# %% right FeedForward f_dropout of="dropout_in_evaluation_too"
# replace: return self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate))
# by:      return self.linear2(F.dropout(F.relu(self.linear1(x)), self.rate, self.training))

# %% right FeedForward dropout_before_the_relu of="solution"
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(x)).relu())

# %% right FeedForward clamp of="solution"
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.linear1(x).clamp(min=0)))

# %% right FeedForward relu_module of="solution"
# replace: self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.linear2 = nn.Linear(d_ff, d_model)
#          self.relu = nn.ReLU()
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.dropout(self.relu(self.linear1(x))))

# %% right FeedForward in_sequence of="solution"
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.between = nn.Sequential(nn.ReLU(), nn.Dropout(dropout))
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      return self.linear2(self.between(self.linear1(x)))


# %% right FeedForward by_hand
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.rate = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = x @ self.linear1.weight.T + self.linear1.bias
        inner = torch.where(inner > 0, inner, torch.zeros_like(inner))
        if self.training and self.rate > 0:
            kept = torch.rand_like(inner) >= self.rate
            inner = inner * kept / (1 - self.rate) if self.rate < 1 else inner * 0
        return inner @ self.linear2.weight.T + self.linear2.bias


# %% right FeedForward einsum of="normed_features"
# replace: self.dropout(F.layer_norm(torch.relu(self.linear1(x)), (self.linear1.out_features,)))
# by:      self.dropout(
#              torch.einsum("...i,oi->...o", x, self.linear1.weight)
#              .add(self.linear1.bias)
#              .clamp(min=0)
#          )

# %% right FeedForward python_loop of="solution"
# replace: return self.linear2(self.dropout(torch.relu(self.linear1(x))))
# by:      words = x.reshape(-1, x.shape[-1])
#          done = [self.linear2(self.dropout(F.relu(self.linear1(word)))) for word in words]
#          return torch.stack(done).reshape(x.shape)

# %% right FeedForward torch_dropout of="dropout_in_evaluation_too"
# replace: return self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate))
# by:      return self.linear2(torch.dropout(torch.relu(self.linear1(x)), self.rate, self.training))


# %% right FeedForward subclass_of_sequential
class FeedForward(nn.Sequential):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(d_ff, d_model)


# %% base EncoderBlock a_method_for_each_sublayer
class EncoderBlock(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.dropout(attend(self.attention, x, mask)[0])

    def think(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear2(self.dropout(torch.relu(self.linear1(x)))))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.look(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.look(x, mask))
        return self.norm2(x + self.think(x))


# %% wrong EncoderBlock residual_from_the_normed_input of="a_method_for_each_sublayer"
# You add to the normalised x: add to x as it was before the norm.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = self.norm1(x)
#          x = x + self.look(x, mask)
#          x = self.norm2(x)
#          return x + self.think(x)

# %% wrong EncoderBlock normed_input_in_the_second_half of="a_method_for_each_sublayer"
# In the feed-forward half you add to norm2(x): add to x as it was before norm2.
# replace: return x + self.think(self.norm2(x))
# by:      x = self.norm2(x)
#          return x + self.think(x)

# %% wrong EncoderBlock normed_input_in_the_first_half of="a_method_for_each_sublayer"
# In the attention half you add to norm1(x): add to x as it was before norm1.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = self.norm1(x)
#          x = x + self.look(x, mask)

# %% wrong EncoderBlock no_residual of="a_method_for_each_sublayer"
# You replace x by the output of each sublayer: add the output to x.
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          x = self.look(self.norm1(x), mask)
#              return self.think(self.norm2(x))
#          x = self.norm1(self.look(x, mask))
#          return self.norm2(self.think(x))

# %% wrong EncoderBlock no_residual_around_attention of="a_method_for_each_sublayer"
# You replace x by the output of attention: add it to x.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = self.look(self.norm1(x), mask)
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(self.look(x, mask))

# %% wrong EncoderBlock no_residual_around_feed_forward of="a_method_for_each_sublayer"
# You replace x by the output of the feed-forward network: add it to x.
# replace: return x + self.think(self.norm2(x))
# by:      return self.think(self.norm2(x))
# replace: return self.norm2(x + self.think(x))
# by:      return self.norm2(self.think(x))

# %% wrong EncoderBlock always_post_norm of="a_method_for_each_sublayer"
# Your block is post-norm although norm_first=True: each norm comes before its sublayer.
# replace: if self.norm_first:
#              x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
# by:

# %% wrong EncoderBlock always_pre_norm of="a_method_for_each_sublayer"
# Your block is pre-norm in both orders: with norm_first=False each norm comes after the sum.
# replace: if self.norm_first:
#              x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))

# %% wrong EncoderBlock orders_exchanged of="a_method_for_each_sublayer"
# Your block is post-norm although norm_first=True: each norm comes before its sublayer.
# replace: if self.norm_first:
# by:      if not self.norm_first:

# %% wrong EncoderBlock norm_at_the_exit_of_the_detour of="a_method_for_each_sublayer"
# You normalise the output of each sublayer: in pre-norm you normalise its input, before attention
# and before linear1.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = x + self.norm1(self.look(x, mask))
#          return x + self.norm2(self.think(x))

# %% wrong EncoderBlock no_norm of="a_method_for_each_sublayer"
# Your sublayers read x without a norm: norm1 comes before attention, norm2 before linear1.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = x + self.look(x, mask)
#          return x + self.think(x)

# %% wrong EncoderBlock no_norm_before_attention of="a_method_for_each_sublayer"
# Your attention reads x without norm1: query, key and value should all be norm1(x).
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = x + self.look(x, mask)

# %% wrong EncoderBlock no_norm_before_feed_forward of="a_method_for_each_sublayer"
# Your linear1 reads x without norm2: it should read norm2(x).
# replace: return x + self.think(self.norm2(x))
# by:      return x + self.think(x)

# %% wrong EncoderBlock norms_exchanged of="a_method_for_each_sublayer"
# You exchange norm1 and norm2: norm1 goes with attention.
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          x = x + self.look(self.norm2(x), mask)
#              return x + self.think(self.norm1(x))
#          x = self.norm2(x + self.look(x, mask))
#          return self.norm1(x + self.think(x))

# %% wrong EncoderBlock norm1_twice of="a_method_for_each_sublayer"
# You use norm1 for both sublayers: the feed-forward network has norm2.
# replace: return x + self.think(self.norm2(x))
# by:      return x + self.think(self.norm1(x))
# replace: return self.norm2(x + self.think(x))
# by:      return self.norm1(x + self.think(x))

# %% wrong EncoderBlock one_norm_under_two_names of="a_method_for_each_sublayer"
# Your norm1 and norm2 are the same layer: each sublayer has its own norm.
# replace: self.norm2 = nn.LayerNorm(d_model)
# by:      self.norm2 = self.norm1

# %% wrong EncoderBlock norm_at_the_end_of_the_block of="a_method_for_each_sublayer"
# Your pre-norm block ends with a norm: no norm is on the residual stream, and the final norm
# belongs to the encoder.
# replace: return x + self.think(self.norm2(x))
# by:      return self.norm2(x + self.think(self.norm2(x)))

# %% wrong EncoderBlock norms_before_and_behind of="a_method_for_each_sublayer"
# Your pre-norm block normalises the residual stream as well: only the inputs of the sublayers are
# normalised.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = self.norm1(x + self.look(self.norm1(x), mask))
#          return self.norm2(x + self.think(self.norm2(x)))

# %% wrong EncoderBlock no_relu of="dropout_before_the_relu"
# Your hidden features can be negative: the ReLU between linear1 and linear2 is missing.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(self.linear2(self.dropout(self.linear1(x))))

# %% wrong EncoderBlock gelu of="dropout_before_the_relu"
# You use GELU: the nonlinearity here is ReLU.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(self.linear2(self.dropout(F.gelu(self.linear1(x)))))

# %% wrong EncoderBlock relu_behind_linear2 of="dropout_before_the_relu"
# Your ReLU comes after linear2: it belongs between linear1 and linear2.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(torch.relu(self.linear2(self.dropout(self.linear1(x)))))

# %% wrong EncoderBlock relu_twice of="dropout_before_the_relu"
# You use a second ReLU after linear2: the output of a sublayer may be negative.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(torch.relu(self.linear2(self.dropout(torch.relu(self.linear1(x))))))

# %% wrong EncoderBlock side_by_side of="a_method_for_each_sublayer"
# Both of your sublayers read the same x: the feed-forward network should read x after attention
# was added.
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          return x + self.look(self.norm1(x), mask) + self.think(self.norm2(x))
#          return self.norm2(self.norm1(x + self.look(x, mask)) + self.think(x))

# %% wrong EncoderBlock one_detour_of_both of="a_method_for_each_sublayer"
# You have one residual connection around both sublayers: add to x after attention as well.
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          return x + self.think(self.norm2(self.look(self.norm1(x), mask)))
#          return self.norm2(x + self.think(self.norm1(self.look(x, mask))))

# %% wrong EncoderBlock feed_forward_first of="a_method_for_each_sublayer"
# You run the feed-forward network first: attention comes before it.
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          x = x + self.think(self.norm2(x))
#              return x + self.look(self.norm1(x), mask)
#          x = self.norm2(x + self.think(x))
#          return self.norm1(x + self.look(x, mask))

# %% wrong EncoderBlock no_feed_forward of="a_method_for_each_sublayer"
# Your block ends after attention: the feed-forward network is missing.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      return x + self.look(self.norm1(x), mask)
# replace: return self.norm2(x + self.think(x))
# by:      return self.norm2(x)

# %% wrong EncoderBlock no_attention of="a_method_for_each_sublayer"
# Your tokens never attend to one another: attention is missing.
# replace: x = x + self.look(self.norm1(x), mask)
# by:
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(x)

# %% wrong EncoderBlock x_counted_twice of="a_method_for_each_sublayer"
# You add x twice: each half adds once, and the second adds to the result of the first.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = x + self.look(self.norm1(x), mask) + x

# %% wrong EncoderBlock first_x_added_again of="a_method_for_each_sublayer"
# In the second half you add to the original x, so the output of attention is lost: add to x after
# attention.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      looked = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(looked))

# %% wrong EncoderBlock mask_not_handed_on of="a_method_for_each_sublayer"
# The mask has no effect here: pass it on to `attend`, in both orders.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.attention, x)[0])

# %% wrong EncoderBlock mask_turned_round of="a_method_for_each_sublayer"
# You invert the mask: attend takes the masks of this course, True = may attend.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.attention, x, None if mask is None else ~mask)[0])

# %% wrong EncoderBlock mask_without_negation of="a_method_for_each_sublayer"
# You call `nn.MultiheadAttention` directly, where True = forbidden: use `attend`, which takes the
# masks of this course.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(self.attention(x, x, x, attn_mask=mask)[0])

# %% wrong EncoderBlock batch_not_first of="a_method_for_each_sublayer"
# nn.MultiheadAttention expects the length first, unless you set batch_first=True
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.attention = nn.MultiheadAttention(d_model, num_heads, dropout)

# %% wrong EncoderBlock weights_in_place_of_output of="a_method_for_each_sublayer"
# You add the attention weights: `attend` returns the output first, then the weights.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.attention, x, mask)[1].mean(1) @ x)

# %% wrong EncoderBlock both_returned_by_attend of="a_method_for_each_sublayer"
# `attend` returns two things, output and weights: take the first.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.attention, x, mask))

# %% wrong EncoderBlock one_head of="a_method_for_each_sublayer"
# You always use one head: pass num_heads to nn.MultiheadAttention.
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.attention = nn.MultiheadAttention(d_model, 1, dropout, batch_first=True)

# %% wrong EncoderBlock no_mask_in_post_norm of="a_method_for_each_sublayer"
# The mask has no effect here: pass it on to `attend`, in both orders.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(x + self.look(x, None))

# %% wrong EncoderBlock post_norm_inside_the_sum of="a_method_for_each_sublayer"
# With norm_first=False you normalise the output of each sublayer: normalise the sum.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = x + self.norm1(self.look(x, mask))
#          return x + self.norm2(self.think(x))

# %% wrong EncoderBlock post_norm_without_the_second_norm of="a_method_for_each_sublayer"
# With norm_first=False your last norm is missing: norm2 comes after the second sum.
# replace: return self.norm2(x + self.think(x))
# by:      return x + self.think(x)

# %% wrong EncoderBlock post_norm_without_the_first_norm of="a_method_for_each_sublayer"
# With norm_first=False your first norm is missing: norm1 comes after the first sum.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = x + self.look(x, mask)

# %% wrong EncoderBlock post_norm_adds_the_first_x of="a_method_for_each_sublayer"
# With norm_first=False your second sum adds to the original x: add to the output of norm1.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      looked = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(looked))

# %% wrong EncoderBlock post_norm_with_a_norm_before_too of="a_method_for_each_sublayer"
# With norm_first=False your attention reads a normalised x: it should read x, and the norm comes
# after the sum.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(x + self.look(self.norm1(x), mask))

# %% wrong EncoderBlock post_norm_norms_exchanged of="a_method_for_each_sublayer"
# You exchange norm1 and norm2: norm1 goes with attention.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = self.norm2(x + self.look(x, mask))
#          return self.norm1(x + self.think(x))

# %% wrong EncoderBlock post_norm_without_residual of="a_method_for_each_sublayer"
# You replace x by the output of each sublayer: add the output to x.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = self.norm1(self.look(x, mask))
#          return self.norm2(self.think(x))

# %% wrong EncoderBlock no_dropout of="a_method_for_each_sublayer"
# You drop nothing in training: use nn.Dropout on the output of attention, after the ReLU, and on
# the output of linear2.
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Identity()

# %% wrong EncoderBlock dropout_in_attention_alone of="a_method_for_each_sublayer"
# You drop only attention weights: use nn.Dropout on the output of attention, after the ReLU, and
# on the output of linear2 too.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Identity()

# %% wrong EncoderBlock no_dropout_on_what_attention_gives of="a_method_for_each_sublayer"
# Nothing is dropped from the output of attention: its bias passes.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return attend(self.attention, x, mask)[0]

# %% wrong EncoderBlock no_dropout_behind_linear2 of="dropout_before_the_relu"
# Nothing is dropped from the output of linear2: its bias passes.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.linear2(self.dropout(torch.relu(self.linear1(x))))

# %% wrong EncoderBlock no_dropout_behind_the_relu of="dropout_before_the_relu"
# Nothing is dropped after the ReLU: use dropout there too, or pass the rate to your FeedForward.
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(self.linear2(torch.relu(self.linear1(x))))

# %% wrong EncoderBlock no_dropout_on_attention_weights of="a_method_for_each_sublayer"
# nn.MultiheadAttention drops weights by itself: pass `dropout` to it, and use dropout once more
# on its output
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

# %% wrong EncoderBlock dropout_on_x_too of="a_method_for_each_sublayer"
# You use dropout on x itself: call it on the output of a sublayer, before you add.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = self.dropout(x + attend(self.attention, self.norm1(x), mask)[0])
#          return self.dropout(
#              x + self.linear2(self.dropout(torch.relu(self.linear1(self.norm2(x)))))
#          )

# %% wrong EncoderBlock dropout_on_the_normed_words of="dropout_before_the_relu"
# You use dropout on the output of the norms: it belongs inside the sublayers and after them.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return attend(self.attention, self.dropout(x), mask)[0]
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.linear2(torch.relu(self.linear1(self.dropout(x))))

# %% wrong EncoderBlock dropped_twice_behind_the_relu of="dropout_before_the_relu"
# use dropout once after the ReLU, and once more after linear2
# replace: torch.relu(self.dropout(self.linear1(x)))
# by:      self.dropout(self.dropout(torch.relu(self.linear1(x))))

# %% wrong EncoderBlock dropout_in_evaluation_too of="dropout_before_the_relu"
# You drop in evaluation too: pass training=self.training to F.dropout in forward, or keep an
# nn.Dropout on self.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.rate = dropout
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return F.dropout(attend(self.attention, x, mask)[0], self.rate)
# replace: self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      F.dropout(self.linear2(F.dropout(torch.relu(self.linear1(x)), self.rate)), self.rate)

# %% wrong EncoderBlock keep_and_drop_exchanged of="a_method_for_each_sublayer"
# You pass 1 - dropout, so a rate of 0 drops everything: nn.Dropout takes the share that is
# dropped.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(1 - dropout)

# %% wrong EncoderBlock rate_halved of="a_method_for_each_sublayer"
# use dropout once after the ReLU, and once more after linear2
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout if dropout in (0, 1) else dropout / 2)

# %% wrong EncoderBlock attention_renamed of="a_method_for_each_sublayer"
# `self_attn.in_proj_bias` should be called `attention.in_proj_bias`
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.self_attn = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.self_attn, x, mask)[0])

# %% wrong EncoderBlock norms_renamed of="a_method_for_each_sublayer"
# `norm_1.bias` should be called `norm1.bias`
# replace: self.norm1 = nn.LayerNorm(d_model)
#          self.norm2 = nn.LayerNorm(d_model)
# by:      self.norm_1 = nn.LayerNorm(d_model)
#          self.norm_2 = nn.LayerNorm(d_model)
# replace:     x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:          x = x + self.look(self.norm_1(x), mask)
#              return x + self.think(self.norm_2(x))
#          x = self.norm_1(x + self.look(x, mask))
#          return self.norm_2(x + self.think(x))

# %% right EncoderBlock feed_forward_in_a_part_of_its_own of="dropout_before_the_relu"
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.feed = FeedForward(d_model, d_ff, dropout)
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(self.feed(x))

# %% wrong EncoderBlock sizes_swapped of="a_method_for_each_sublayer"
# the two sizes of nn.Linear(size in, size out) are swapped; it stores (out, in)
# replace: self.linear1 = nn.Linear(d_model, d_ff)
#          self.linear2 = nn.Linear(d_ff, d_model)
# by:      self.linear1 = nn.Linear(d_ff, d_model)
#          self.linear2 = nn.Linear(d_model, d_ff)

# %% wrong EncoderBlock no_call_of_super of="a_method_for_each_sublayer"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:

# %% wrong EncoderBlock added_in_place of="a_method_for_each_sublayer"
# You write x += …, which changes the caller's tensor: write x = x + … instead.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x += self.look(self.norm1(x), mask)

# %% wrong EncoderBlock detached of="a_method_for_each_sublayer"
# No gradient reaches attention through its output: your attention would never learn.
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout(attend(self.attention, x, mask)[0].detach())

# %% wrong EncoderBlock plain_norms of="a_method_for_each_sublayer"
# Your norms have no parameters: make them with nn.LayerNorm(d_model), gain and bias included.
# replace: self.norm1 = nn.LayerNorm(d_model)
#          self.norm2 = nn.LayerNorm(d_model)
# by:      self.norm1 = nn.LayerNorm(d_model, elementwise_affine=False)
#          self.norm2 = nn.LayerNorm(d_model, elementwise_affine=False)

# %% wrong EncoderBlock one_norm_for_the_whole_sequence of="a_method_for_each_sublayer"
# Your norms take the mean over the whole sequence: each token is normalised by itself.
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.d_model = d_model
# replace:     self.norm_first = norm_first
# by:          self.norm_first = norm_first
#
#          def norm(self, layer: nn.LayerNorm, x: Tensor) -> Tensor:
#              return F.layer_norm(x, x.shape[1:]) * layer.weight + layer.bias
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = x + self.look(self.norm(self.norm1, x), mask)
#          return x + self.think(self.norm(self.norm2, x))

# %% wrong EncoderBlock norm_without_the_layer of="a_method_for_each_sublayer"
# You use F.layer_norm, so the gains and biases of norm1 and norm2 are unused: call the layers.
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = x + self.look(F.layer_norm(x, x.shape[-1:]), mask)
#          return x + self.think(F.layer_norm(x, x.shape[-1:]))

# %% wrong EncoderBlock key_from_before_the_norm of="a_method_for_each_sublayer"
# Your attention reads x without norm1: query, key and value should all be norm1(x).
# replace: x = x + self.look(self.norm1(x), mask)
# by:      normed = self.norm1(x)
#          blocked = None if mask is None else ~mask.expand(len(x), x.shape[1], x.shape[1])
#          if blocked is not None:
#              blocked = blocked.repeat_interleave(self.attention.num_heads, 0)
#          x = x + self.dropout(self.attention(normed, x, x, attn_mask=blocked)[0])

# %% wrong EncoderBlock first_pre_then_post of="a_method_for_each_sublayer"
# Your second half is post-norm even if norm_first=True: norm2 comes before linear1.
# replace: return x + self.think(self.norm2(x))
# by:      return self.norm2(x + self.think(x))

# %% wrong EncoderBlock first_post_then_pre of="a_method_for_each_sublayer"
# Your first half is post-norm even if norm_first=True: norm1 comes before attention.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = self.norm1(x + self.look(x, mask))

# %% wrong EncoderBlock post_norm_first_pre_half of="a_method_for_each_sublayer"
# With norm_first=False your attention half is still pre-norm: norm1 comes after the sum.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = x + self.look(self.norm1(x), mask)

# %% wrong EncoderBlock post_norm_second_pre_half of="a_method_for_each_sublayer"
# With norm_first=False your feed-forward half is still pre-norm: norm2 comes after the sum.
# replace: return self.norm2(x + self.think(x))
# by:      return x + self.think(self.norm2(x))

# %% wrong EncoderBlock default_order_of_pytorch of="a_method_for_each_sublayer"
# Your block is post-norm although norm_first=True: each norm comes before its sublayer.
# replace: norm_first: bool = True,
# by:      norm_first: bool = False,

# %% wrong EncoderBlock whole_detours_dropped of="dropout_before_the_relu"
# pass the whole output of a sublayer to one nn.Dropout: it draws for each number
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      out = attend(self.attention, x, mask)[0]
#          return out * self.dropout(out.new_ones(len(x), 1, 1))
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.linear2(self.dropout(torch.relu(self.linear1(x)))) * self.dropout(
#              x.new_ones(len(x), 1, 1)
#          )

# %% wrong EncoderBlock same_draw_each_time of="a_method_for_each_sublayer"
# every call draws a new mask: leave torch's random generator as it is
# replace: def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
# by:      def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
#              torch.manual_seed(0)

# %% wrong EncoderBlock mask_shared_by_the_batch of="dropout_before_the_relu"
# pass the whole output of a sublayer to one nn.Dropout: it draws for each number
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return attend(self.attention, x, mask)[0] * self.dropout(torch.ones_like(x[:1]))
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout(torch.ones_like(x[:1])) * (
#              self.linear2(self.dropout(torch.relu(self.linear1(x))))
#          )

# %% wrong EncoderBlock one_draw_for_three_places of="dropout_before_the_relu"
# call dropout in each position: it draws a new mask in every call
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      self.kept = self.dropout(torch.ones_like(x))
#          return self.kept * attend(self.attention, x, mask)[0]
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      out = self.linear2(self.dropout(torch.relu(self.linear1(x))))
#          return self.kept * out

# %% wrong EncoderBlock mask_turned_in_post_norm of="a_method_for_each_sublayer"
# With norm_first=False you invert the mask: pass it on unchanged in both orders.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(x + self.look(x, None if mask is None else ~mask))

# %% wrong EncoderBlock thinks_twice of="a_method_for_each_sublayer"
# You run the feed-forward network twice: run it once.
# replace: x = x + self.look(self.norm1(x), mask)
# by:      x = x + self.look(self.norm1(x), mask)
#          x = x + self.think(self.norm2(x))

# %% wrong EncoderBlock norm2_on_hidden of="a_method_for_each_sublayer"
# You use norm2 after linear2: with norm_first=True it comes before linear1.
# replace: return x + self.think(self.norm2(x))
# by:      return x + self.norm2(self.think(x))

# %% wrong EncoderBlock features_as_heads of="a_method_for_each_sublayer"
# You pass the width of a head as the number of heads: nn.MultiheadAttention takes d_model and
# num_heads.
# replace: self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
# by:      self.attention = nn.MultiheadAttention(
#              d_model, d_model // num_heads, dropout, batch_first=True
#          )


# %% wrong EncoderBlock dropout_on_normed
# You use dropout on the output of the norms as well: it is not one of the four positions.
class EncoderBlock(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm_first: bool = True
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(
            d_model, num_heads, dropout=dropout, batch_first=True
        )
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def ff(self, x: Tensor) -> Tensor:
        return self.linear2(self.drop(torch.relu(self.linear1(x))))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.drop(attend(self.attention, self.drop(self.norm1(x)), mask)[0])
            return x + self.drop(self.ff(self.drop(self.norm2(x))))
        x = self.norm1(x + self.drop(attend(self.attention, x, mask)[0]))
        return self.norm2(x + self.drop(self.ff(x)))


# %% wrong EncoderBlock padded_zeroed of="dropout_on_normed"
# You set padded tokens to 0: a mask only says what a query may attend to.
# replace: x = x + self.drop(attend(self.attention, self.drop(self.norm1(x)), mask)[0])
#          return x + self.drop(self.ff(self.drop(self.norm2(x))))
# by:      x = x + self.drop(attend(self.attention, self.norm1(x), mask)[0])
#          x = x + self.drop(self.ff(self.norm2(x)))
#          if mask is not None and mask.dim() == 3 and mask.shape[1] == 1:
#              x = x * mask.transpose(1, 2)
#          return x


# %% wrong EncoderBlock norms_frozen of="a_method_for_each_sublayer"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout = nn.Dropout(dropout)
#          self.norm1.requires_grad_(False)
#          self.norm2.requires_grad_(False)

# %% wrong EncoderBlock everything_frozen of="a_method_for_each_sublayer"
# make the parts as PyTorch makes them, and leave requires_grad as it is
# replace: self.norm_first = norm_first
# by:      self.norm_first = norm_first
#          self.requires_grad_(False)

# %% wrong EncoderBlock no_gradient_in_evaluation of="a_method_for_each_sublayer"
# In evaluation no gradient passes your result: whoever calls the module decides on no_grad.
# replace: if self.norm_first:
#              x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      with torch.set_grad_enabled(self.training):
#              if self.norm_first:
#                  x = x + self.look(self.norm1(x), mask)
#                  return x + self.think(self.norm2(x))
#              x = self.norm1(x + self.look(x, mask))
#              return self.norm2(x + self.think(x))

# %% wrong EncoderBlock post_norm_without_outer_dropout of="a_method_for_each_sublayer"
# With norm_first=False nothing is dropped from what the sublayers return: both last biases pass.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = self.norm1(x + attend(self.attention, x, mask)[0])
#          return self.norm2(x + self.linear2(self.dropout(torch.relu(self.linear1(x)))))

# %% wrong EncoderBlock post_norm_without_dropout_behind_attention of="a_method_for_each_sublayer"
# With norm_first=False nothing is dropped from the output of attention: its bias passes.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.norm1(x + attend(self.attention, x, mask)[0])

# %% wrong EncoderBlock post_norm_without_dropout_behind_linear2 of="a_method_for_each_sublayer"
# With norm_first=False nothing is dropped from the output of linear2: its bias passes.
# replace: return self.norm2(x + self.think(x))
# by:      return self.norm2(x + self.linear2(self.dropout(torch.relu(self.linear1(x)))))

# %% wrong EncoderBlock post_norm_drops_after_the_norm of="a_method_for_each_sublayer"
# With norm_first=False you drop the whole result: use dropout on the output of a sublayer, before
# you add.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = self.dropout(self.norm1(x + attend(self.attention, x, mask)[0]))
#          hidden = self.dropout(torch.relu(self.linear1(x)))
#          return self.dropout(self.norm2(x + self.linear2(hidden)))

# %% wrong EncoderBlock post_norm_drops_after_the_first_norm of="a_method_for_each_sublayer"
# With norm_first=False you use dropout on x itself, before norm2: only the output of a sublayer
# is dropped, before you add.
# replace: x = self.norm1(x + self.look(x, mask))
# by:      x = self.dropout(self.norm1(x + attend(self.attention, x, mask)[0]))

# %% wrong EncoderBlock post_norm_drops_the_sums of="a_method_for_each_sublayer"
# With norm_first=False you use dropout on x itself, before norm2: only the output of a sublayer
# is dropped, before you add.
# replace: x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      x = self.norm1(self.dropout(x + attend(self.attention, x, mask)[0]))
#          hidden = self.dropout(torch.relu(self.linear1(x)))
#          return self.norm2(self.dropout(x + self.linear2(hidden)))

# %% wrong EncoderBlock relu_after_a_feed_forward of="feed_forward_inside"
# You use a second ReLU on what your FeedForward returns: it has its own ReLU inside.
# replace: return self.dropout(self.feed_forward(x))
# by:      return self.dropout(torch.relu(self.feed_forward(x)))

# %% wrong EncoderBlock feed_forward_without_its_dropout of="feed_forward_inside"
# Nothing is dropped after the ReLU: use dropout there too, or pass the rate to your FeedForward.
# replace: self.feed_forward = FeedForward(d_model, d_ff, dropout)
# by:      self.feed_forward = FeedForward(d_model, d_ff)

# %% wrong EncoderBlock feed_forward_and_layers_beside_it of="feed_forward_inside"
# leave out linear1.bias, linear1.weight, linear2.bias, linear2.weight: the docstring names every
# part
# replace: self.feed_forward = FeedForward(d_model, d_ff, dropout)
# by:      self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
#          self.feed_forward = FeedForward(d_model, d_ff, dropout)


# %% right EncoderBlock feed_forward_inside
class EncoderBlock(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def think(self, x: Tensor) -> Tensor:
        return self.dropout(self.feed_forward(x))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.dropout(attend(self.attention, self.norm1(x), mask)[0])
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.dropout(attend(self.attention, x, mask)[0]))
        return self.norm2(x + self.think(x))


# %% right EncoderBlock functional
class EncoderBlock(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(
            d_model, num_heads, dropout=dropout, batch_first=True
        )
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.rate, self.norm_first = dropout, norm_first

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.rate, training=self.training)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        sublayers = (
            (self.norm1, lambda y: attend(self.attention, y, mask)[0]),
            (self.norm2, lambda y: self.linear2(self.drop(F.relu(self.linear1(y))))),
        )
        for norm, sublayer in sublayers:
            if self.norm_first:
                x = x + self.drop(sublayer(norm(x)))
            else:
                x = norm(x + self.drop(sublayer(x)))
        return x


# %% right EncoderBlock three_dropouts of="dropout_before_the_relu"
# replace: self.dropout = nn.Dropout(dropout)
# by:      self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
#          self.dropout3 = nn.Dropout(dropout)
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      return self.dropout1(attend(self.attention, x, mask)[0])
# replace: return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))
# by:      return self.dropout3(self.linear2(self.dropout2(torch.relu(self.linear1(x)))))


# %% right EncoderBlock dropout_before_the_relu
class EncoderBlock(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.dropout(attend(self.attention, x, mask)[0])

    def think(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear2(torch.relu(self.dropout(self.linear1(x)))))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.look(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.look(x, mask))
        return self.norm2(x + self.think(x))


# %% right EncoderBlock own_mask of="a_method_for_each_sublayer"
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      if mask is None:
#              return self.dropout(self.attention(x, x, x, need_weights=False)[0])
#          mask = mask.expand(len(x), x.shape[1], x.shape[1])
#          nothing = ~mask.any(-1, keepdim=True)
#          allowed = (mask | nothing).repeat_interleave(self.attention.num_heads, 0)
#          output, _ = self.attention(x, x, x, attn_mask=~allowed, need_weights=False)
#          return self.dropout(torch.where(nothing, self.attention.out_proj.bias, output))

# %% right EncoderBlock additive_mask of="a_method_for_each_sublayer"
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      added = torch.zeros(len(x), x.shape[1], x.shape[1], dtype=x.dtype)
#          if mask is not None:
#              added = added.masked_fill(~mask, float("-inf"))
#          empty = added.isinf().all(-1, keepdim=True)
#          added = added.masked_fill(empty, 0.0).repeat_interleave(self.attention.num_heads, 0)
#          output, _ = self.attention(x, x, x, attn_mask=added)
#          bias = self.attention.out_proj.bias
#          return self.dropout(output * ~empty + bias * empty)

# %% right EncoderBlock norms_chosen_by_functions of="a_method_for_each_sublayer"
# replace: if self.norm_first:
#              x = x + self.look(self.norm1(x), mask)
#              return x + self.think(self.norm2(x))
#          x = self.norm1(x + self.look(x, mask))
#          return self.norm2(x + self.think(x))
# by:      def alone(y: Tensor) -> Tensor:
#              return y
#
#          before1, behind1 = (self.norm1, alone) if self.norm_first else (alone, self.norm1)
#          before2, behind2 = (self.norm2, alone) if self.norm_first else (alone, self.norm2)
#          x = behind1(x + self.look(before1(x), mask))
#          return behind2(x + self.think(before2(x)))

# %% right EncoderBlock helpers_for_each_order of="a_method_for_each_sublayer"
# replace:     if self.norm_first:
#                  x = x + self.look(self.norm1(x), mask)
#                  return x + self.think(self.norm2(x))
#              x = self.norm1(x + self.look(x, mask))
#              return self.norm2(x + self.think(x))
# by:          return self.pre(x, mask) if self.norm_first else self.post(x, mask)
#
#          def pre(self, x: Tensor, mask: Tensor | None) -> Tensor:
#              looked = torch.add(x, self.look(self.norm1(x), mask))
#              return torch.add(looked, self.think(self.norm2(looked)))
#
#          def post(self, x: Tensor, mask: Tensor | None) -> Tensor:
#              looked = self.norm1(x + self.look(x, mask))
#              return self.norm2(looked + self.think(looked))

# %% right EncoderBlock norm_by_hand of="a_method_for_each_sublayer"
# replace: def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
# by:      @staticmethod
#          def normed(x: Tensor, layer: nn.LayerNorm) -> Tensor:
#              centred = x - x.mean(-1, keepdim=True)
#              deviation = (centred.square().mean(-1, keepdim=True) + layer.eps).sqrt()
#              return centred / deviation * layer.weight + layer.bias
#
#          def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      x = x + self.look(self.normed(x, self.norm1), mask)
#          return x + self.think(self.normed(x, self.norm2))


# %% right EncoderBlock inherits_feed_forward
class EncoderBlock(FeedForward):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.dropout(attend(self.attention, x, mask)[0])

    def think(self, x: Tensor) -> Tensor:
        return self.dropout(super().forward(x))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.norm_first:
            x = x + self.look(self.norm1(x), mask)
            return x + self.think(self.norm2(x))
        x = self.norm1(x + self.look(x, mask))
        return self.norm2(x + self.think(x))


# %% right EncoderBlock attention_by_hand of="a_method_for_each_sublayer"
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      own = self.attention
#          batch, length, width = x.shape
#          packed = F.linear(x, own.in_proj_weight, own.in_proj_bias)
#          packed = packed.view(batch, length, 3, own.num_heads, -1).permute(2, 0, 3, 1, 4)
#          query, key, value = packed
#          scores = query @ key.mT / query.shape[-1] ** 0.5
#          if mask is not None:
#              mask = mask if mask.dim() == 2 else mask[:, None]
#              scores = scores.masked_fill(~mask, -1e30)
#          weights = self.dropout(scores.softmax(-1))
#          if mask is not None:
#              weights = weights * mask
#          heads = (weights @ value).transpose(1, 2).reshape(batch, length, width)
#          return self.dropout(own.out_proj(heads))

# %% right EncoderBlock fused_attention of="a_method_for_each_sublayer"
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      own = self.attention
#          split = (*x.shape[:-1], own.num_heads, own.head_dim)
#          query, key, value = (
#              part.reshape(split).transpose(1, 2)
#              for part in F.linear(x, own.in_proj_weight, own.in_proj_bias).chunk(3, -1)
#          )
#          if mask is not None and mask.dim() == 3:
#              mask = mask.unsqueeze(1)
#          rate = own.dropout if self.training else 0.0
#          heads = F.scaled_dot_product_attention(query, key, value, mask, rate)
#          if mask is not None:
#              heads = heads.masked_fill(~mask.any(-1, keepdim=True), 0.0)
#          return self.dropout(own.out_proj(heads.transpose(1, 2).reshape(x.shape)))

# %% right EncoderBlock copies_changed_in_place of="a_method_for_each_sublayer"
# replace: x = x + self.look(self.norm1(x), mask)
#          return x + self.think(self.norm2(x))
# by:      out = x.clone()
#          out += self.look(self.norm1(x), mask)
#          return out + self.think(self.norm2(out))

# %% right EncoderBlock sentence_by_sentence of="a_method_for_each_sublayer"
# replace: return self.dropout(attend(self.attention, x, mask)[0])
# by:      rows = []
#          for i, sentence in enumerate(x):
#              own = mask if mask is None or mask.dim() == 2 else mask[i if len(mask) > 1 else 0]
#              if own is not None:
#                  own = own.expand(x.shape[1], -1)
#              rows.append(attend(self.attention, sentence[None], own)[0])
#          return self.dropout(torch.cat(rows))

# %% wrong Encoder plain_list of="norm_in_both_orders"
# a plain list hides its blocks from PyTorch: keep them in an nn.ModuleList, as self.blocks
# replace: self.blocks = nn.ModuleList(
# by:      self.blocks = [
# replace: )
#          self.norm = nn.LayerNorm(d_model)
# by:      ]
#          self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

# %% wrong Encoder blocks_renamed of="norm_before_and_behind"
# PyTorch finds blocks under another name: call the nn.ModuleList `blocks`
# replace: self.blocks = nn.ModuleList(
# by:      self.layers = nn.ModuleList(
# replace: x = self.norm(x)
#          for block in self.blocks:
# by:      for block in self.layers:

# %% wrong Encoder one_block_in_every_place of="six_blocks"
# each block needs its own parameters: make a new EncoderBlock for each of the num_layers
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
#          )
# by:      block = EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#          self.blocks = nn.ModuleList([block] * num_layers)

# %% wrong Encoder one_block_called_again_and_again of="six_blocks"
# each block needs its own parameters: make a new EncoderBlock for each of the num_layers
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
#          )
# by:      self.num_layers = num_layers
#          block = EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#          self.blocks = nn.ModuleList([block])
# replace: for block in self.blocks:
#              x = block(x, mask)
# by:      for _ in range(self.num_layers):
#              x = self.blocks[0](x, mask)

# %% wrong Encoder one_block_too_few of="solution"
# your parameters are those of 2 blocks: make num_layers of them
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#          for _ in range(num_layers - 1)

# %% wrong Encoder one_block_too_many of="solution"
# your parameters are those of 4 blocks: make num_layers of them
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#          for _ in range(num_layers + 1)

# %% wrong Encoder six_blocks of="solution"
# your parameters are those of 6 blocks: make num_layers of them
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)

# %% wrong Encoder mask_in_the_first_block_alone of="no_mask"
# Only your first block gets the mask, so the others attend everywhere: pass it to every block.
# replace: for block in self.blocks:
#              x = block(x)
# by:      for i, block in enumerate(self.blocks):
#              x = block(x, mask if i == 0 else None)

# %% wrong Encoder mask_dropped_after_the_first of="no_mask"
# Only your first block gets the mask, so the others attend everywhere: pass it to every block.
# replace: for block in self.blocks:
# by:      x = self.blocks[0](x, mask)
#          for block in self.blocks[1:]:

# %% wrong Encoder mask_in_the_last_block_alone of="no_mask"
# Only your last block gets the mask: pass it to every block.
# replace: for block in self.blocks:
# by:      for block in self.blocks[:-1]:
# replace: return self.norm(x)
# by:      return self.norm(self.blocks[-1](x, mask))

# %% wrong Encoder no_mask of="solution"
# None of your blocks gets the mask: pass it to every block.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
# replace: x = block(x, mask)
# by:      x = block(x)

# %% wrong Encoder mask_turned_round of="no_mask"
# You invert the mask: your blocks take True = may attend, so pass it on unchanged.
# replace: x = block(x)
# by:      x = block(x, None if mask is None else ~mask)

# %% wrong Encoder norm_unused of="solution"
# You make the final norm, but never call it: a pre-norm encoder ends with it.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
# replace: return self.norm(x)
# by:      return x

# %% wrong Encoder no_norm_at_the_end of="norm_unused"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:

# %% wrong Encoder norm_in_both_orders of="solution"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model)

# %% wrong Encoder norm_in_the_wrong_order of="norm_in_both_orders"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm = nn.LayerNorm(d_model) if not norm_first else nn.Identity()

# %% wrong Encoder d_ff_ignored of="solution"
# `blocks` holds EncoderBlocks alone, each with this d_model, num_heads and d_ff
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, 4 * d_model, dropout, norm_first)
#          for _ in range(num_layers)

# %% wrong Encoder norm_renamed of="norm_unused"
# One of your parts has another name than in the docstring: `blocks` for the blocks, `norm` for
# the final norm.
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.final_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# replace: return x
# by:      return self.final_norm(x)

# %% wrong Encoder norm_without_gain_and_bias of="norm_in_both_orders"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: nn.LayerNorm(d_model)
# by:      nn.LayerNorm(d_model, elementwise_affine=False) if norm_first else nn.Identity()

# %% wrong Encoder norm_behind_every_block of="norm_unused"
# You use the final norm after every block: use it once, after the last one.
# replace: x = block(x, mask)
# by:      x = self.norm(block(x, mask))

# %% wrong Encoder norm_before_the_blocks of="norm_before_and_behind"
# You use the final norm before the first block: it comes after the last one.
# replace: return self.norm(x)
# by:      return x

# %% wrong Encoder norm_before_and_behind of="solution"
# You normalise x before the first block too: the final norm comes once, after the last block.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
# replace: def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
# by:      def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
#              x = self.norm(x)

# %% wrong Encoder norm_first_not_handed_on of="solution"
# Your blocks are pre-norm even if norm_first=False: pass norm_first on.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)

# %% wrong Encoder blocks_always_post_norm of="solution"
# Your blocks are post-norm even if norm_first=True: pass norm_first on.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first=False)
#          for _ in range(num_layers)

# %% wrong Encoder order_turned_round_for_the_blocks of="solution"
# Your blocks get the opposite of norm_first: pass it on unchanged.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, not norm_first)
#          for _ in range(num_layers)

# %% wrong Encoder dropout_not_handed_on of="solution"
# pass dropout on to every block, and use no other dropout
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, norm_first=norm_first) for _ in range(num_layers)

# %% wrong Encoder norm_first_for_dropout of="solution"
# You pass norm_first in the position of dropout: the block takes dropout first.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, norm_first) for _ in range(num_layers)

# %% wrong Encoder dropout_at_the_end_too of="norm_unused"
# pass dropout on to every block, and use no other dropout
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
#          self.dropout = nn.Dropout(dropout)
# replace: return x
# by:      return self.dropout(self.norm(x))

# %% wrong Encoder dropout_at_the_beginning_too of="norm_before_and_behind"
# pass dropout on to every block, and use no other dropout
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
#          self.dropout = nn.Dropout(dropout)
# replace: x = self.norm(x)
# by:      x = self.dropout(x)

# %% wrong Encoder last_block_first of="solution"
# You run the blocks from the last to the first: run them in order.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
# replace: for block in self.blocks:
# by:      for block in reversed(self.blocks):

# %% wrong Encoder every_block_gets_the_first_x of="norm_before_and_behind"
# Every block gets the first x, so only the last one matters: pass each block the output of the
# one before.
# replace: x = self.norm(x)
# by:      result = x
# replace:     x = block(x, mask)
#          return self.norm(x)
# by:          result = block(x, mask)
#          return self.norm(result)

# %% wrong Encoder results_added_up of="no_mask"
# You add up the outputs of the blocks: each block reads the output of the one before, and returns
# the whole x.
# replace: x = block(x)
# by:      x = x + block(x, mask)

# %% wrong Encoder x_added_at_the_end of="norm_before_and_behind"
# You add the original x at the end: each block has its residual connections already.
# replace: x = self.norm(x)
# by:      first = x
# replace: return self.norm(x)
# by:      return self.norm(first + x)

# %% wrong Encoder returned_inside_the_loop of="norm_unused"
# You return after the first block: the return is indented one level too deep.
# replace: x = block(x, mask)
# by:      return self.norm(block(x, mask))

# %% wrong Encoder blocks_never_run of="no_mask"
# You call none of the blocks: call each of them in turn.
# replace: x = block(x)
# by:      block(x, mask)

# %% wrong Encoder only_the_last_normed_word of="norm_unused"
# You return only the last token: an encoder returns every token.
# replace: return x
# by:      return self.norm(x[:, -1:])

# %% wrong Encoder all_outputs_returned of="norm_before_and_behind"
# You return the output of every block: return only the last one.
# replace: x = self.norm(x)
# by:      results = []
# replace: return self.norm(x)
# by:          results.append(self.norm(x))
#          return torch.stack(results)

# %% wrong Encoder no_gradient of="no_mask"
# no gradient flows through the result
# replace: for block in self.blocks:
#              x = block(x)
# by:      with torch.no_grad():
#              for block in self.blocks:
#                  x = block(x, mask)

# %% wrong Encoder no_call_of_super of="solution"
# `super().__init__()` is missing: make it the first line of `__init__`
# replace: super().__init__()
# by:
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)

# %% wrong Encoder blocks_shared_by_all_encoders of="six_blocks"
# All your encoders share one set of blocks: make new blocks in each __init__.
# replace: class Encoder(nn.Module):
# by:      MADE: dict = {}
#
#
#          class Encoder(nn.Module):
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
#          )
# by:      key = (num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          if key not in MADE:
#              MADE[key] = nn.ModuleList(EncoderBlock(*key[1:]) for _ in range(num_layers))
#          self.blocks = MADE[key]

# %% wrong Encoder norm_of_the_last_block of="norm_in_both_orders"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: self.norm = nn.LayerNorm(d_model)
# by:      self.norm = self.blocks[-1].norm2 if norm_first else nn.Identity()

# %% wrong Encoder norm_before_the_last_block of="norm_unused"
# You use the final norm before the last block: it comes after it.
# replace: for block in self.blocks:
# by:      for block in self.blocks[:-1]:
# replace: return x
# by:      return self.blocks[-1](self.norm(x), mask)

# %% wrong Encoder orders_alternate of="solution"
# Every second block of yours has the other order: pass norm_first unchanged to each.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first ^ (i % 2 == 1))
#          for i in range(num_layers)

# %% wrong Encoder mask_transposed of="no_mask"
# You transpose the mask, so tokens attend to those after them: pass it on unchanged.
# replace: x = block(x)
# by:      x = block(x, None if mask is None else mask.mT)

# %% wrong Encoder one_head of="solution"
# Your blocks have one head each: pass num_heads on.
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, 1, d_ff, dropout, norm_first) for _ in range(num_layers)


# %% wrong Encoder plain_norm_in_post_norm
# With norm_first=False you normalise at the end: a post-norm encoder ends with its last block.
class Encoder(nn.Module):
    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)
        )
        self.norm = (
            nn.LayerNorm(d_model) if norm_first else nn.LayerNorm(d_model, elementwise_affine=False)
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


# %% wrong Encoder dropout_in_the_first_block_alone of="solution"
# pass dropout on to every block, and use no other dropout
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, 0.0 if i else dropout, norm_first)
#          for i in range(num_layers)

# %% wrong Encoder norm_in_evaluation_alone of="norm_unused"
# You call the final norm only in evaluation: call it in both modes.
# replace: return x
# by:      return x if self.training else self.norm(x)

# %% wrong Encoder default_order_of_pytorch of="solution"
# an nn.LayerNorm(d_model) called `norm` if norm_first, and nothing if not
# replace: norm_first: bool = True,
# by:      norm_first: bool = False,
# replace: EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for i in range(num_layers)
# by:      EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(num_layers)

# %% wrong Encoder layer_drop of="norm_unused"
# You skip whole blocks in training: every block runs, with dropout inside it.
# replace: super().__init__()
# by:      super().__init__()
#          self.norm_first = norm_first
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else None
#          self.rate = dropout
# replace:     x = block(x, mask)
#          return x
# by:          if not (self.training and torch.rand(()) < self.rate):
#                  x = block(x, mask)
#          return x if self.norm is None else self.norm(x)

# %% wrong Encoder norm_train_only of="norm_unused"
# You call the final norm only in training: call it in both modes.
# replace: super().__init__()
# by:      super().__init__()
#          self.norm_first = norm_first
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else None
# replace: return x
# by:      return x if self.norm is None or not self.training else self.norm(x)

# %% wrong Encoder blocks_frozen of="norm_unused"
# leave requires_grad of the blocks as it is: training should change them
# replace: return x
# by:      return self.norm(x)
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
#          self.blocks.requires_grad_(False)

# %% wrong Encoder no_gradient_in_evaluation of="no_mask"
# In evaluation no gradient passes your result: whoever calls the module decides on no_grad.
# replace: for block in self.blocks:
#              x = block(x)
#          return self.norm(x)
# by:      with torch.set_grad_enabled(self.training):
#              for block in self.blocks:
#                  x = block(x, mask)
#              return self.norm(x)

# %% wrong Encoder no_gradient_for_the_blocks_in_evaluation of="no_mask"
# In evaluation no gradient reaches your blocks: whoever calls the module decides on no_grad.
# replace: for block in self.blocks:
#              x = block(x)
# by:      with torch.set_grad_enabled(self.training):
#              for block in self.blocks:
#                  x = block(x, mask)

# %% wrong Encoder input_scaled of="no_mask"
# Your first block gets x times √d_model: pass it x as it is.
# replace: for block in self.blocks:
#              x = block(x)
# by:      x = x * x.shape[-1] ** 0.5
#          for block in self.blocks:
#              x = block(x, mask)

# %% wrong Encoder norm_without_its_parameters of="norm_unused"
# The gain and the bias of your final norm have no effect: call `norm` itself.
# replace: return x
# by:      if isinstance(self.norm, nn.Identity):
#              return x
#          return F.layer_norm(x, x.shape[-1:])

# %% wrong Encoder sequence_with_a_mask of="six_blocks"
# nn.Sequential passes on one argument, so it has no place for the mask: call each block yourself.
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
# by:      self.blocks = nn.Sequential(
#              *(
#                  EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#                  for _ in range(num_layers)
#              )
# replace: for block in self.blocks:
#              x = block(x, mask)
#          return self.norm(x)
# by:      return self.norm(self.blocks(x, mask))

# %% wrong Encoder no_mask_in_post_norm of="norm_unused"
# With norm_first=False the mask has no effect: pass it to every block in both orders.
# replace: x = block(x, mask)
# by:      x = block(x, mask if isinstance(self.norm, nn.LayerNorm) else None)
# replace: return x
# by:      return self.norm(x)

# %% wrong Encoder mask_in_the_first_post_norm_block_alone of="norm_unused"
# With norm_first=False only your first block gets the mask: pass it to every block in both orders.
# replace: for block in self.blocks:
#              x = block(x, mask)
#          return x
# by:      always = isinstance(self.norm, nn.LayerNorm)
#          for i, block in enumerate(self.blocks):
#              x = block(x, mask if always or i == 0 else None)
#          return self.norm(x)

# %% wrong Encoder three_blocks_at_most of="norm_unused"
# Your last block changes nothing in the result: run all num_layers blocks.
# replace: for block in self.blocks:
# by:      for block in self.blocks[:3]:
# replace: return x
# by:      return self.norm(x)

# %% right Encoder appended of="six_blocks"
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
#          )
# by:      self.blocks = nn.ModuleList()
#          for _ in range(num_layers):
#              self.blocks.append(EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first))

# %% right Encoder no_norm_is_none of="norm_unused"
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm = nn.LayerNorm(d_model) if norm_first else None
# replace: return x
# by:      return x if self.norm is None else self.norm(x)

# %% right Encoder copies of="six_blocks"
# replace: class Encoder(nn.Module):
# by:      from copy import deepcopy
#
#
#          class Encoder(nn.Module):
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
#          )
# by:      block = EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#          self.blocks = nn.ModuleList(deepcopy(block) for _ in range(num_layers))

# %% right Encoder by_index of="no_mask"
# replace: for block in self.blocks:
#              x = block(x)
# by:      for i in range(len(self.blocks)):
#              x = self.blocks[i](x, mask=mask)

# %% right Encoder norm_asked_for_in_forward of="norm_unused"
# replace: self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
# by:      self.norm_first = norm_first
#          if norm_first:
#              self.norm = nn.LayerNorm(d_model)
# replace: return x
# by:      return self.norm(x) if self.norm_first else x

# %% right Encoder sequence_of_blocks of="six_blocks"
# replace: self.blocks = nn.ModuleList(
#              EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first) for _ in range(6)
# by:      self.blocks = nn.Sequential(
#              *(
#                  EncoderBlock(d_model, num_heads, d_ff, dropout, norm_first)
#                  for _ in range(num_layers)
#              )

# %% right Encoder reduced of="norm_unused"
# replace: class Encoder(nn.Module):
# by:      from functools import reduce
#
#
#          class Encoder(nn.Module):
# replace: for block in self.blocks:
#              x = block(x, mask)
#          return x
# by:      return self.norm(reduce(lambda words, block: block(words, mask), self.blocks, x))

# %% right Encoder recursive of="norm_unused"
# replace:     for block in self.blocks:
#                  x = block(x, mask)
#              return x
# by:          return self.norm(self.after(len(self.blocks), x, mask))
#
#          def after(self, count: int, x: Tensor, mask: Tensor | None) -> Tensor:
#              if count == 0:
#                  return x
#              return self.blocks[count - 1](self.after(count - 1, x, mask), mask)

# %% right Encoder norm_by_its_parts of="norm_unused"
# replace: return x
# by:      if not isinstance(self.norm, nn.LayerNorm):
#              return x
#          centred = x - x.mean(-1, keepdim=True)
#          spread = (centred.square().mean(-1, keepdim=True) + self.norm.eps).rsqrt()
#          return centred * spread * self.norm.weight + self.norm.bias


# %% right Encoder extended
class Encoder(nn.Module):
    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        settings = dict(  # noqa: C408
            d_model=d_model,
            num_heads=num_heads,
            d_ff=d_ff,
            dropout=dropout,
            norm_first=norm_first,
        )
        self.blocks = nn.ModuleList()
        self.blocks.extend([EncoderBlock(**settings) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


# %% right Encoder xavier_inside of="norm_in_both_orders"
# replace: self.norm = nn.LayerNorm(d_model)
# by:      for weight in self.blocks.parameters():
#              if weight.dim() == 2:
#                  nn.init.xavier_uniform_(weight)
#          self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

# %% wrong left_out no_output_layer
# You count the biases of query, key and value, and leave out the output: attention has four
# layers.
left_out = [1536, 2560, 2048]

# %% wrong left_out one_bias_for_attention
# You count one bias for attention: it has four layers, each with a bias of 512.
left_out = [512, 2560, 2048]

# %% wrong left_out ends_of_feed_forward_alone
# You count one size of bias for the feed-forward network: linear1 has 2048 output features,
# linear2 has 512.
left_out = [2048, 512, 2048]

# %% wrong left_out hidden_bias_alone
# You count one size of bias for the feed-forward network: linear1 has 2048 output features,
# linear2 has 512.
left_out = [2048, 2048, 2048]

# %% wrong left_out both_feed_forward_biases_wide
# A bias has one number for each output feature: 2048 in linear1, but 512 in linear2.
left_out = [2048, 4096, 2048]

# %% wrong left_out one_norm
# You count half of the norms' parameters: there are two norms, each with a gain and a bias of
# 512.
left_out = [2048, 2560, 1024]

# %% wrong left_out feed_forward_and_norms_exchanged
# Your second and third number are exchanged: the feed-forward network, with the bias of linear2,
# comes before the norms.
left_out = [2048, 2048, 2560]

# %% wrong left_out feed_forward_first
# Your first two numbers are exchanged: attention comes first, and the bias of linear2 belongs to
# the feed-forward network.
left_out = [2560, 2048, 2048]

# %% wrong left_out thousands
# You give thousands: give the whole numbers.
left_out = [2.048, 2.56, 2.048]

# %% wrong left_out a_third_each
# You divide the sum evenly: count the biases of each part.
left_out = [6656 / 3, 6656 / 3, 6656 / 3]

# %% wrong left_out matrices_counted
# You count the matrices, which are on the slides: only biases and the parameters of the norms are
# missing.
left_out = [1048576, 2097152, 2048]

# %% wrong left_out bias_for_each_head
# You count biases for each head: each of the four layers of attention has 512 output features for
# any number of heads.
left_out = [16384, 2560, 2048]

# %% wrong left_out output_bias_moved
# The sum is right, but 512 of attention are in the second number: attention has four biases.
left_out = [1536, 3072, 2048]

# %% wrong left_out output_bias_with_the_norms
# The sum is right, but 512 of attention are in the third number: attention has four biases.
left_out = [1536, 2560, 2560]

# %% wrong left_out norm_biases_with_the_network
# The sum is right, but 1024 of the norms are in the second number: a norm's bias counts with it.
left_out = [2048, 3584, 1024]

# %% wrong left_out norm_biases_with_attention
# The sum is right, but 1024 of the norms are in the first number: a norm's bias counts with it.
left_out = [3072, 2560, 1024]

# %% wrong left_out narrow_biases_in_feed_forward
# You count 512 biases in both layers of the feed-forward network: linear1 has more output features.
left_out = [2048, 1024, 2048]

# %% wrong left_out vectors_counted
# Each of your numbers is 512 times too small: count the numbers in each vector, not the vectors.
left_out = [4, 5, 4]

# %% right left_out tensor
left_out = torch.tensor([2048, 2560, 2048])

# %% right left_out arithmetic
left_out = (4 * 512, 2048 + 512, 2 * 2 * 512)

# %% right left_out counted_by_torch
block = nn.TransformerEncoderLayer(512, 8, 2048)
left_out = [
    sum(p.numel() for n, p in block.named_parameters() if p.dim() == 1 and part in n)
    for part in ("self_attn", "linear", "norm")
]

# %% right left_out mapping
block = nn.TransformerEncoderLayer(512, 8, 2048)
attention = block.self_attn
left_out = [
    attention.in_proj_bias.numel() + attention.out_proj.bias.numel(),
    block.linear1.bias.numel() + block.linear2.bias.numel(),
    sum(part.numel() for norm in (block.norm1, block.norm2) for part in norm.parameters()),
]

# %% right left_out array
import numpy as np

left_out = np.array([4, 5, 4]) * 512

# %% right left_out the_rest
left_out = [4 * 512, 6656 - 2 * 4 * 512, 2 * (512 + 512)]

# %% base encoder_parameters norms_counted_apart of="solution"
# replace: norm = 2 * d_model  # a gain and a bias
#          return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
# by:      norms = 4 * d_model
#          end = 2 * d_model if norm_first else 0
#          return num_layers * (attention + feed_forward + norms) + end

# %% wrong encoder_parameters matrices_alone of="built_and_counted"
# You count only the matrices: biases and the parameters of the norms belong to the count.
# replace: encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())
# by:      attention = 4 * d_model * d_model
#          feed_forward = 2 * d_model * d_ff
#          norms = 0
#          end = 0
#          return num_layers * (attention + feed_forward + norms) + end

# %% wrong encoder_parameters no_biases_in_attention of="norms_counted_apart"
# In each block 4 · d_model parameters are missing: attention has four biases, and the two norms
# have a gain and a bias each.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * d_model * d_model

# %% wrong encoder_parameters no_bias_in_the_output_projection of="norms_counted_apart"
# In each block one bias of d_model is missing: the four layers of attention and the two of the
# feed-forward network have one each.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * d_model * d_model + 3 * d_model

# %% wrong encoder_parameters no_output_projection of="norms_counted_apart"
# You leave out a layer of attention: it has four, for query, key, value and output.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 3 * (d_model * d_model + d_model)

# %% wrong encoder_parameters output_without_bias_and_three_heads of="norms_counted_apart"
# Your count depends on the number of heads: together the four matrices have 4 · d_model · d_model
# weights for any number of heads.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = num_heads * 3 * d_model * d_model + d_model * d_model + 4 * d_model

# %% wrong encoder_parameters once_for_each_head of="norms_counted_apart"
# You count the matrices once for each head: each head has a slice of them, so heads add no
# parameters.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = num_heads * 4 * (d_model * d_model + d_model)

# %% wrong encoder_parameters divided_by_heads of="norms_counted_apart"
# You divide by the number of heads: all heads together have d_model features in each role.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * (d_model * (d_model // num_heads) + d_model)

# %% wrong encoder_parameters no_biases_in_feed_forward of="norms_counted_apart"
# You leave out the biases of the feed-forward network: d_ff and d_model parameters.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 2 * d_model * d_ff

# %% wrong encoder_parameters one_bias_in_feed_forward of="norms_counted_apart"
# In each block one bias of d_model is missing: the four layers of attention and the two of the
# feed-forward network have one each.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 2 * d_model * d_ff + d_ff

# %% wrong encoder_parameters both_feed_forward_biases_wide of="norms_counted_apart"
# You count d_ff biases in linear2: it has d_model output features, so d_model biases.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 2 * (d_model * d_ff + d_ff)

# %% wrong encoder_parameters feed_forward_counted_once of="norms_counted_apart"
# You count one matrix in the feed-forward network: it has two.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = d_model * d_ff + d_ff + d_model

# %% wrong encoder_parameters four_times_wide of="norms_counted_apart"
# You assume that d_ff is 4 · d_model: it is an argument.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 8 * d_model * d_model + 5 * d_model

# %% wrong encoder_parameters no_norms_in_the_blocks of="norms_counted_apart"
# In each block 4 · d_model parameters are missing: attention has four biases, and the two norms
# have a gain and a bias each.
# replace: norms = 4 * d_model
# by:      norms = 0

# %% wrong encoder_parameters one_norm_in_a_block of="norms_counted_apart"
# You count one norm in each block: it has two.
# replace: norms = 4 * d_model
# by:      norms = 2 * d_model

# %% wrong encoder_parameters norms_without_bias of="solution"
# You count one vector for each norm: it has two, a gain and a bias.
# replace: norm = 2 * d_model  # a gain and a bias
#          return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
# by:      norms = 2 * d_model
#          end = d_model if norm_first else 0
#          return num_layers * (attention + feed_forward + norms) + end

# %% wrong encoder_parameters two_numbers_for_a_norm of="solution"
# You count two parameters for a norm: it has a gain and a bias for each feature.
# replace: norm = 2 * d_model  # a gain and a bias
#          return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
# by:      norms = 4
#          end = 2 if norm_first else 0
#          return num_layers * (attention + feed_forward + norms) + end

# %% wrong encoder_parameters no_norm_at_the_end of="norms_counted_apart"
# You leave out the final norm: a pre-norm encoder has one.
# replace: end = 2 * d_model if norm_first else 0
# by:      end = 0

# %% wrong encoder_parameters norm_at_the_end_in_both_orders of="norms_counted_apart"
# You count a final norm for post-norm too: count it only if norm_first.
# replace: end = 2 * d_model if norm_first else 0
# by:      end = 2 * d_model

# %% wrong encoder_parameters norm_at_the_end_in_the_other_order of="norms_counted_apart"
# You count a final norm in post-norm: it belongs to pre-norm.
# replace: end = 2 * d_model if norm_first else 0
# by:      end = 2 * d_model if not norm_first else 0

# %% wrong encoder_parameters end_norm_in_every_block of="norms_counted_apart"
# You count the final norm in each block: it comes once, after all blocks.
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      return num_layers * (attention + feed_forward + norms + end)

# %% wrong encoder_parameters layers_forgotten of="norms_counted_apart"
# You count one block: there are num_layers of them.
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      return (attention + feed_forward + norms) + end

# %% wrong encoder_parameters attention_counted_once of="norms_counted_apart"
# You count attention once: every block has its own.
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      return attention + num_layers * (feed_forward + norms) + end

# %% wrong encoder_parameters dropped_ones_left_out of="norms_counted_apart"
# You let dropout change the count: it has no parameters and removes none.
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      return int((1 - dropout) * (num_layers * (attention + feed_forward + norms) + end))

# %% wrong encoder_parameters a_text of="norms_counted_apart"
# expected a whole number
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      return f"{num_layers * (attention + feed_forward + norms) + end:,}"

# %% wrong encoder_parameters nothing_returned of="norms_counted_apart"
# does the last line say `return`?
# replace: return num_layers * (attention + feed_forward + norms) + end
# by:      num_layers * (attention + feed_forward + norms) + end

# %% wrong encoder_parameters default_false of="solution"
# You leave out the final norm if norm_first is not given: its default is True.
# replace: norm_first: bool = True,
# by:      norm_first: bool = False,
# replace: norm = 2 * d_model  # a gain and a bias
# by:      norm = 2 * d_model

# %% wrong encoder_parameters head_norms of="solution"
# You count norms for each head: a block has two, whatever the number of heads.
# replace: norm = 2 * d_model  # a gain and a bias
#          return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
# by:      norm = 2 * d_model
#          return num_layers * (attention + feed_forward + 2 * norm * num_heads) + norm * norm_first

# %% wrong encoder_parameters three_norms of="head_norms"
# You count three norms in a block: it has two.
# replace: return num_layers * (attention + feed_forward + 2 * norm * num_heads) + norm * norm_first
# by:      return num_layers * (attention + feed_forward + 3 * norm) + norm * norm_first

# %% wrong encoder_parameters nothing_in_post_norm of="head_norms"
# With norm_first=False you return 0: only the final norm depends on norm_first.
# replace: return num_layers * (attention + feed_forward + 2 * norm * num_heads) + norm * norm_first
# by:      return num_layers * (attention + feed_forward + 2 * norm) + norm if norm_first else 0

# %% wrong encoder_parameters d_ff_of_pytorch of="norms_counted_apart"
# Your count is that of d_ff = 2048: d_ff is an argument.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 2 * d_model * 2048 + 2048 + d_model

# %% wrong encoder_parameters tensors_counted of="built_and_counted"
# You count tensors: count the numbers in them.
# replace: return sum(part.numel() for part in encoder.parameters())
# by:      return len(list(encoder.parameters()))

# %% wrong encoder_parameters caret of="norms_counted_apart"
# d_model is not squared in your count of attention: in Python a power is **, and ^ is something
# else.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * ((d_model ^ 2) + d_model)

# %% wrong encoder_parameters one_bias_for_each_head of="norms_counted_apart"
# In query, key and value you count num_heads biases: each has one for each of its d_model features.
# replace: attention = 4 * (d_model * d_model + d_model)
# by:      attention = 4 * d_model * d_model + 3 * num_heads + d_model

# %% wrong encoder_parameters narrow_biases_in_feed_forward of="norms_counted_apart"
# You count d_model biases in both layers of the feed-forward network: linear1 has d_ff.
# replace: feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
# by:      feed_forward = 2 * (d_model * d_ff + d_model)

# %% right encoder_parameters built_and_counted of="solution"
# replace: attention = 4 * (d_model * d_model + d_model)
#          feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
#          norm = 2 * d_model  # a gain and a bias
#          return num_layers * (attention + feed_forward + 2 * norm) + norm * norm_first
# by:      encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())

# %% right encoder_parameters counted_by_torch of="built_and_counted"
# replace: encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())
# by:      layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout)
#          end = nn.LayerNorm(d_model) if norm_first else None
#          stack = nn.TransformerEncoder(layer, num_layers, end, enable_nested_tensor=False)
#          return sum(part.numel() for part in stack.parameters())

# %% right encoder_parameters one_polynomial of="built_and_counted"
# replace: encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())
# by:      block = 4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff
#          return num_layers * block + 2 * d_model * int(norm_first)


# %% right encoder_parameters layer_by_layer
def encoder_parameters(
    num_layers: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float = 0.0,
    norm_first: bool = True,
) -> int:
    def linear(size_in: int, size_out: int) -> int:
        return (size_in + 1) * size_out

    total = 0
    for _ in range(num_layers):
        total += 4 * linear(d_model, d_model)
        total += linear(d_model, d_ff) + linear(d_ff, d_model)
        total += 2 * (d_model + d_model)
    if norm_first:
        total += d_model + d_model
    return total


# %% right encoder_parameters sum_of_shapes of="built_and_counted"
# replace: encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())
# by:      shapes = [(3 * d_model, d_model), (3 * d_model,), (d_model, d_model), (d_model,)]
#          shapes += [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)]
#          shapes += [(d_model,)] * 4
#          block = sum(torch.Size(shape).numel() for shape in shapes)
#          return num_layers * block + (2 * d_model if norm_first else 0)

# %% right encoder_parameters by_difference of="built_and_counted"
# replace: encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm_first)
#          return sum(part.numel() for part in encoder.parameters())
# by:      if num_layers == 0:
#              return 2 * d_model if norm_first else 0
#          fewer = encoder_parameters(num_layers - 1, d_model, num_heads, d_ff, dropout, norm_first)
#          return fewer + 4 * d_model * (d_model + 1) + d_ff * (2 * d_model + 1) + 5 * d_model


# %% wrong warmup_schedule step_zero_forgotten
# 0 ** -0.5 divides by zero: handle step 0 first
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup_schedule larger_of_the_two
# You take the larger of the two curves: the lower one counts.
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    if step == 0:
        return 0.0
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup_schedule sum_of_the_two of="larger_of_the_two"
# You add the two curves: take the smaller one.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * (step**-0.5 + step * warmup_steps**-1.5)

# %% wrong warmup_schedule no_way_down of="larger_of_the_two"
# Your rate never falls: after the warm-up it is 1 / √step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * step * warmup_steps**-1.5

# %% wrong warmup_schedule no_way_up of="larger_of_the_two"
# Your rate starts at its peak: the rising line from 0 is missing.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * step**-0.5

# %% wrong warmup_schedule no_width of="larger_of_the_two"
# You leave out the factor 1 / √d_model.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule root_of_the_width of="larger_of_the_two"
# You multiply by √d_model: divide by it.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule divided_by_the_width of="larger_of_the_two"
# You divide by d_model: divide by its square root.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-1.0 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule power_one of="larger_of_the_two"
# Your line is step / warmup_steps: divide by warmup_steps to the power 1.5.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.0)

# %% wrong warmup_schedule power_half of="larger_of_the_two"
# Your line is step / √warmup_steps: divide by warmup_steps to the power 1.5.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)

# %% wrong warmup_schedule power_positive of="larger_of_the_two"
# Your rate starts at its peak: the rising line from 0 is missing.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step * warmup_steps**1.5)

# %% wrong warmup_schedule step_power_too of="larger_of_the_two"
# You raise the step to the power -1.5 as well: only warmup_steps has that power.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, (step * warmup_steps) ** -1.5)

# %% wrong warmup_schedule quotient_power of="larger_of_the_two"
# You raise the step to the power 1.5 as well: only warmup_steps has that power.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, (step / warmup_steps) ** 1.5)

# %% wrong warmup_schedule root_of_step of="larger_of_the_two"
# Your rate never falls: after the warm-up it is 1 / √step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule one_over_step of="larger_of_the_two"
# After the peak you divide by step: divide by its square root.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(1 / step, step * warmup_steps**-1.5)

# %% wrong warmup_schedule root_of_warmup_on_the_way_down of="larger_of_the_two"
# After the warm-up your rate is constant: it should fall as 1 / √step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule width_in_one_curve of="larger_of_the_two"
# You multiply one curve by 1 / √d_model: the factor belongs to both.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return min(d_model**-0.5 * step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule paper_defaults of="larger_of_the_two"
# You use the paper's 512 features and 4000 steps: both are arguments.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return 512**-0.5 * min(step**-0.5, step * 4000**-1.5)

# %% wrong warmup_schedule warmup_of_the_paper of="larger_of_the_two"
# You use the paper's 4000 warm-up steps: warmup_steps is an argument.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)


# %% wrong warmup_schedule counts_from_one_more
# You count one step too many: steps already start at 1.
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup_steps**-1.5)


# %% wrong warmup_schedule step_zero_as_step_one
# At step 0 you return the rate of step 1: it should be 0.
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup_schedule flat_top of="larger_of_the_two"
# Your rate falls in a straight line: after the warm-up it is 1 / √step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(
#              step * warmup_steps**-1.5, max(0.0, 2 - step / warmup_steps) * warmup_steps**-0.5
#          )

# %% wrong warmup_schedule scaled_to_one of="larger_of_the_two"
# Your rate is 1 at its peak: the paper's formula has no such factor.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return min(step / warmup_steps, (warmup_steps / step) ** 0.5)

# %% wrong warmup_schedule whole_numbers of="larger_of_the_two"
# You round down to a whole number: // drops the fraction.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(1 // step**0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule up_to_the_top_alone of="larger_of_the_two"
# At step warmup_steps itself you return another rate: both curves meet there.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * (
#              step * warmup_steps**-1.5 if step < warmup_steps else (step + 1) ** -0.5
#          )

# %% wrong warmup_schedule nothing_returned of="step_zero_as_step_one"
# does the last line say `return`?
# replace: return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
# by:      d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule warmup_less_one of="larger_of_the_two"
# You divide the line by (warmup_steps - 1) to the power 1.5: take warmup_steps itself.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step / (warmup_steps - 1) ** 1.5)

# %% wrong warmup_schedule half_of_one_over_step of="larger_of_the_two"
# Your falling curve is half of 1 / step: it should be 1 / √step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-1 / 2, step * warmup_steps**-1.5)

# %% wrong warmup_schedule whole_line of="larger_of_the_two"
# Your rising line is rounded down to a whole number: keep the fraction.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step // warmup_steps**1.5)

# %% wrong warmup_schedule rounded of="larger_of_the_two"
# You round the rate: return all its digits.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return round(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5), 6)

# %% wrong warmup_schedule zero_at_step_one_too of="larger_of_the_two"
# Your rate is 0 at step 1, too: only step 0 gives 0.
# replace: if step == 0:
# by:      if step <= 1:
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule square_up of="larger_of_the_two"
# Your rate rises with the square of the step: up to the peak it should be a straight line.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      return d_model**-0.5 * min(step**-0.5, step**2 * warmup_steps**-2.5)

# %% wrong warmup_schedule paper_warmup_for_its_width of="larger_of_the_two"
# With 512 features your rate is that of 4000 warm-up steps: warmup_steps is an argument.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      if d_model == 512:
#              warmup_steps = 4000
#          return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule paper_warmup_for_short_ones of="larger_of_the_two"
# With 512 features you replace short warm-ups by 4000 steps: warmup_steps is an argument.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      if d_model == 512 and warmup_steps < 500:
#              warmup_steps = 4000
#          return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)

# %% wrong warmup_schedule square_root_up of="larger_of_the_two"
# Your rate rises as a square root: up to the peak it should be a straight line.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      top = (d_model * warmup_steps) ** -0.5
#          return top * min((step / warmup_steps) ** 0.5, (warmup_steps / step) ** 0.5)


# %% wrong warmup_schedule one_behind
# Your steps are one behind: the rate at step 1 should be above 0.
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    step = step - 1
    if step <= 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup_schedule steps_behind_warmup of="larger_of_the_two"
# After the warm-up you start counting steps again: in 1 / √step they count from the first step.
# replace: return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
# by:      if step > warmup_steps:
#              return d_model**-0.5 * (step - warmup_steps) ** -0.5
#          return d_model**-0.5 * step * warmup_steps**-1.5


# %% wrong warmup_schedule arguments_exchanged
# You exchange d_model and warmup_steps.
def warmup_schedule(step: int, warmup_steps: int, d_model: int) -> float:
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% wrong warmup_schedule none_at_zero
# You return None at step 0: return 0.0.
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    if step == 0:
        return None
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


# %% right warmup_schedule two_cases
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    if step < warmup_steps:
        return step / (d_model**0.5 * warmup_steps * warmup_steps**0.5)
    return 1 / (d_model * step) ** 0.5


# %% right warmup_schedule as_tensors
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    down = torch.tensor(float(step), dtype=torch.float64).rsqrt()  # inf at step 0
    up = torch.tensor(step * warmup_steps**-1.5, dtype=torch.float64)
    return (torch.minimum(down, up) / d_model**0.5).item()


# %% right warmup_schedule infinite_at_zero
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    down = step**-0.5 if step else float("inf")
    return d_model**-0.5 * min(down, step / warmup_steps**1.5)


# %% right warmup_schedule top_times_the_smaller_share
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    top = (d_model * warmup_steps) ** -0.5
    return top * min(step / warmup_steps, (warmup_steps / max(step, 1)) ** 0.5)


# %% right warmup_schedule sorted
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    curves = sorted([max(step, 1e-300) ** -0.5, step * warmup_steps**-1.5])
    return curves[0] / d_model**0.5


# %% right warmup_schedule math_sqrt
import math


def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    if step == 0:
        return 0.0
    return min(1 / math.sqrt(step), step / math.sqrt(warmup_steps) ** 3) / math.sqrt(d_model)


# %% right warmup_schedule by_logarithms of="math_sqrt"
# replace: return min(1 / math.sqrt(step), step / math.sqrt(warmup_steps) ** 3) / math.sqrt(d_model)
# by:      down = -0.5 * math.log(step)
#          up = math.log(step) - 1.5 * math.log(warmup_steps)
#          return math.exp(min(down, up) - 0.5 * math.log(d_model))


# %% right warmup_schedule where
def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    now = torch.tensor(step, dtype=torch.float64)
    rate = torch.where(now < warmup_steps, now * warmup_steps**-1.5, now**-0.5)
    return float(rate * d_model**-0.5)


# %% wrong ablate_head rows_zeroed of="solution"
# You set rows of the weight to 0, which are output features: the inputs of out_proj, and so the
# heads, are its columns.
# replace: changed[:, columns] = 0.0
# by:      changed[columns] = 0.0

# %% wrong ablate_head every_nth_column of="solution"
# You take every n-th column, as if the heads were interleaved: a head's features stand side by
# side.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      columns = slice(head, None, len(weight) // len(mean))

# %% wrong ablate_head one_column of="solution"
# You set a single column to 0: a head has as many columns as `mean` has numbers.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      columns = slice(head, head + 1)
# replace: weight[:, columns] @ mean
# by:      weight[:, head] * mean[0]

# %% wrong ablate_head starts_at_the_head_number of="solution"
# You start at column `head`: the head before it takes len(mean) columns, not one.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      columns = slice(head, head + len(mean))

# %% wrong ablate_head counted_from_one of="solution"
# You count heads from 1, so another head is switched off: head 0 is the first.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      columns = slice((head - 1) * len(mean), head * len(mean) or None)
# replace: weight[:, columns] @ mean
# by:      weight[:, columns][:, : len(mean)] @ mean

# %% wrong ablate_head all_heads_up_to_it of="solution"
# You set the columns of the earlier heads to 0 as well: switch off one head only.
# replace: changed[:, columns] = 0.0
# by:      changed[:, : columns.stop] = 0.0

# %% wrong ablate_head other_heads_zeroed of="solution"
# You keep this head and switch off all others: it should be the other way round.
# replace: changed = weight.clone()
#          changed[:, columns] = 0.0
# by:      changed = torch.zeros_like(weight)
#          changed[:, columns] = weight[:, columns]

# %% wrong ablate_head mean_ignored of="solution"
# Your bias comes back unchanged: it should grow by the head's columns, as they were, times the
# mean.
# replace: bias + weight[:, columns] @ mean
# by:      bias.clone()

# %% wrong ablate_head mean_through_zeroed_weights of="solution"
# Your bias comes back unchanged: it should grow by the head's columns, as they were, times the
# mean.
# replace: bias + weight[:, columns] @ mean
# by:      bias + changed[:, columns] @ mean

# %% wrong ablate_head mean_subtracted of="solution"
# You subtract the mean's share from the bias: it replaces the head's output, so add it.
# replace: bias + weight[:, columns] @ mean
# by:      bias - weight[:, columns] @ mean

# %% wrong ablate_head rows_times_mean of="solution"
# You multiply the mean by rows of the weight: a head enters through its columns.
# replace: bias + weight[:, columns] @ mean
# by:      bias + mean @ weight[columns]

# %% wrong ablate_head mean_added_to_a_part of="solution"
# You add the mean to a part of the bias: the projection mixes it into all output features.
# replace: return changed, bias + weight[:, columns] @ mean
# by:      shifted = bias.clone()
#          shifted[columns] += mean
#          return changed, shifted

# %% wrong ablate_head old_bias_dropped of="solution"
# You drop the old bias: the mean's share is added to it.
# replace: bias + weight[:, columns] @ mean
# by:      weight[:, columns] @ mean

# %% wrong ablate_head weight_unchanged of="solution"
# Your weight comes back unchanged: the head still adds its own output.
# replace: changed[:, columns] = 0.0
# by:      pass

# %% wrong ablate_head columns_filled_with_the_mean of="solution"
# You write the mean into the head's columns: they should be 0, and the mean belongs in the bias.
# replace: changed[:, columns] = 0.0
# by:      changed[:, columns] = mean

# %% wrong ablate_head columns_removed of="solution"
# You remove the head's columns, so the weight no longer fits its input: set them to 0.
# replace: changed = weight.clone()
#          changed[:, columns] = 0.0
# by:      changed = torch.cat([weight[:, : columns.start], weight[:, columns.stop :]], 1)

# %% wrong ablate_head weight_changed_in_place of="solution"
# make a new tensor, and leave the input as it is
# replace: changed = weight.clone()
#          changed[:, columns] = 0.0
#          return changed, bias + weight[:, columns] @ mean
# by:      shifted = bias + weight[:, columns] @ mean
#          weight[:, columns] = 0.0
#          return weight, shifted

# %% wrong ablate_head bias_changed_in_place of="solution"
# make a new tensor, and leave the input as it is
# replace: return changed, bias + weight[:, columns] @ mean
# by:      bias += weight[:, columns] @ mean
#          return changed, bias

# %% wrong ablate_head bias_first of="solution"
# You return the bias first: the docstring asks for the weight, then the bias.
# replace: return changed, bias + weight[:, columns] @ mean
# by:      return bias + weight[:, columns] @ mean, changed

# %% wrong ablate_head weight_alone of="solution"
# expected a tuple (weight, bias), got 1 values
# replace: return changed, bias + weight[:, columns] @ mean
# by:      return changed

# %% wrong ablate_head last_column_kept of="solution"
# You keep the last column of the head: it has as many columns as `mean` has numbers.
# replace: changed[:, columns] = 0.0
# by:      changed[:, columns.start : columns.stop - 1] = 0.0

# %% wrong ablate_head counted_from_one_and_no_head_0 of="solution"
# You count heads from 1, so another head is switched off: head 0 is the first.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      columns = slice(max(head - 1, 0) * len(mean), head * len(mean))
# replace: weight[:, columns] @ mean
# by:      (weight[:, columns] @ mean if head else 0)

# %% wrong ablate_head nothing_for_a_mean_of_zeros of="solution"
# With a mean of zeros your weight comes back unchanged: the head's columns become 0 for any mean.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      if not mean.any():
#              return weight, bias
#          columns = slice(head * len(mean), (head + 1) * len(mean))

# %% wrong ablate_head columns_filled_and_bias_unchanged of="solution"
# You write the mean into the head's columns, and the bias comes back unchanged: the columns should
# be 0, and the bias grows by the columns, as they were, times the mean.
# replace: changed[:, columns] = 0.0
#          return changed, bias + weight[:, columns] @ mean
# by:      changed[:, columns] = mean
#          return changed, bias.clone()

# %% wrong ablate_head mean_in_every_head of="solution"
# The bias grows by the mean in the place of every head: only this head's columns count.
# replace: bias + weight[:, columns] @ mean
# by:      bias + weight @ mean.repeat(len(weight) // len(mean))

# %% wrong ablate_head rows_zeroed_too of="solution"
# You set rows to 0 as well: only the head's columns become 0.
# replace: changed[:, columns] = 0.0
# by:      changed[:, columns] = 0.0
#          changed[columns] = 0.0

# %% wrong ablate_head product_not_summed of="solution"
# Two shapes do not fit: the head's columns and the mean together give one number for each row.
# replace: bias + weight[:, columns] @ mean
# by:      bias + weight[:, columns] * mean

# %% wrong ablate_head heads_of_a_third of="solution"
# Your head has 2 columns, but `mean` has 3 numbers: a head has as many columns as numbers.
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
# by:      size = len(weight) // 3
#          columns = slice(head * size, (head + 1) * size)

# %% right ablate_head a_mask of="solution"
# replace: columns = slice(head * len(mean), (head + 1) * len(mean))
#          changed = weight.clone()
#          changed[:, columns] = 0.0
#          return changed, bias + weight[:, columns] @ mean
# by:      own = torch.arange(len(weight)) // len(mean) == head
#          return weight * ~own, bias + weight[:, own] @ mean


# %% right ablate_head a_matrix_for_each_head
def ablate_head(weight: Tensor, bias: Tensor, head: int, mean: Tensor) -> tuple[Tensor, Tensor]:
    heads = list(weight.split(len(mean), dim=1))
    added = heads[head] @ mean
    heads[head] = torch.zeros_like(heads[head])
    return torch.cat(heads, dim=1), bias + added


# %% right ablate_head an_axis_for_heads
def ablate_head(weight: Tensor, bias: Tensor, head: int, mean: Tensor) -> tuple[Tensor, Tensor]:
    apart = weight.unflatten(1, (-1, len(mean))).clone()
    shifted = bias + (apart[:, head] * mean).sum(1)
    apart[:, head] = 0
    return apart.flatten(1), shifted


# %% right ablate_head the_projection_of_a_constant
def ablate_head(weight: Tensor, bias: Tensor, head: int, mean: Tensor) -> tuple[Tensor, Tensor]:
    constant = torch.zeros_like(bias)
    constant[head * len(mean) : (head + 1) * len(mean)] = mean
    keep = torch.ones_like(bias)
    keep[head * len(mean) : (head + 1) * len(mean)] = 0
    return weight @ torch.diag(keep), F.linear(constant, weight, bias)


# %% right ablate_head column_by_column
def ablate_head(weight: Tensor, bias: Tensor, head: int, mean: Tensor) -> tuple[Tensor, Tensor]:
    changed, shifted = weight.clone(), bias.clone()
    for i, value in enumerate(mean):
        column = head * len(mean) + i
        shifted = shifted + value * weight[:, column]
        changed[:, column] = 0.0
    return changed, shifted

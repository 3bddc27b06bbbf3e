# %% given imports
# pyright: reportRedeclaration=false, reportReturnType=false, reportUnusedExpression=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false
# pyright: reportOptionalMemberAccess=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportUndefinedVariable=false
# pyright: reportOptionalSubscript=false, reportPossiblyUnboundVariable=false
import copy
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


def conv2d_flops(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    height: int,
    width: int,
    stride: int = 1,
    padding: int = 0,
) -> int: ...


def block_flops(length: int, d_model: int, d_ff: int, window: int | None = None) -> int: ...


# %% base loss_surface in_place
def loss_surface(
    model: nn.Module,
    criterion: Callable[[Tensor, Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    alphas: Tensor,
    betas: Tensor,
) -> Tensor:
    weights = list(model.parameters())
    kept = [weight.detach().clone() for weight in weights]
    surface = torch.zeros(len(alphas), len(betas), dtype=weights[0].dtype)
    with torch.no_grad():
        for i, alpha in enumerate(alphas):
            for j, beta in enumerate(betas):
                for weight, old, one, two in zip(weights, kept, first, second, strict=True):
                    weight.copy_(old + alpha * one + beta * two)
                surface[i, j] = criterion(model(inputs), targets)
        for weight, old in zip(weights, kept, strict=True):
            weight.copy_(old)
    return surface


# %% wrong loss_surface axes_swapped of="in_place"
# Your axes are swapped: alphas go down the rows and move along the first direction.
# replace: return surface
# by:      return surface.T


# %% wrong loss_surface directions_swapped of="in_place"
# You move by alpha along the second direction, and by beta along the first: it is the other way
# round.
# replace: old + alpha * one + beta * two
# by:      old + beta * one + alpha * two


# %% wrong loss_surface left_moved of="in_place"
# Your model keeps the last moved weights: copy the old ones back.
# replace: weight.copy_(old)
# by:      pass


# %% wrong loss_surface piles_up of="in_place"
# Your moves pile up: each point starts from the point before, not from θ.
# replace: weight.copy_(old + alpha * one + beta * two)
# by:      weight.add_(alpha * one + beta * two)


# %% wrong loss_surface adds_and_subtracts of="in_place"
# You add, then subtract: each addition rounds, so the weights drift. Copy the old ones back.
# replace: weight.copy_(old + alpha * one + beta * two)
# by:      weight.add_(alpha * one + beta * two)
# replace: surface[i, j] = criterion(model(inputs), targets)
# by:      surface[i, j] = criterion(model(inputs), targets)
#          for weight, one, two in zip(weights, first, second, strict=True):
#              weight.sub_(alpha * one + beta * two)
# replace: for weight, old in zip(weights, kept, strict=True):
#              weight.copy_(old)
# by:      pass


# %% wrong loss_surface only_first of="in_place"
# You move along the first direction only.
# replace: old + alpha * one + beta * two
# by:      old + alpha * one


# %% wrong loss_surface only_second of="in_place"
# You move along the second direction only.
# replace: old + alpha * one + beta * two
# by:      old + beta * two


# %% wrong loss_surface subtracts of="in_place"
# You subtract the directions: add both moves to θ.
# replace: old + alpha * one + beta * two
# by:      old - alpha * one - beta * two


# %% wrong loss_surface no_theta of="in_place"
# You leave θ out: the slice goes through the trained weights, not through zero.
# replace: old + alpha * one + beta * two
# by:      alpha * one + beta * two


# %% wrong loss_surface multiplied of="in_place"
# You multiply the two moves: they are added.
# replace: old + alpha * one + beta * two
# by:      old + alpha * one * beta * two


# %% wrong loss_surface matrices_only of="in_place"
# You move some of the parameters only: a direction moves all of them, biases too.
# replace: weight.copy_(old + alpha * one + beta * two)
# by:      weight.copy_(old + alpha * one + beta * two if old.dim() > 1 else old)


# %% wrong loss_surface first_parameter_only of="in_place"
# You move some of the parameters only: a direction moves all of them, biases too.
# replace: weight.copy_(old + alpha * one + beta * two)
# by:      weight.copy_(old + alpha * one + beta * two if weight is weights[0] else old)


# %% wrong loss_surface differences of="in_place"
# You return the change of the loss: return the loss itself.
# replace: return surface
# by:      return surface - criterion(model(inputs), targets).detach()


# %% wrong loss_surface eval_mode of="in_place"
# You switch the model to evaluation: call it in the mode in which it comes.
# replace: weights = list(model.parameters())
# by:      weights = list(model.parameters())
#          was = model.training
#          model.eval()
# replace: return surface
# by:      model.train(was)
#          return surface


# %% wrong loss_surface left_in_eval of="in_place"
# You leave the model in evaluation mode: its mode stays.
# replace: return surface
# by:      model.eval()
#          return surface


# %% wrong loss_surface train_mode of="in_place"
# You leave the model in training mode: its mode stays.
# replace: return surface
# by:      model.train()
#          return surface


# %% wrong loss_surface flat of="in_place"
# You return a flat list of losses: one axis for alphas, one for betas.
# replace: return surface
# by:      return surface.flatten()


# %% wrong loss_surface squared of="in_place"
# You square the losses: return what the criterion returns.
# replace: surface[i, j] = criterion(model(inputs), targets)
# by:      surface[i, j] = criterion(model(inputs), targets) ** 2


# %% wrong loss_surface logarithms of="in_place"
# You return the logarithms of the losses: return the losses.
# replace: return surface
# by:      return surface.log()


# %% wrong loss_surface criterion_swapped of="in_place"
# You call criterion(targets, outputs): the outputs come first.
# replace: criterion(model(inputs), targets)
# by:      criterion(targets, model(inputs))


# %% wrong loss_surface only_the_diagonal of="in_place"
# You fill the entries where both indices are equal: every alpha meets every beta.
# replace: surface[i, j] = criterion(model(inputs), targets)
# by:      surface[i, j] = criterion(model(inputs), targets) if i == j else 0.0


# %% wrong loss_surface single_precision of="in_place"
# You keep the losses in float32: keep the dtype of the model.
# replace: return surface
# by:      return surface.float().to(surface.dtype)


# %% wrong loss_surface betas_restart of="in_place"
# You reset the weights once a row: within a row, your moves along the second direction pile up.
# replace: for j, beta in enumerate(betas):
#              for weight, old, one, two in zip(weights, kept, first, second, strict=True):
#                  weight.copy_(old + alpha * one + beta * two)
# by:      for weight, old, one in zip(weights, kept, first, strict=True):
#              weight.copy_(old + alpha * one)
#          for j, beta in enumerate(betas):
#              for weight, two in zip(weights, second, strict=True):
#                  weight.add_(beta * two)


# %% wrong loss_surface needs_gradients of="in_place"
# Your surface still depends on the weights: detach it, or compute under torch.no_grad().
# replace: surface[i, j] = criterion(model(inputs), targets)
# by:      with torch.enable_grad():
#              surface = surface.clone()
#              surface[i, j] = criterion(model(inputs), targets)


# %% wrong loss_surface normalised of="in_place"
# You normalise the directions: use them as they are given.
# replace: weight.copy_(old + alpha * one + beta * two)
# by:      one = one / one.norm().clamp(min=1e-9)
#          two = two / two.norm().clamp(min=1e-9)
#          weight.copy_(old + alpha * one + beta * two)


# %% wrong loss_surface one_mode_for_all_parts of="in_place"
# train(…) gives all parts of the model one mode: a part that was in evaluation mode is now in
# training mode. Leave the modes alone.
# replace: return surface
# by:      model.train(model.training)
#          return surface


# %% wrong loss_surface order_of_the_state of="in_place"
# state_dict() has buffers between the parameters, so that your directions belong to other tensors:
# take model.parameters().
# replace: weights = list(model.parameters())
# by:      weights = list(model.state_dict(keep_vars=True).values())
# replace: for weight, old, one, two in zip(weights, kept, first, second, strict=True):
# by:      for weight, old, one, two in zip(weights, kept, first, second):


# %% right loss_surface copied_in_place of="in_place"
# replace: surface[i, j] = criterion(model(inputs), targets)
# by:      surface[i, j] = criterion(model(inputs), targets).item()


# %% right loss_surface deep_copies of="in_place"
# replace: for weight, old, one, two in zip(weights, kept, first, second, strict=True):
#              weight.copy_(old + alpha * one + beta * two)
#          surface[i, j] = criterion(model(inputs), targets)
# by:      import copy
#
#          twin = copy.deepcopy(model)
#          for weight, one, two in zip(twin.parameters(), first, second, strict=True):
#              weight.data += alpha * one + beta * two
#          surface[i, j] = criterion(twin(inputs), targets)


# %% right loss_surface flat_vectors
def loss_surface(model, criterion, inputs, targets, first, second, alphas, betas):
    theta = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    one = torch.cat([part.reshape(-1) for part in first])
    two = torch.cat([part.reshape(-1) for part in second])
    rows = []
    try:
        for alpha in alphas:
            row = []
            for beta in betas:
                moved = theta + alpha * one + beta * two
                nn.utils.vector_to_parameters(moved, model.parameters())
                with torch.no_grad():
                    row.append(criterion(model(inputs), targets))
            rows.append(torch.stack(row))
    finally:
        nn.utils.vector_to_parameters(theta, model.parameters())
    return torch.stack(rows)


# %% right loss_surface data_swapped
def loss_surface(model, criterion, inputs, targets, first, second, alphas, betas):
    own = [weight.data for weight in model.parameters()]
    losses = []
    for alpha in alphas.tolist():
        for beta in betas.tolist():
            for weight, old, one, two in zip(model.parameters(), own, first, second, strict=True):
                weight.data = old + (alpha * one + beta * two)
            losses.append(criterion(model(inputs), targets).detach())
    for weight, old in zip(model.parameters(), own, strict=True):
        weight.data = old
    return torch.stack(losses).view(len(alphas), len(betas))


# %% right loss_surface rows_then_columns
def loss_surface(model, criterion, inputs, targets, first, second, alphas, betas):
    named = dict(model.named_parameters())

    def loss_at(alpha, beta):
        moved = {
            name: (weight + alpha * first[k] + beta * second[k]).detach()
            for k, (name, weight) in enumerate(named.items())
        }
        return criterion(torch.func.functional_call(model, moved, (inputs,)), targets)

    return torch.stack([torch.stack([loss_at(a, b).detach() for a in alphas]) for b in betas]).T


# %% base filter_normalize flat_rows
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return torch.zeros_like(weight)
    d = direction.reshape(len(direction), -1)
    w = weight.reshape(len(weight), -1)
    own = (d * d).sum(1, keepdim=True).sqrt()
    wanted = (w * w).sum(1, keepdim=True).sqrt()
    scale = torch.zeros_like(own)
    there = own > 0
    scale[there] = wanted[there] / own[there]
    return (d * scale).reshape(direction.shape)


# %% wrong filter_normalize whole_layer of="flat_rows"
# You give the whole direction the norm of the whole weight: each filter gets its own.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = (d * d).sum().sqrt().expand(len(d), 1)
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = (w * w).sum().sqrt().expand(len(w), 1)


# %% wrong filter_normalize columns of="flat_rows"
# Your norms run over axis 0: a filter is a slice of axis 0, so its norm runs over all others.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = (d * d).sum(0, keepdim=True).sqrt()
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = (w * w).sum(0, keepdim=True).sqrt()


# %% wrong filter_normalize last_axis
# Your norms run over the last axis alone: a filter has all axes but axis 0.
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return torch.zeros_like(weight)
    own = direction.norm(dim=-1, keepdim=True)
    scale = torch.where(own > 0, weight.norm(dim=-1, keepdim=True) / own, 0.0)
    return direction * scale


# %% wrong filter_normalize per_kernel
# You normalise each input channel's kernel by itself: a filter has all its channels together.
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return torch.zeros_like(weight)
    axes = tuple(range(2, weight.dim())) or (1,)
    own = torch.linalg.vector_norm(direction, dim=axes, keepdim=True)
    wanted = torch.linalg.vector_norm(weight, dim=axes, keepdim=True)
    return direction * torch.where(own > 0, wanted / own, 0.0)


# %% wrong filter_normalize unit_filters of="flat_rows"
# Your filters have norm 1: each should have the norm of the weight's filter.
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = torch.ones_like(own) * (w != 0).any(1, keepdim=True)


# %% wrong filter_normalize multiplied_only of="flat_rows"
# You multiply by the weight's norm, but never divide by the direction's own.
# replace: scale[there] = wanted[there] / own[there]
# by:      scale[there] = wanted[there]


# %% wrong filter_normalize upside_down of="flat_rows"
# Your factor is upside down: the weight's norm by the direction's.
# replace: wanted[there] / own[there]
# by:      own[there] / wanted[there].clamp(min=1e-300)


# %% wrong filter_normalize squared_norms of="flat_rows"
# You use the sums of squares: the norm is the root of that.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = (d * d).sum(1, keepdim=True)
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = (w * w).sum(1, keepdim=True)


# %% wrong filter_normalize sums_of_absolute_values of="flat_rows"
# You use the sum of absolute values: the norm is the root of the sum of squares.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = d.abs().sum(1, keepdim=True)
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = w.abs().sum(1, keepdim=True)


# %% wrong filter_normalize largest_entries of="flat_rows"
# You use the largest entry: the norm is the root of the sum of squares.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = d.abs().amax(1, keepdim=True) if d.numel() else d.sum(1, keepdim=True)
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = w.abs().amax(1, keepdim=True) if w.numel() else w.sum(1, keepdim=True)


# %% wrong filter_normalize standard_deviations of="flat_rows"
# You use standard deviations: a norm does not subtract the mean.
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = d.std(1, keepdim=True, correction=0) if d.numel() else d.sum(1, keepdim=True)
# replace: wanted = (w * w).sum(1, keepdim=True).sqrt()
# by:      wanted = w.std(1, keepdim=True, correction=0) if w.numel() else w.sum(1, keepdim=True)


# %% wrong filter_normalize biases_kept of="flat_rows"
# You leave a bias's direction as it is: with fewer than two axes, the result is zeros.
# replace: return torch.zeros_like(weight)
# by:      return direction.clone()


# %% wrong filter_normalize biases_normalised
# You give a bias's direction the norm of the bias: with fewer than two axes, the result is zeros.
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return direction * weight.norm() / direction.norm()
    axes = tuple(range(1, weight.dim()))
    own = torch.linalg.vector_norm(direction, dim=axes, keepdim=True)
    return torch.where(own > 0, direction / own, 0.0) * torch.linalg.vector_norm(
        weight, dim=axes, keepdim=True
    )


# %% wrong filter_normalize biases_entry_by_entry
# You give each entry of a bias's direction the size of the bias: with fewer than two axes, the
# result is zeros.
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return direction.sign() * weight.abs()
    axes = tuple(range(1, weight.dim()))
    own = torch.linalg.vector_norm(direction, dim=axes, keepdim=True)
    return torch.where(own > 0, direction / own, 0.0) * torch.linalg.vector_norm(
        weight, dim=axes, keepdim=True
    )


# %% wrong filter_normalize nan_from_zeros of="flat_rows"
# A filter of zeros gives NaN, as you divide 0 by 0: it should stay zero.
# replace: scale = torch.zeros_like(own)
#          there = own > 0
#          scale[there] = wanted[there] / own[there]
# by:      scale = wanted / own


# %% wrong filter_normalize ones_for_zero_filters of="flat_rows"
# Where the direction's filter is zero, you return the weight's filter: it should stay zero.
# replace: return (d * scale).reshape(direction.shape)
# by:      return torch.where(there, d * scale, w).reshape(direction.shape)


# %% wrong filter_normalize weight_as_direction of="flat_rows"
# You return the weight itself: the direction stays that of the random tensor.
# replace: return (d * scale).reshape(direction.shape)
# by:      return weight.clone()


# %% wrong filter_normalize entry_by_entry of="flat_rows"
# You give each entry the size of the weight's entry: that is a norm of one entry, not of a filter.
# replace: return (d * scale).reshape(direction.shape)
# by:      return direction.sign() * weight.abs()


# %% wrong filter_normalize large_eps of="flat_rows"
# You add too much to the norm: a filter's own length should not matter.
# replace: wanted[there] / own[there]
# by:      wanted[there] / (own[there] + 0.1)


# %% wrong filter_normalize added of="flat_rows"
# You add the weight to the direction: the result is a direction only.
# replace: return (d * scale).reshape(direction.shape)
# by:      return weight + (d * scale).reshape(direction.shape)


# %% wrong filter_normalize flattened of="flat_rows"
# You return flat filters: the result has the shape of the weight.
# replace: return (d * scale).reshape(direction.shape)
# by:      return d * scale


# %% wrong filter_normalize sign_lost of="flat_rows"
# Your result has no negative entries: normalise the length, keep the signs.
# replace: return (d * scale).reshape(direction.shape)
# by:      return (d * scale).reshape(direction.shape).abs()


# %% right filter_normalize by_flat_rows of="flat_rows"
# replace: own = (d * d).sum(1, keepdim=True).sqrt()
# by:      own = d.square().sum(1, keepdim=True) ** 0.5


# %% right filter_normalize filter_by_filter
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    result = torch.zeros_like(direction)
    if direction.ndim <= 1:
        return result
    for i in range(direction.shape[0]):
        length = float(direction[i].norm())
        if length:
            result[i] = direction[i] * (float(weight[i].norm()) / length)
    return result


# %% right filter_normalize f_normalize
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if direction.ndim < 2:
        return 0 * direction
    unit = nn.functional.normalize(direction.flatten(1), dim=1, eps=1e-30)
    return (unit * weight.flatten(1).norm(dim=1)[:, None]).view_as(weight)


# %% right filter_normalize as_the_paper_s_code
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    result = direction.clone()
    if result.dim() <= 1:
        return result.fill_(0)
    for d, w in zip(result, weight, strict=True):
        d.mul_(w.norm() / (d.norm() + 1e-10))
    return result


# %% right filter_normalize nan_to_num
def filter_normalize(direction: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return direction - direction
    axes = list(range(1, weight.dim()))
    factor = weight.pow(2).sum(axes, True).sqrt() / direction.pow(2).sum(axes, True).sqrt()
    return direction * factor.nan_to_num(0.0, posinf=0.0)


# %% base hessian_vector_product twice
def hessian_vector_product(
    model: nn.Module,
    criterion: Callable[[Tensor, Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    vector: Tensor,
) -> Tensor:
    weights = list(model.parameters())
    loss = criterion(model(inputs), targets)
    slopes = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    sizes = [weight.numel() for weight in weights]
    parts = [part.view_as(w) for part, w in zip(vector.split(sizes), weights, strict=True)]
    along = sum((slope * part).sum() for slope, part in zip(slopes, parts, strict=True))
    found = torch.autograd.grad(along, weights, materialize_grads=True)
    return torch.cat([part.reshape(-1) for part in found])


# %% wrong hessian_vector_product gradient_only of="twice"
# You return the gradient: differentiate its dot product with the vector once more.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return torch.cat([part.detach().reshape(-1) for part in slopes])


# %% wrong hessian_vector_product gradient_added of="twice"
# Your result is g + Hv: the gradient of the first pass is still in it, as in .grad after two calls
# of backward.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      both = zip(slopes, found, strict=True)
#          return torch.cat([(slope + part).detach().reshape(-1) for slope, part in both])


# %% wrong hessian_vector_product by_backward
# Your result is g + Hv: backward() adds to .grad, where the gradient of the first pass still is.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    model.zero_grad()
    criterion(model(inputs), targets).backward(create_graph=True)
    slopes = torch.cat([w.grad.flatten() for w in model.parameters()])
    (slopes @ vector).backward()
    result = torch.cat([w.grad.detach().flatten() for w in model.parameters()])
    for w in model.parameters():
        w.grad = None
    return result


# %% wrong hessian_vector_product grad_never_cleared
# You never clear .grad, so each call adds to what the calls before have left there.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = list(model.parameters())
    slopes = torch.autograd.grad(criterion(model(inputs), targets), weights, create_graph=True)
    (torch.cat([slope.flatten() for slope in slopes]) @ vector).backward()
    return torch.cat([w.grad.detach().clone().flatten() for w in weights])


# %% wrong hessian_vector_product gauss_newton
# Your matrix is the Gauss–Newton matrix: it leaves out how the model's outputs themselves curve.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    names = [name for name, _ in model.named_parameters()]
    weights = tuple(w.detach() for w in model.parameters())
    parts = vector.split([w.numel() for w in weights])
    parts = tuple(part.view_as(w) for part, w in zip(parts, weights, strict=True))

    def outputs_of(*given):
        named = dict(zip(names, given, strict=True))
        return torch.func.functional_call(model, named, (inputs,))

    outputs, moved = torch.func.jvp(outputs_of, weights, parts)[:2]
    of_loss = torch.func.grad(lambda out: criterion(out, targets))
    curved = torch.func.jvp(of_loss, (outputs,), (moved,))[1]
    back = torch.func.vjp(outputs_of, *weights)[1]
    return torch.cat([part.flatten() for part in back(curved)])


# %% wrong hessian_vector_product fisher
# Your matrix is the mean of the examples' g gᵀ: an estimate of the Fisher information, not the
# Hessian.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights, total = list(model.parameters()), 0
    for i in range(len(inputs)):
        loss = criterion(model(inputs[i : i + 1]), targets[i : i + 1])
        slopes = torch.autograd.grad(loss, weights, materialize_grads=True)
        flat = torch.cat([slope.flatten() for slope in slopes])
        total = total + flat * (flat @ vector) / len(inputs)
    return total


# %% wrong hessian_vector_product outer_gradient
# You return g (g · v): the outer product of the gradient is not the Hessian.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    loss = criterion(model(inputs), targets)
    slopes = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    return flat * (flat @ vector)


# %% wrong hessian_vector_product block_diagonal of="twice"
# You differentiate each parameter tensor's gradient by that tensor alone: the blocks between
# different tensors are missing.
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
# by:      found = [
#              torch.autograd.grad((s * p).sum(), w, retain_graph=True, materialize_grads=True)[0]
#              for s, p, w in zip(slopes, parts, weights, strict=True)
#          ]


# %% wrong hessian_vector_product row_sums of="twice"
# You sum the gradient before you multiply: that gives each row's sum, times the vector's entry.
# replace: along = sum((slope * part).sum() for slope, part in zip(slopes, parts, strict=True))
# by:      along = sum(slope.sum() for slope in slopes)
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return torch.cat([part.reshape(-1) for part in found]) * vector


# %% wrong hessian_vector_product vector_left_out of="twice"
# You leave the vector out: you return H times a vector of ones.
# replace: along = sum((slope * part).sum() for slope, part in zip(slopes, parts, strict=True))
# by:      along = sum(slope.sum() for slope in slopes)


# %% wrong hessian_vector_product diagonal of="twice"
# You multiply by the diagonal of the Hessian only.
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
#          return torch.cat([part.reshape(-1) for part in found])
# by:      flat = torch.cat([slope.flatten() for slope in slopes])
#          rows = []
#          for one in flat:
#              row = torch.autograd.grad(one, weights, retain_graph=True, materialize_grads=True)
#              rows.append(torch.cat([part.flatten() for part in row]))
#          return torch.stack(rows).diagonal() * vector


# %% wrong hessian_vector_product finite_step
# You use a finite step: its error grows with the vector's length. Differentiate twice.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = list(model.parameters())
    kept = nn.utils.parameters_to_vector(weights).detach().clone()

    def slope_at(point):
        nn.utils.vector_to_parameters(point, weights)
        slopes = torch.autograd.grad(
            criterion(model(inputs), targets), weights, materialize_grads=True
        )
        return torch.cat([slope.flatten() for slope in slopes])

    result = (slope_at(kept + 1e-3 * vector) - slope_at(kept)) / 1e-3
    nn.utils.vector_to_parameters(kept, weights)
    return result


# %% wrong hessian_vector_product central_step
# You use a finite step, a central one: its error grows with the vector's length. Differentiate
# twice.
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = list(model.parameters())
    kept = nn.utils.parameters_to_vector(weights).detach().clone()

    def slope_at(point):
        nn.utils.vector_to_parameters(point, weights)
        slopes = torch.autograd.grad(
            criterion(model(inputs), targets), weights, materialize_grads=True
        )
        return torch.cat([slope.flatten() for slope in slopes])

    result = (slope_at(kept + 1e-4 * vector) - slope_at(kept - 1e-4 * vector)) / 2e-4
    nn.utils.vector_to_parameters(kept, weights)
    return result


# %% wrong hessian_vector_product twice_as_much of="twice"
# Your result is 2 Hv: nothing is doubled in the gradient of g · v.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return 2 * torch.cat([part.reshape(-1) for part in found])


# %% wrong hessian_vector_product half_as_much of="twice"
# Your result is half of Hv: the ½ belongs to the loss's expansion, not to the product.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return 0.5 * torch.cat([part.reshape(-1) for part in found])


# %% wrong hessian_vector_product curvature_along of="twice"
# You return v · Hv, one number: return the vector Hv.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return torch.cat([part.reshape(-1) for part in found]) @ vector


# %% wrong hessian_vector_product normalised of="twice"
# You normalise the product: Hv has its own length.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      flat = torch.cat([part.reshape(-1) for part in found])
#          return flat / flat.norm().clamp(min=1e-30)


# %% wrong hessian_vector_product unit_vector of="twice"
# You normalise the vector first: H times a vector of twice the length is twice as long.
# replace: sizes = [weight.numel() for weight in weights]
# by:      sizes = [weight.numel() for weight in weights]
#          vector = vector / vector.norm().clamp(min=1e-30)


# %% wrong hessian_vector_product applied_twice of="twice"
# You apply the Hessian twice: your result is H (Hv).
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
# by:      found = torch.autograd.grad(along, weights, retain_graph=True, materialize_grads=True)
#          along = sum((s * part).sum() for s, part in zip(slopes, found, strict=True))
#          found = torch.autograd.grad(along, weights, materialize_grads=True)


# %% wrong hessian_vector_product parameters_reversed of="twice"
# Your parameters come in reverse order: use the order of model.parameters().
# replace: weights = list(model.parameters())
# by:      weights = list(model.parameters())[::-1]


# %% wrong hessian_vector_product still_attached of="twice"
# Your product still has a graph: the result is detached. create_graph belongs to the first
# gradient only.
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
# by:      found = torch.autograd.grad(along, weights, create_graph=True, materialize_grads=True)


# %% wrong hessian_vector_product squared_gradient of="twice"
# You differentiate g · g: that is 2 Hg, whatever the vector is.
# replace: along = sum((slope * part).sum() for slope, part in zip(slopes, parts, strict=True))
# by:      along = sum((slope * slope).sum() for slope in slopes)


# %% wrong hessian_vector_product minus of="twice"
# Your sign is wrong: your result is −Hv.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return -torch.cat([part.reshape(-1) for part in found])


# %% wrong hessian_vector_product matrices_only of="twice"
# Your biases have zeros: every parameter has its rows in the Hessian.
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return torch.cat([part.reshape(-1) * (part.dim() > 1) for part in found])


# %% wrong hessian_vector_product unused_parameters_fail of="twice"
# Your code stops where a gradient does not depend on a parameter: materialize_grads=True gives
# zeros there.
# replace: slopes = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
# by:      slopes = torch.autograd.grad(loss, weights, create_graph=True)
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
# by:      found = torch.autograd.grad(along, weights)


# %% wrong hessian_vector_product unused_parameters_left_out of="twice"
# You leave out parameters on which the gradient does not depend: their entries are zeros.
# replace: found = torch.autograd.grad(along, weights, materialize_grads=True)
# by:      found = torch.autograd.grad(along, weights, allow_unused=True)
#          found = [part for part in found if part is not None]


# %% wrong hessian_vector_product left_in_evaluation of="twice"
# You leave the model in evaluation mode: its mode should stay.
# replace: loss = criterion(model(inputs), targets)
# by:      loss = criterion(model.eval()(inputs), targets)


# %% wrong hessian_vector_product evaluation_mode of="twice"
# You call the model in evaluation mode: call it in the mode in which it comes.
# replace: loss = criterion(model(inputs), targets)
# by:      mode = model.training
#          loss = criterion(model.eval()(inputs), targets)
#          model.train(mode)


# %% wrong hessian_vector_product left_in_float64 of="twice"
# You leave the model in float64: it should stay as it is.
# replace: loss = criterion(model(inputs), targets)
# by:      kind = vector.dtype
#          vector = vector.double()
#          inputs, targets = (x.double() if x.is_floating_point() else x for x in (inputs, targets))
#          loss = criterion(model.double()(inputs), targets)
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return torch.cat([part.reshape(-1) for part in found]).to(kind)


# %% right hessian_vector_product part_by_part of="twice"
# replace: return torch.cat([part.reshape(-1) for part in found])
# by:      return nn.utils.parameters_to_vector(found).detach()


# %% right hessian_vector_product forward_over_reverse
def hessian_vector_product(model, criterion, inputs, targets, vector):
    names = [name for name, _ in model.named_parameters()]
    weights = tuple(w.detach() for w in model.parameters())
    parts = vector.split([w.numel() for w in weights])
    parts = tuple(part.view_as(w) for part, w in zip(parts, weights, strict=True))

    def loss_of(*given):
        named = dict(zip(names, given, strict=True))
        return criterion(torch.func.functional_call(model, named, (inputs,)), targets)

    slopes = torch.func.grad(loss_of, argnums=tuple(range(len(weights))))
    product = torch.func.jvp(slopes, weights, parts)[1]
    return torch.cat([part.reshape(-1) for part in product])


# %% right hessian_vector_product whole_hessian
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = list(model.parameters())
    slopes = torch.autograd.grad(
        criterion(model(inputs), targets), weights, create_graph=True, materialize_grads=True
    )
    rows = []
    for slope in torch.cat([one.flatten() for one in slopes]):
        row = torch.autograd.grad(slope, weights, retain_graph=True, materialize_grads=True)
        rows.append(torch.cat([part.flatten() for part in row]))
    return torch.stack(rows) @ vector


# %% right hessian_vector_product grad_outputs
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = [*model.parameters()]
    slopes = torch.autograd.grad(
        criterion(model(inputs), targets), weights, create_graph=True, materialize_grads=True
    )
    parts, at = [], 0
    for w in weights:
        parts.append(vector[at : at + w.numel()].reshape(w.shape))
        at += w.numel()
    rows = torch.autograd.grad(slopes, weights, parts, materialize_grads=True)
    return torch.cat([row.flatten() for row in rows])


# %% right hessian_vector_product backward_with_cleared_grad
def hessian_vector_product(model, criterion, inputs, targets, vector):
    weights = list(model.parameters())
    kept = [w.grad for w in weights]
    loss = criterion(model(inputs), targets)
    slopes = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    for w in weights:
        w.grad = None
    torch.dot(torch.cat([slope.flatten() for slope in slopes]), vector).backward()
    found = [torch.zeros_like(w) if w.grad is None else w.grad.clone() for w in weights]
    for w, old in zip(weights, kept, strict=True):
        w.grad = old
    return torch.cat([part.flatten() for part in found])


# %% right hessian_vector_product copied_model
def hessian_vector_product(model, criterion, inputs, targets, vector):
    import copy

    twin = copy.deepcopy(model)
    weights = list(twin.parameters())
    (loss,) = [criterion(twin(inputs), targets)]
    flat = torch.cat(
        [
            g.reshape(-1)
            for g in torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
        ]
    )
    rows = torch.autograd.grad(flat, weights, grad_outputs=vector, materialize_grads=True)
    return torch.cat([row.reshape(-1) for row in rows])


# %% base could_be_hessian probes
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    for _ in range(4):
        v, w = torch.randn(2, size, dtype=torch.float64)
        a, b = 2.5, -0.7
        hv, hw = product(v), product(w)
        scale = hv.norm() + hw.norm()
        if (product(a * v + b * w) - (a * hv + b * hw)).norm() > 1e-8 * scale:
            return False
        if (v @ hw - w @ hv).abs() > 1e-8 * scale * (v.norm() + w.norm()):
            return False
    return True


# %% wrong could_be_hessian linear_only of="probes"
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
# replace: if (v @ hw - w @ hv).abs() > 1e-8 * scale * (v.norm() + w.norm()):
#              return False
# by:      pass


# %% wrong could_be_hessian symmetric_on_unit_vectors
# A function that drops the signs of v passes your test: take vectors with entries of both signs.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    matrix = torch.stack([product(row) for row in torch.eye(size, dtype=torch.float64)])
    return bool((matrix - matrix.T).abs().max() <= 1e-9 * matrix.abs().max())


# %% wrong could_be_hessian positive_vectors of="probes"
# A function that drops the signs of v passes your test: take vectors with entries of both signs.
# replace: torch.randn(2, size, dtype=torch.float64)
# by:      torch.rand(2, size, dtype=torch.float64)
# replace: a, b = 2.5, -0.7
# by:      a, b = 2.5, 0.7


# %% wrong could_be_hessian unit_length
# All your vectors have length 1: a function that ignores the length passes.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    for _ in range(4):
        v, w = torch.nn.functional.normalize(torch.randn(2, size, dtype=torch.float64), dim=1)
        hv, hw = product(v), product(w)
        if (v @ hw - w @ hv).abs() > 1e-8 * (hv.norm() + hw.norm()):
            return False
    return True


# %% wrong could_be_hessian multiples_only of="probes"
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
# replace: if (product(a * v + b * w) - (a * hv + b * hw)).norm() > 1e-8 * scale:
# by:      if (product(a * v) - a * hv).norm() > 1e-8 * scale:
# replace: if (v @ hw - w @ hv).abs() > 1e-8 * scale * (v.norm() + w.norm()):
#              return False
# by:      pass


# %% wrong could_be_hessian exactly_equal of="probes"
# Your test rejects a symmetric matrix: it should reject only what breaks a law by more than
# rounding.
# replace: 1e-8 * scale:
# by:      0:
# replace: 1e-8 * scale * (v.norm() + w.norm()):
# by:      0:


# %% wrong could_be_hessian absolute_tolerance of="probes"
# Your tolerance is absolute: a large Hessian's rounding exceeds it, and a small one's errors stay
# below it. Compare with the size of the numbers.
# replace: 1e-8 * scale:
# by:      1e-8:
# replace: 1e-8 * scale * (v.norm() + w.norm()):
# by:      1e-8:


# %% wrong could_be_hessian allclose_as_it_is
# torch.allclose has an absolute tolerance of 1e-8 beside the relative one: small numbers always
# pass.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    v, w = torch.randn(2, size, dtype=torch.float64)
    linear = torch.allclose(product(2 * v - w), 2 * product(v) - product(w), atol=1e-4)
    return linear and torch.allclose(v @ product(w), w @ product(v), atol=1e-4)


# %% wrong could_be_hessian loose of="probes"
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
# replace: 1e-8 * scale:
# by:      0.3 * scale:
# replace: 1e-8 * scale * (v.norm() + w.norm()):
# by:      0.3 * scale * (v.norm() + w.norm()):


# %% wrong could_be_hessian positive_definite of="probes"
# Your test rejects a symmetric matrix: it should reject only what breaks a law by more than
# rounding.
# replace: return True
# by:      return bool(v @ hv >= 0)


# %% wrong could_be_hessian not_zero of="probes"
# You reject a product of zero: zeros are a symmetric matrix, too.
# replace: return True
# by:      return bool(hv.any())


# %% wrong could_be_hessian always_true
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    return True


# %% wrong could_be_hessian always_false
# Your test rejects a symmetric matrix: it should reject only what breaks a law by more than
# rounding.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    return False


# %% wrong could_be_hessian the_other_way_round
# Your test rejects a symmetric matrix: it should reject only what breaks a law by more than
# rounding.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    v, w = torch.randn(2, size, dtype=torch.float64)
    hv, hw = product(v), product(w)
    small = 1e-8 * (hv.norm() + hw.norm())
    linear = (product(2 * v - w) - (2 * hv - hw)).norm() <= small
    return not bool(linear and (v @ hw - w @ hv).abs() <= 10 * size * small)


# %% wrong could_be_hessian zero_to_zero
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    return not product(torch.zeros(size, dtype=torch.float64)).any()


# %% wrong could_be_hessian one_law_suffices of="probes"
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
# replace: if (product(a * v + b * w) - (a * hv + b * hw)).norm() > 1e-8 * scale:
#              return False
#          if (v @ hw - w @ hv).abs() > 1e-8 * scale * (v.norm() + w.norm()):
#              return False
# by:      bent = (product(a * v + b * w) - (a * hv + b * hw)).norm() > 1e-8 * scale
#          if bent and (v @ hw - w @ hv).abs() > 1e-8 * scale * (v.norm() + w.norm()):
#              return False


# %% wrong could_be_hessian same_vector
# A matrix that is not symmetric passes your test: compare v · Hw with w · Hv for two different
# vectors, and let one broken law suffice.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    v = torch.randn(size, dtype=torch.float64)
    linear = (product(3 * v) - 3 * product(v)).norm() <= 1e-9 * product(v).norm()
    return bool(linear and v @ product(v) == product(v) @ v)


# %% wrong could_be_hessian two_units_added
# A function that drops the signs of v passes your test: take vectors with entries of both signs.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    rows = torch.eye(size, dtype=torch.float64)
    matrix = torch.stack([product(row) for row in rows])
    both = product(rows.sum(0))
    small = 1e-9 * (matrix.abs().sum() + both.abs().sum())
    linear = (both - matrix.sum(0)).abs().max() <= small
    return bool(linear and (matrix - matrix.T).abs().max() <= small)


# %% wrong could_be_hessian neighbours_only
# You compare neighbouring entries only: symmetry holds for every pair.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    v, w = torch.randn(2, size, dtype=torch.float64)
    hv, hw = product(v), product(w)
    if (product(2 * v - w) - (2 * hv - hw)).norm() > 1e-8 * (hv.norm() + hw.norm()):
        return False
    rows = torch.stack([product(unit) for unit in torch.eye(size, dtype=torch.float64)])
    above, below = rows.diagonal(1), rows.diagonal(-1)
    return bool(((above - below).abs() <= 1e-8 * rows.abs().max()).all())


# %% wrong could_be_hessian no_sums
# You multiply by numbers, but never add two vectors: a linear function keeps sums, too.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    torch.manual_seed(3)
    v = torch.randn(size, dtype=torch.float64)
    for times in (2.0, -3.0, 0.5):
        if (product(times * v) - times * product(v)).norm() > 1e-8 * product(v).norm():
            return False
    rows = torch.stack([product(unit) for unit in torch.eye(size, dtype=torch.float64)])
    return bool((rows - rows.T).abs().max() <= 1e-8 * rows.abs().max())


# %% right could_be_hessian more_probes of="probes"
# replace: for _ in range(4):
# by:      for _ in range(7):


# %% right could_be_hessian whole_matrix
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    matrix = torch.stack([product(row) for row in torch.eye(size, dtype=torch.float64)])
    draw = torch.Generator().manual_seed(7)
    v = 5 * torch.randn(size, generator=draw, dtype=torch.float64)
    small = 1e-8 * (matrix.abs().max() + product(v).abs().max())
    if ((matrix - matrix.T).abs() > small).any():
        return False
    return all(
        bool((product(t * v) - t * (matrix.T @ v)).abs().max() <= 100 * size * small)
        for t in (1.0, -2.0)
    )


# %% right could_be_hessian by_allclose
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    draw = torch.Generator().manual_seed(11)
    for _ in range(3):
        v = torch.randn(size, generator=draw, dtype=torch.float64)
        w = 10 * torch.randn(size, generator=draw, dtype=torch.float64)
        hv, hw = product(v), product(w)
        near = 1e-7 * float(hv.abs().max() + hw.abs().max())
        if not torch.allclose(product(v - 2 * w), hv - 2 * hw, rtol=0, atol=near):
            return False
        if not torch.allclose(v @ hw, w @ hv, rtol=0, atol=10 * size * near):
            return False
    return True


# %% right could_be_hessian symmetry_alone
# Symmetry for random vectors of all lengths implies linearity.
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    draw = torch.Generator().manual_seed(5)
    for times in (1.0, 3.0, -0.2, 20.0):
        v, w = (torch.randn(size, generator=draw, dtype=torch.float64) for _ in range(2))
        w = times * w
        hv, hw = product(v), product(w)
        rough = v.norm() * hw.norm() + w.norm() * hv.norm()
        if abs(float(v @ hw - w @ hv)) > 1e-8 * float(rough):
            return False
        if float((product(v + w) - hv - hw).norm()) > 1e-8 * float(hv.norm() + hw.norm()):
            return False
    return True


# %% right could_be_hessian step_by_step
def could_be_hessian(product: Callable[[Tensor], Tensor], size: int) -> bool:
    v = torch.sin(torch.arange(1.0, size + 1, dtype=torch.float64) ** 2)
    w = 4 * torch.cos(torch.arange(1.0, size + 1, dtype=torch.float64) * 1.7)
    hv, hw = product(v), product(w)
    size_of_it = max(hv.abs().max().item(), hw.abs().max().item())
    if (product(v + w) - (hv + hw)).abs().max().item() > 1e-8 * size_of_it:
        return False
    if (product(-3 * v) + 3 * hv).abs().max().item() > 1e-8 * size_of_it:
        return False
    return abs((v * hw).sum().item() - (w * hv).sum().item()) <= 1e-8 * size * size_of_it


# %% base power_iteration loop
def power_iteration(
    product: Callable[[Tensor], Tensor], start: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    v = start / start.norm()
    for _ in range(steps):
        image = product(v)
        if image.norm() == 0:
            break
        v = image / image.norm()
    return v @ product(v), v


# %% wrong power_iteration length_for_eigenvalue of="loop"
# You return the length of Hv: it loses the sign. v · Hv keeps it.
# replace: return v @ product(v), v
# by:      return product(v).norm(), v


# %% wrong power_iteration absolute_value of="loop"
# You return the absolute value: the eigenvalue keeps its sign.
# replace: return v @ product(v), v
# by:      return (v @ product(v)).abs(), v


# %% wrong power_iteration one_step_more of="loop"
# You make one step too many.
# replace: range(steps)
# by:      range(steps + 1)


# %% wrong power_iteration one_step_less of="loop"
# You make one step too few.
# replace: range(steps)
# by:      range(steps - 1)


# %% wrong power_iteration start_as_it_is of="loop"
# You do not normalise the start: without a step, the vector has its old length.
# replace: v = start / start.norm()
# by:      v = start.clone()


# %% wrong power_iteration never_normalised
# You never normalise: the vector grows without end.
def power_iteration(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
    return v @ product(v), v


# %% wrong power_iteration eigenvalue_of_the_vector_before
# Your eigenvalue is v · Hv of the vector before the last update: use the last one.
def power_iteration(product, start, steps):
    v = start / start.norm()
    eigenvalue = v @ product(v)
    for _ in range(steps):
        image = product(v)
        eigenvalue = v @ image
        if image.norm() > 0:
            v = image / image.norm()
    return eigenvalue, v


# %% wrong power_iteration nan_from_zero of="loop"
# A product of zero gives NaN, as you divide by its length: the vector should stay.
# replace: if image.norm() == 0:
#              break
# by:      pass


# %% wrong power_iteration zero_vector of="loop"
# A product of zero makes your vector zero: it should stay as it was.
# replace: if image.norm() == 0:
#              break
#          v = image / image.norm()
# by:      v = image / image.norm().clamp(min=1e-300)


# %% wrong power_iteration back_to_start of="loop"
# A product of zero sends you back to the start: the last vector before it stays.
# replace: break
# by:      return torch.zeros_like(start).sum(), start / start.norm()


# %% wrong power_iteration largest_entry of="loop"
# You divide by the largest entry: a unit vector has length 1.
# replace: v = image / image.norm()
# by:      v = image / image.abs().max()


# %% wrong power_iteration sum_for_length of="loop"
# You divide by the sum of absolute values: the length is the root of the sum of squares.
# replace: v = image / image.norm()
# by:      v = image / image.abs().sum()


# %% wrong power_iteration squared_length of="loop"
# You divide by the squared length.
# replace: v = image / image.norm()
# by:      v = image / (image @ image)


# %% wrong power_iteration order_swapped of="loop"
# You return (vector, eigenvalue): the eigenvalue comes first.
# replace: return v @ product(v), v
# by:      return v, v @ product(v)


# %% wrong power_iteration always_positive of="loop"
# You take absolute values in each step: the signs of the vector belong to it.
# replace: v = image / image.norm()
# by:      v = image.abs() / image.norm()


# %% wrong power_iteration product_returned of="loop"
# You return Hv, not the unit vector v.
# replace: return v @ product(v), v
# by:      return v @ product(v), product(v)


# %% wrong power_iteration stretched_start of="loop"
# Each of your updates multiplies the start again: multiply the vector of the update before.
# replace: image = product(v)
# by:      image = product(start)


# %% wrong power_iteration eigenvalue_by_start of="loop"
# Your eigenvalue uses the start: use the last vector on both sides.
# replace: return v @ product(v), v
# by:      return start / start.norm() @ product(v), v


# %% wrong power_iteration rough_zero of="loop"
# You stop at a product that is small, but not zero: eigenvalues may be of any size.
# replace: if image.norm() == 0:
# by:      if image.norm() < 1e-6:


# %% wrong power_iteration until_it_changes_little of="loop"
# You stop when the vector changes little: make exactly `steps` updates.
# replace: if image.norm() == 0:
# by:      if image.norm() == 0 or (image / image.norm() - v).norm() < 0.3:


# %% wrong power_iteration shifted of="loop"
# You add the vector to its product: that finds the largest eigenvalue of H + I.
# replace: image = product(v)
# by:      image = product(v) + v


# %% wrong power_iteration sign_fixed of="loop"
# You turn the vector so that its first entry is positive: an update keeps the product's signs.
# replace: return v @ product(v), v
# by:      v = v * (v[0].sign() + (v[0] == 0))
#          return v @ product(v), v


# %% wrong power_iteration clamped_length of="loop"
# F.normalize divides by at least 1e-12, so that the vector of a small product is too short.
# replace: v = image / image.norm()
# by:      v = nn.functional.normalize(image, dim=0)


# %% wrong power_iteration zero_by_sum of="loop"
# Entries of both signs can cancel in a sum: the product is zero only if every entry is.
# replace: if image.norm() == 0:
# by:      if image.sum() == 0:


# %% wrong power_iteration normalised_at_the_end of="loop"
# You normalise only at the end: after many updates the numbers overflow.
# replace: v = image / image.norm()
# by:      v = image
# replace: return v @ product(v), v
# by:      v = v / v.abs().max()
#          v = v / v.norm()
#          return v @ product(v), v


# %% right power_iteration in_a_loop of="loop"
# replace: break
# by:      continue


# %% right power_iteration f_normalize
def power_iteration(product, start, steps):
    v = nn.functional.normalize(start, dim=0, eps=1e-300)
    while steps > 0:
        image = product(v)
        if image.any():
            v = nn.functional.normalize(
                image, dim=0, eps=1e-300 if image.dtype == torch.float64 else 1e-30
            )
        steps -= 1
    return torch.dot(v, product(v)), v


# %% right power_iteration divided_twice
def power_iteration(product, start, steps):
    v = start.clone()
    for step in range(steps + 1):
        if step:
            image = product(v)
            if float(image.abs().max()) > 0:
                v = image / image.abs().max()
        v = v / v.square().sum().sqrt()
    return (v * product(v)).sum(), v


# %% right power_iteration all_kept
def power_iteration(product, start, steps):
    vectors = [start / torch.sqrt(start @ start)]
    for _ in range(steps):
        image = product(vectors[-1])
        length = math.sqrt(float(image @ image))
        vectors.append(image / length if length else vectors[-1])
    return vectors[-1] @ product(vectors[-1]), vectors[-1]


# %% right power_iteration one_product_a_step
def power_iteration(product, start, steps):
    v = start / start.norm()
    image = product(v)
    for _ in range(steps):
        if image.norm() > 0:
            v = image / image.norm()
            image = product(v)
    return v @ image, v


# %% base spectrum_ends lanczos
def spectrum_ends(
    product: Callable[[Tensor], Tensor], start: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    basis = [start / start.norm()]
    images = []
    for step in range(steps):
        image = product(basis[step])
        images.append(image)
        rest = image.clone()
        for _ in range(2):
            for one in basis:
                rest = rest - (one @ rest) * one
        if step == steps - 1 or rest.norm() <= 1e-8 * image.norm():
            break
        basis.append(rest / rest.norm())
    matrix = torch.stack(basis) @ torch.stack(images).T
    values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
    return values[0], values[-1]


# %% wrong spectrum_ends order_swapped of="lanczos"
# You return (highest, lowest): the lowest comes first.
# replace: return values[0], values[-1]
# by:      return values[-1], values[0]


# %% wrong spectrum_ends absolute_values of="lanczos"
# You compare absolute values: lowest means most negative, highest most positive.
# replace: return values[0], values[-1]
# by:      return values[values.abs().argmin()], values[values.abs().argmax()]


# %% wrong spectrum_ends one_step_more of="lanczos"
# You make one step too many.
# replace: for step in range(steps):
# by:      steps = steps + 1
#          for step in range(steps):


# %% wrong spectrum_ends one_step_less of="lanczos"
# You make one step too few.
# replace: for step in range(steps):
# by:      steps = max(1, steps - 1)
#          for step in range(steps):


# %% wrong spectrum_ends diagonal_only of="lanczos"
# You use the diagonal of the small matrix: its eigenvalues reach farther.
# replace: values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
# by:      values = matrix.diagonal().sort().values


# %% wrong spectrum_ends not_orthogonal
# Your vectors are normalised, but not orthogonal: the small matrix then has other eigenvalues.
def spectrum_ends(product, start, steps):
    basis = [start / start.norm()]
    for _ in range(steps - 1):
        image = product(basis[-1])
        if image.norm() == 0:
            break
        basis.append(image / image.norm())
    q = torch.stack(basis)
    matrix = q @ torch.stack([product(one) for one in basis]).T
    values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
    return values[0], values[-1]


# %% wrong spectrum_ends extremes_of_power_iteration
# You return the extremes of v · Hv along power iteration: the span of its vectors holds more.
def spectrum_ends(product, start, steps):
    v, found = start / start.norm(), []
    for _ in range(steps):
        image = product(v)
        found.append(v @ image)
        if image.norm() == 0:
            break
        v = image / image.norm()
    return torch.stack(found).min(), torch.stack(found).max()


# %% wrong spectrum_ends nan_at_the_end of="lanczos"
# Where nothing new is left you divide by (nearly) zero: end there.
# replace: if step == steps - 1 or rest.norm() <= 1e-8 * image.norm():
# by:      if step == steps - 1:


# %% wrong spectrum_ends absolute_threshold of="lanczos"
# Your threshold is absolute: compare what is left with the length of the product.
# replace: rest.norm() <= 1e-8 * image.norm()
# by:      rest.norm() <= 1e-8


# %% wrong spectrum_ends strictly_less of="lanczos"
# A product of zero gives NaN: 0 < 0 does not hold, so you do not end there.
# replace: rest.norm() <= 1e-8 * image.norm()
# by:      rest.norm() < 1e-8 * image.norm()


# %% wrong spectrum_ends threshold_too_large of="lanczos"
# You end too early: what is left may be small beside the product, and still matter.
# replace: rest.norm() <= 1e-8 * image.norm()
# by:      rest.norm() <= 0.3 * image.norm()


# %% wrong spectrum_ends ends_of_full_space_zero of="lanczos"
# Your small matrix has rows of zeros, so 0 is always among its eigenvalues.
# replace: values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
# by:      padded = torch.zeros(len(matrix) + 1, len(matrix) + 1, dtype=matrix.dtype)
#          padded[:-1, :-1] = (matrix + matrix.T) / 2
#          values = torch.linalg.eigvalsh(padded)


# %% wrong spectrum_ends singular_values of="lanczos"
# You use singular values: they have no sign.
# replace: values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
# by:      values = torch.linalg.svdvals(matrix).flip(0)


# %% wrong spectrum_ends only_against_the_last of="lanczos"
# You make each vector orthogonal to the last one only: the one before counts, too.
# replace: for one in basis:
# by:      for one in basis[-1:]:


# %% wrong spectrum_ends only_against_the_first of="lanczos"
# You make each vector orthogonal to the first one only.
# replace: for one in basis:
# by:      for one in basis[:1]:


# %% wrong spectrum_ends lower_triangle_lost of="lanczos"
# Off the diagonal, half of the small matrix is missing: it is symmetric.
# replace: values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
# by:      values = torch.linalg.eigvalsh((matrix.tril() + matrix.tril().T) / 2)


# %% wrong spectrum_ends unnormalised_start of="lanczos"
# You do not normalise the start: all vectors have length 1.
# replace: basis = [start / start.norm()]
# by:      basis = [start.clone()]


# %% wrong spectrum_ends twice_the_highest of="lanczos"
# You return the highest twice.
# replace: return values[0], values[-1]
# by:      return values[-1], values[-1]


# %% wrong spectrum_ends second_lowest of="lanczos"
# You return the second lowest: the eigenvalues are sorted, and the lowest is the first.
# replace: return values[0], values[-1]
# by:      return values[min(1, len(values) - 1)], values[-1]


# %% wrong spectrum_ends positive_lowest of="lanczos"
# You cut the lowest at zero: eigenvalues may be negative.
# replace: return values[0], values[-1]
# by:      return values[0].clamp(min=0), values[-1]


# %% wrong spectrum_ends squared_eigenvalues of="lanczos"
# You multiply by H twice: your values are squares.
# replace: matrix = torch.stack(basis) @ torch.stack(images).T
# by:      matrix = torch.stack(images) @ torch.stack(images).T


# %% wrong spectrum_ends half_the_sum of="lanczos"
# You add the matrix and its transpose without halving: all eigenvalues are doubled.
# replace: (matrix + matrix.T) / 2
# by:      matrix + matrix.T


# %% wrong spectrum_ends always_all_steps_random of="lanczos"
# Where nothing new is left you go on with a random vector: that leaves the span of the products.
# replace: if step == steps - 1 or rest.norm() <= 1e-8 * image.norm():
#              break
# by:      if step == steps - 1 or len(basis) == len(start):
#              break
#          if rest.norm() <= 1e-8 * image.norm():
#              rest = torch.linspace(-1, 2, len(start), dtype=start.dtype).sin()
#              for one in basis * 2:
#                  rest = rest - (one @ rest) * one


# %% wrong spectrum_ends ends_at_a_millionth of="lanczos"
# You end at 1e-6 of the product: the end is 1e-8 of it.
# replace: rest.norm() <= 1e-8 * image.norm()
# by:      rest.norm() <= 1e-6 * image.norm()


# %% wrong spectrum_ends ends_at_rounding of="lanczos"
# You end at 1e-12 of the product: the end is 1e-8 of it.
# replace: rest.norm() <= 1e-8 * image.norm()
# by:      rest.norm() <= 1e-12 * image.norm()


# %% right spectrum_ends plain_loop of="lanczos"
# replace: for _ in range(2):
# by:      for _ in range(3):


# %% right spectrum_ends three_terms
def spectrum_ends(product, start, steps):
    v = start / start.norm()
    before, beta = torch.zeros_like(v), 0.0
    alphas, betas, kept = [], [], []
    for step in range(steps):
        kept.append(v)
        image = product(v)
        alpha = v @ image
        alphas.append(alpha)
        rest = image - alpha * v - beta * before
        for one in kept * 2:  # against rounding
            rest = rest - (rest @ one) * one
        beta = rest.norm()
        if step + 1 == steps or beta <= 1e-8 * image.norm():
            break
        betas.append(beta)
        before, v = v, rest / beta
    small = torch.diag(torch.stack(alphas))
    if betas:
        side = torch.stack(betas)
        small = small + torch.diag(side, 1) + torch.diag(side, -1)
    values = torch.linalg.eigvalsh(small)
    return values.min(), values.max()


# %% right spectrum_ends matrix_of_vectors
def spectrum_ends(product, start, steps):
    q = (start / torch.linalg.vector_norm(start)).unsqueeze(1)
    images = product(q[:, 0]).unsqueeze(1)
    while q.shape[1] < steps:
        last = images[:, -1]
        rest = last - q @ (q.T @ last)
        rest = rest - q @ (q.T @ rest)
        if not torch.linalg.vector_norm(rest) > 1e-8 * torch.linalg.vector_norm(last):
            break
        q = torch.cat([q, (rest / torch.linalg.vector_norm(rest)).unsqueeze(1)], 1)
        images = torch.cat([images, product(q[:, -1]).unsqueeze(1)], 1)
    values, _ = torch.linalg.eigh(q.T @ images)
    return values[0], values[-1]


# %% right spectrum_ends qr_each_time
def spectrum_ends(product, start, steps):
    columns = start.reshape(-1, 1) / start.norm()
    for _ in range(steps - 1):
        image = product(columns[:, -1])
        rest = image - columns @ (columns.T @ image)
        if rest.norm() <= 1e-8 * image.norm():
            break
        rest = rest / rest.norm()
        columns = torch.linalg.qr(torch.cat([columns, rest[:, None]], 1)).Q
    images = torch.stack([product(column) for column in columns.T], 1)
    small = columns.T @ images
    values = torch.linalg.eigvalsh(0.5 * (small + small.T))
    return values[0], values[-1]


# %% right spectrum_ends list_of_dots
def spectrum_ends(product, start, steps):
    vectors, images = [], []
    new = start
    for _ in range(steps):
        vectors.append(new / new.norm())
        images.append(product(vectors[-1]))
        new = images[-1]
        for _ in range(2):
            new = new - sum((one @ new) * one for one in vectors)
        if new.norm() <= 1e-8 * images[-1].norm():
            break
    small = torch.tensor([[float(a @ b) for b in images] for a in vectors], dtype=start.dtype)
    values = torch.linalg.eigvalsh(small)
    return values[0], values[-1]


# %% base conv2d_flops by_steps
def conv2d_flops(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    height: int,
    width: int,
    stride: int = 1,
    padding: int = 0,
) -> int:
    rows = (height + 2 * padding - kernel_size) // stride + 1
    columns = (width + 2 * padding - kernel_size) // stride + 1
    each = in_channels * kernel_size * kernel_size
    return 2 * rows * columns * out_channels * each


# %% wrong conv2d_flops multiply_adds of="by_steps"
# You count multiply-adds: each is two FLOPs.
# replace: return 2 * rows
# by:      return rows


# %% wrong conv2d_flops kernel_not_squared of="by_steps"
# You count a kernel's side, not its area: a square of side k has k² weights for each channel.
# replace: in_channels * kernel_size * kernel_size
# by:      in_channels * kernel_size


# %% wrong conv2d_flops input_pixels of="by_steps"
# You count the pixels of the input: there is a dot product for each pixel of the output.
# replace: rows = (height + 2 * padding - kernel_size) // stride + 1
#          columns = (width + 2 * padding - kernel_size) // stride + 1
# by:      rows, columns = height, width


# %% wrong conv2d_flops padding_once of="by_steps"
# You add the padding once: it stands at both ends of a side.
# replace: rows = (height + 2 * padding - kernel_size)
# by:      rows = (height + padding - kernel_size)
# replace: columns = (width + 2 * padding - kernel_size)
# by:      columns = (width + padding - kernel_size)


# %% wrong conv2d_flops padding_forgotten of="by_steps"
# You forget the padding.
# replace: rows = (height + 2 * padding - kernel_size)
# by:      rows = (height - kernel_size)
# replace: columns = (width + 2 * padding - kernel_size)
# by:      columns = (width - kernel_size)


# %% wrong conv2d_flops stride_forgotten of="by_steps"
# You forget the stride.
# replace: rows = (height + 2 * padding - kernel_size) // stride
# by:      rows = (height + 2 * padding - kernel_size)
# replace: columns = (width + 2 * padding - kernel_size) // stride
# by:      columns = (width + 2 * padding - kernel_size)


# %% wrong conv2d_flops one_missing of="by_steps"
# Your output is a row and a column too small: add 1 after the division.
# replace: rows = (height + 2 * padding - kernel_size) // stride + 1
# by:      rows = (height + 2 * padding - kernel_size) // stride
# replace: columns = (width + 2 * padding - kernel_size) // stride + 1
# by:      columns = (width + 2 * padding - kernel_size) // stride


# %% wrong conv2d_flops one_added_first of="by_steps"
# You add 1 before you divide by the stride: add it after.
# replace: rows = (height + 2 * padding - kernel_size) // stride + 1
# by:      rows = (height + 2 * padding - kernel_size + 1) // stride
# replace: columns = (width + 2 * padding - kernel_size) // stride + 1
# by:      columns = (width + 2 * padding - kernel_size + 1) // stride


# %% wrong conv2d_flops rounded_up of="by_steps"
# You round up: a kernel that does not fit is left out, so round down.
# replace: rows = (height + 2 * padding - kernel_size) // stride + 1
# by:      rows = math.ceil((height + 2 * padding - kernel_size) / stride) + 1
# replace: columns = (width + 2 * padding - kernel_size) // stride + 1
# by:      columns = math.ceil((width + 2 * padding - kernel_size) / stride) + 1


# %% wrong conv2d_flops square_image of="by_steps"
# You take the height for the width, too.
# replace: columns = (width +
# by:      columns = (height +


# %% wrong conv2d_flops in_channels_forgotten of="by_steps"
# You forget the input channels: each output pixel reads all of them.
# replace: in_channels * kernel_size * kernel_size
# by:      kernel_size * kernel_size


# %% wrong conv2d_flops out_channels_forgotten of="by_steps"
# You forget the output channels.
# replace: * out_channels * each
# by:      * each


# %% wrong conv2d_flops bias_counted of="by_steps"
# You count the bias: it is left out.
# replace: return 2 * rows * columns * out_channels * each
# by:      return rows * columns * out_channels * (2 * each + 1)


# %% wrong conv2d_flops one_addition_less of="by_steps"
# You count one addition less in each dot product: a multiply-add counts as two, without exception.
# replace: return 2 * rows * columns * out_channels * each
# by:      return rows * columns * out_channels * (2 * each - 1)


# %% wrong conv2d_flops channels_added of="by_steps"
# You add the two numbers of channels: each output channel reads every input channel, so multiply.
# replace: return 2 * rows * columns * out_channels * each
# by:      return 2 * rows * columns * (in_channels + out_channels) * kernel_size**2


# %% wrong conv2d_flops parameters of="by_steps"
# You count the weights, twice: they are used again at each output pixel.
# replace: return 2 * rows * columns * out_channels * each
# by:      return 2 * out_channels * each


# %% wrong conv2d_flops divided of="by_steps"
# You divide the number of input pixels by the squared stride: the output has other sides when
# kernel and padding do not match.
# replace: return 2 * rows * columns * out_channels * each
# by:      return 2 * (height * width // stride**2) * out_channels * each


# %% wrong conv2d_flops as_float of="by_steps"
# You return a float with a fraction: divide with //.
# replace: rows = (height + 2 * padding - kernel_size) // stride + 1
# by:      rows = (height + 2 * padding - kernel_size) / stride + 1
# replace: columns = (width + 2 * padding - kernel_size) // stride + 1
# by:      columns = (width + 2 * padding - kernel_size) / stride + 1


# %% wrong conv2d_flops three_times of="by_steps"
# You count the backward pass, too: count the forward pass only.
# replace: return 2 * rows
# by:      return 6 * rows


# %% right conv2d_flops in_steps of="by_steps"
# replace: each = in_channels * kernel_size * kernel_size
# by:      each = math.prod((in_channels, kernel_size, kernel_size))


# %% right conv2d_flops by_counting
def conv2d_flops(in_channels, out_channels, kernel_size, height, width, stride=1, padding=0):
    def places(side):
        return len(range(-padding, side + padding - kernel_size + 1, stride))

    weights = out_channels * in_channels * kernel_size**2
    return 2 * weights * places(height) * places(width)


# %% right conv2d_flops on_the_meta_device
def conv2d_flops(in_channels, out_channels, kernel_size, height, width, stride=1, padding=0):
    layer = nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, device="meta")
    output = layer(torch.zeros(1, in_channels, height, width, device="meta"))
    return 2 * output.numel() * layer.weight[0].numel()


# %% right conv2d_flops rounded_by_int
def conv2d_flops(in_channels, out_channels, kernel_size, height, width, stride=1, padding=0):
    out_height = int((height + 2 * padding - (kernel_size - 1) - 1) / stride + 1)
    out_width = int((width + 2 * padding - (kernel_size - 1) - 1) / stride + 1)
    macs = in_channels * out_channels * kernel_size**2 * out_height * out_width
    return macs + macs


# %% right conv2d_flops ceiling_of_starts
def conv2d_flops(in_channels, out_channels, kernel_size, height, width, stride=1, padding=0):
    starts = [-(-(n + 2 * padding - kernel_size + 1) // stride) for n in (height, width)]
    return 2 * math.prod(starts) * in_channels * out_channels * kernel_size * kernel_size


# %% base block_flops by_parts
def block_flops(length: int, d_model: int, d_ff: int, window: int | None = None) -> int:
    keys = length
    if window is not None and window < length:
        keys = window
    projections = 4 * length * d_model * d_model
    scores = length * keys * d_model
    weighted = length * keys * d_model
    feed_forward = 2 * length * d_model * d_ff
    return 2 * (projections + scores + weighted + feed_forward)


# %% wrong block_flops multiply_adds of="by_parts"
# You count multiply-adds: each is two FLOPs.
# replace: return 2 * (projections + scores + weighted + feed_forward)
# by:      return projections + scores + weighted + feed_forward


# %% wrong block_flops no_square of="by_parts"
# You forget scores and weighted sum: they grow with the square of the length.
# replace: return 2 * (projections + scores + weighted + feed_forward)
# by:      return 2 * (projections + feed_forward)


# %% wrong block_flops no_weighted_sum of="by_parts"
# You count half of what scores and weighted sum cost: each has length · keys · d_model multiply-
# adds.
# replace: scores + weighted
# by:      scores


# %% wrong block_flops three_projections of="by_parts"
# You count three projections: query, key, value and the output projection are four.
# replace: 4 * length * d_model * d_model
# by:      3 * length * d_model * d_model


# %% wrong block_flops one_feed_forward_layer of="by_parts"
# You count one layer of the feed-forward network: it has two.
# replace: 2 * length * d_model * d_ff
# by:      length * d_model * d_ff


# %% wrong block_flops no_feed_forward of="by_parts"
# You forget the feed-forward network.
# replace: + weighted + feed_forward
# by:      + weighted


# %% wrong block_flops no_projections of="by_parts"
# You forget the four projections.
# replace: 2 * (projections + scores
# by:      2 * (scores


# %% wrong block_flops window_ignored of="by_parts"
# You ignore the window: each query has at most that many keys.
# replace: if window is not None and window < length:
# by:      if False:


# %% wrong block_flops window_squared of="by_parts"
# You count one window only: each of the length queries has `window` keys.
# replace: scores = length * keys * d_model
# by:      scores = keys * keys * d_model
# replace: weighted = length * keys * d_model
# by:      weighted = keys * keys * d_model


# %% wrong block_flops window_too_large of="by_parts"
# A window larger than the length gives you keys that do not exist: take the smaller number.
# replace: if window is not None and window < length:
# by:      if window is not None:


# %% wrong block_flops window_a_side of="by_parts"
# You square the window: it is the number of keys, not the side of a square.
# replace: keys = window
# by:      keys = min(window * window, length)


# %% wrong block_flops window_everywhere of="by_parts"
# You apply the window to the projections, too: they treat every token.
# replace: projections = 4 * length * d_model * d_model
# by:      projections = 4 * keys * d_model * d_model


# %% wrong block_flops half_of_the_pairs of="by_parts"
# You count half of what scores and weighted sum cost: each has length · keys · d_model multiply-
# adds.
# replace: scores = length * keys * d_model
# by:      scores = length * keys * d_model // 2
# replace: weighted = length * keys * d_model
# by:      weighted = length * keys * d_model // 2


# %% wrong block_flops parameters of="by_parts"
# You count the parameters: they are used once for each token, and scores have none.
# replace: return 2 * (projections + scores + weighted + feed_forward)
# by:      return 4 * d_model * d_model + 2 * d_model * d_ff


# %% wrong block_flops width_forgotten of="by_parts"
# You count one FLOP pair for each pair of tokens: a dot product has d_model multiply-adds.
# replace: scores = length * keys * d_model
# by:      scores = length * keys
# replace: weighted = length * keys * d_model
# by:      weighted = length * keys


# %% wrong block_flops four_times_the_width of="by_parts"
# You take 4 · d_model for d_ff: use the given d_ff.
# replace: 2 * length * d_model * d_ff
# by:      2 * length * d_model * 4 * d_model


# %% wrong block_flops length_forgotten of="by_parts"
# Your projections and layers are counted for one token: there are `length`.
# replace: projections = 4 * length * d_model * d_model
# by:      projections = 4 * d_model * d_model
# replace: feed_forward = 2 * length * d_model * d_ff
# by:      feed_forward = 2 * d_model * d_ff


# %% wrong block_flops backward_too of="by_parts"
# You count the backward pass, too: count the forward pass only.
# replace: return 2 * (projections
# by:      return 6 * (projections


# %% wrong block_flops softmax_counted of="by_parts"
# You count the softmax: only the matrix products count.
# replace: return 2 * (projections + scores + weighted + feed_forward)
# by:      return 2 * (projections + scores + weighted + feed_forward) + 3 * length * keys


# %% wrong block_flops length_cubed of="by_parts"
# Your weighted sum has length³: for each query it adds one vector of width d_model for each key.
# replace: weighted = length * keys * d_model
# by:      weighted = length * keys * length


# %% wrong block_flops feed_forward_squared of="by_parts"
# Your second layer maps d_ff to d_ff: it maps d_ff back to d_model.
# replace: feed_forward = 2 * length * d_model * d_ff
# by:      feed_forward = length * d_ff * (d_model + d_ff)


# %% wrong block_flops d_ff_of_zero of="by_parts"
# A d_ff of 0 is a block without a feed-forward network, not one of four times the width.
# replace: keys = length
# by:      d_ff = d_ff or 4 * d_model
#          keys = length


# %% right block_flops summed_up of="by_parts"
# replace: feed_forward = 2 * length * d_model * d_ff
# by:      feed_forward = length * d_model * d_ff + length * d_ff * d_model


# %% right block_flops products_listed
def block_flops(length, d_model, d_ff, window=None):
    keys = min(length if window is None else window, length)
    products = [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]
    total = sum(2 * length * a * b for a, b in products)
    return total + 2 * (2 * length * keys * d_model)


# %% right block_flops token_by_token
def block_flops(length, d_model, d_ff, window=None):
    per_token = 8 * d_model**2 + 4 * d_model * d_ff
    seen = length if not window else min(window, length)
    return sum(per_token + 4 * seen * d_model for _ in range(length))


# %% right block_flops by_the_counter
def block_flops(length, d_model, d_ff, window=None):
    keys = length if window is None or window >= length else window
    matrices = 4 * d_model * d_model + 2 * d_model * d_ff
    attention = 2 * keys * d_model
    return int(2 * length * (matrices + attention))


# %% right block_flops factored
def block_flops(length, d_model, d_ff, window=None):
    window = min([length] + [window] * (window is not None))
    return 4 * length * d_model * (2 * d_model + d_ff + window)


# %% base backbone_flops stage_by_stage
def backbone_flops(
    height: int,
    width: int,
    patch_size: int,
    d_model: int,
    depths: Sequence[int],
    window: int | None = None,
) -> int:
    rows, columns, d = height // patch_size, width // patch_size, d_model
    total = 2 * rows * columns * 3 * patch_size**2 * d
    for i, depth in enumerate(depths):
        if i > 0:
            rows, columns = rows // 2, columns // 2
            total += 2 * rows * columns * 4 * d * 2 * d
            d = 2 * d
        n = rows * columns
        keys = n if window is None else min(n, window)
        total += depth * 2 * (n * (4 * d * d + 2 * d * 4 * d) + 2 * n * keys * d)
    return total


# %% wrong backbone_flops multiply_adds of="stage_by_stage"
# You count multiply-adds: each is two FLOPs.
# replace: return total
# by:      return total // 2


# %% wrong backbone_flops no_embedding of="stage_by_stage"
# You forget the patch embedding.
# replace: total = 2 * rows * columns * 3 * patch_size**2 * d
# by:      total = 0


# %% wrong backbone_flops one_channel of="stage_by_stage"
# Your image has one channel: it has 3.
# replace: 2 * rows * columns * 3 * patch_size**2 * d
# by:      2 * rows * columns * patch_size**2 * d


# %% wrong backbone_flops patch_side of="stage_by_stage"
# You count a patch's side: its area has patch_size² pixels.
# replace: 3 * patch_size**2 * d
# by:      3 * patch_size * d


# %% wrong backbone_flops no_merging of="stage_by_stage"
# You forget the merging between two stages.
# replace: total += 2 * rows * columns * 4 * d * 2 * d
# by:      pass


# %% wrong backbone_flops merging_before_the_first of="stage_by_stage"
# You merge before the first stage, too.
# replace: if i > 0:
# by:      if True:


# %% wrong backbone_flops merging_from_d of="stage_by_stage"
# Your merging maps d to 2d: it joins four pixels, so it maps 4d to 2d.
# replace: rows * columns * 4 * d * 2 * d
# by:      rows * columns * d * 2 * d


# %% wrong backbone_flops merging_on_old_pixels of="stage_by_stage"
# Your merging costs four times too much: it maps 4 × the old width to 2 × the old width, once for
# each new pixel.
# replace: rows, columns = rows // 2, columns // 2
#          total += 2 * rows * columns * 4 * d * 2 * d
# by:      total += 2 * rows * columns * 4 * d * 2 * d
#          rows, columns = rows // 2, columns // 2


# %% wrong backbone_flops merging_at_the_new_width of="stage_by_stage"
# Your merging costs four times too much: it maps 4 × the old width to 2 × the old width, once for
# each new pixel.
# replace: total += 2 * rows * columns * 4 * d * 2 * d
#          d = 2 * d
# by:      d = 2 * d
#          total += 2 * rows * columns * 4 * d * 2 * d


# %% wrong backbone_flops width_stays of="stage_by_stage"
# The width should double before each stage but the first.
# replace: d = 2 * d
# by:      pass


# %% wrong backbone_flops sides_stay of="stage_by_stage"
# The sides should be halved before each stage but the first.
# replace: rows, columns = rows // 2, columns // 2
# by:      pass


# %% wrong backbone_flops one_side_halved of="stage_by_stage"
# You halve one side: both are halved.
# replace: rows, columns = rows // 2, columns // 2
# by:      rows = rows // 2


# %% wrong backbone_flops one_block_a_stage of="stage_by_stage"
# You count one block in each stage: there are depths[i].
# replace: total += depth * 2 * (n
# by:      total += 2 * (n


# %% wrong backbone_flops window_ignored of="stage_by_stage"
# You ignore the window.
# replace: keys = n if window is None else min(n, window)
# by:      keys = n


# %% wrong backbone_flops window_too_large of="stage_by_stage"
# A window larger than the map gives you keys that do not exist.
# replace: min(n, window)
# by:      window


# %% wrong backbone_flops fixed_d_ff of="stage_by_stage"
# Your d_ff stays that of the first stage: it is 4 × the width of the stage.
# replace: 2 * d * 4 * d)
# by:      2 * d * 4 * d_model)


# %% wrong backbone_flops d_ff_is_d of="stage_by_stage"
# Your d_ff is the width: it is 4 times the width.
# replace: 2 * d * 4 * d)
# by:      2 * d * d)


# %% wrong backbone_flops first_stage_only of="stage_by_stage"
# You count the first stage only.
# replace: for i, depth in enumerate(depths):
# by:      for i, depth in enumerate(depths[:1]):


# %% wrong backbone_flops pixels_as_tokens of="stage_by_stage"
# Your tokens are pixels: each patch is one token.
# replace: rows, columns, d = height // patch_size, width // patch_size, d_model
# by:      rows, columns, d = height, width, d_model


# %% wrong backbone_flops width_reset of="stage_by_stage"
# Your width is d_model · i: it doubles from stage to stage.
# replace: d = 2 * d
# by:      d = d_model * (i + 1)


# %% wrong backbone_flops embedding_in_each_stage of="stage_by_stage"
# You count a patch embedding in each stage: it comes once, at the beginning.
# replace: n = rows * columns
# by:      n = rows * columns
#          total += (i > 0) * 2 * n * 3 * patch_size**2 * d


# %% wrong backbone_flops one_side_only of="stage_by_stage"
# You count the patches of one row: there are rows × columns.
# replace: n = rows * columns
# by:      n = columns


# %% right backbone_flops in_stages of="stage_by_stage"
# replace: if i > 0:
# by:      if i:


# %% right backbone_flops from_the_parts
def backbone_flops(height, width, patch_size, d_model, depths, window=None):
    n = height * width // patch_size**2
    total = 2 * n * d_model * 3 * patch_size * patch_size
    for stage in range(len(depths)):
        d, tokens = d_model * 2**stage, n // 4**stage
        keys = min(tokens, window or tokens)
        if stage >= 1:
            total += 2 * tokens * (2 * d) * d
        total += depths[stage] * (24 * tokens * d * d + 4 * tokens * keys * d)
    return total


# %% right backbone_flops recursive
def backbone_flops(height, width, patch_size, d_model, depths, window=None):
    def stages(n, d, left):
        keys = n if window is None or window > n else window
        here = left[0] * (2 * n * 12 * d**2 + 4 * n * keys * d)
        if len(left) == 1:
            return here
        return here + 2 * (n // 4) * 8 * d**2 + stages(n // 4, 2 * d, left[1:])

    n = (height // patch_size) * (width // patch_size)
    return 6 * n * patch_size**2 * d_model + stages(n, d_model, list(depths))


# %% right backbone_flops sums_of_lists
def backbone_flops(height, width, patch_size, d_model, depths, window=None):
    tokens = [(height // patch_size >> i) * (width // patch_size >> i) for i in range(len(depths))]
    widths = [d_model << i for i in range(len(depths))]
    keys = [n if window is None else min(window, n) for n in tokens]
    macs = 3 * height * width * d_model
    macs += sum(n * 2 * d * d for n, d in zip(tokens[1:], widths[1:], strict=True))
    for depth, n, d, seen in zip(depths, tokens, widths, keys, strict=True):
        macs += depth * n * d * (12 * d + 2 * seen)
    return 2 * macs

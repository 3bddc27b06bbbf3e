# %% given imports
# pyright: reportRedeclaration=false
import torch.nn.functional as F
from torch import Tensor


# %% wrong unit_vectors one_norm_for_all
# You divide by the norm of the whole tensor: each vector has a norm of its own, along the last
# axis.
def unit_vectors(x: Tensor) -> Tensor:
    return x / x.norm()


# %% right unit_vectors of_pytorch
def unit_vectors(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)

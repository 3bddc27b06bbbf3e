# %% [markdown]
# # Lesson {NUMBER} · {TITLE}
#
# **You build** `unit_vectors`, which scales every vector to length 1 and keeps its direction.
#
# **You need** a little PyTorch, the dot product, and the length of a vector.
#
# **You take away** why embeddings are compared by their direction.
#
# **Time**: about 10 minutes.

# %% given imports
import torch
import torch.nn.functional as F
from torch import Tensor
from transformer_course import figures
from transformer_course.checks import Check, numbers

# %% [markdown]
# ## 1 · Length hides direction
#
# Three embeddings. *bank* and *banks* point in the same direction, but one of them is twice as long.

# %%
figures.arrows({"bank": [1.0, 1.0], "banks": [2.0, 2.0], "river": [3.0, 0.0]}, ("water", "money"))

# %% [markdown]
# **Predict.** By the dot product, which embedding matches *bank* best?
#
# <details><summary>banks</summary>Its dot product with <em>bank</em> is 4, because it is long. But look at the third answer.</details>
# <details><summary>bank itself</summary>Its dot product with itself is 2: the smallest of the three.</details>
# <details><summary>banks first, and river before bank itself</summary>Yes: 4, 3 and 2. The length decides, and the direction, which holds the meaning, does not.</details>
#
# The **norm** of a vector $x$ is its length, $\|x\| = \sqrt{\sum_j x_j^2}$. Divided by its norm, every vector has length 1, and the dot product compares directions alone: it becomes the **cosine similarity**.
#
# **Exercise** (5 minutes). Divide each vector by its norm. The vectors are the rows of the **last** axis.
#
# <details><summary>Hint</summary><code>keepdim=True</code> keeps an axis of size 1, so that each norm lines up with its vector.</details>


# %% exercise unit_vectors
def unit_vectors(x: Tensor) -> Tensor:
    """Scale each vector to length 1 and keep its direction.

    x (…, dim) -> (…, dim). The vectors lie along the last axis; none of them is zero.
    """
    # BEGIN SOLUTION
    return x / x.norm(dim=-1, keepdim=True)
    # END SOLUTION


# %% check unit_vectors points=2
hint = "divide each vector by the root of the sum of its squares"
with Check("unit_vectors", "two vectors you can do by hand", hint) as check:
    output = check.call(torch.tensor([[3.0, 4.0], [0.0, -2.0]], dtype=torch.float64))
    check.shape(output, vectors=2, dim=2)
    check.equal(
        output,
        torch.tensor([[0.6, 0.8], [0.0, -1.0]], dtype=torch.float64),
        "[3, 4] should become [0.6, 0.8], and [0, -2] should become [0, -1]",
    )
# BEGIN HIDDEN TESTS
with Check("unit_vectors", "other sizes, scales and dtypes", hint) as check:
    for shape in ((5,), (2, 3), (2, 3, 4)):
        for scale, dtype in ((0.1, torch.float64), (30.0, torch.float32)):
            x = numbers(*shape, seed=1, scale=scale, dtype=dtype)
            expected = F.normalize(x, dim=-1)
            check.equal(check.call(x), expected, "should agree with PyTorch's F.normalize")
# END HIDDEN TESTS

# %% [markdown]
# ## 2 · In your own words
#
# **Question.** Scale every embedding to length 1. What can a dot product of two of them be at most, and when is it so? One or two sentences: double-click the cell below and write them there. A person reads them.

# %% answer largest_product [markdown] points=1
# <!-- BEGIN SOLUTION -->
# At most 1, and only where the two point in the same direction: the dot product of unit vectors is the cosine of the angle between them.
# <!-- END SOLUTION -->

# %% [markdown]
# ## Where you stand

# %%
from transformer_course.progress import show_progress

show_progress("{FILE}")

# %% [markdown]
# - The **norm** is a vector's length; divided by it, a vector keeps its direction and has length 1.
# - The dot product of unit vectors is the **cosine similarity**, which no length can distort.

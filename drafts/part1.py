# %% [markdown]
# # Lesson 12 · BERT: pretrain, then fine-tune
#
# **You build** an encoder that learns from text without labels by filling in hidden words, and a classifier that starts from it and needs 32 labels.
#
# **You need** padding masks (lesson 2), embeddings and positions (lesson 6), the encoder (lesson 7) and the next-token loss (lesson 9).
#
# **You take away** `Bert`, which computes what Hugging Face's `BertModel` computes, and a measurement of what pretraining is worth, with its controls.
#
# **Time**: about 270 minutes: 175 for the exercises.

# %% given imports
import functools
import random
from collections import Counter
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformer_course import figures
from transformer_course.checks import Check, numbers
from transformer_course.data.reviews import BAD, GOOD, Review, reviews

torch.set_num_threads(1)  # such small models train fastest on one core

# %% [markdown]
# Six reviews of films. Which are positive?

# %%
for review in reviews(6, seed=4):
    print(" ".join(review.first))

# %% [markdown]
# You needed no time for it. Yet no single word tells: *not* stands in good reviews and in bad ones, and so does *good*.
#
# **Predict.** A linear classifier gets the *counts* of the words of a review. How many of the reviews can it get right, at best, if half of them are negated?
#
# <details><summary>Nearly all: "good" and "bad" are there, and "not" too</summary>A linear classifier adds a number for each word. What number should "not" have?</details>
# <details><summary>Three of four</summary>Yes: "good", "not good", "bad", "not bad" are an XOR. No sum of one number for each word gets more than three of the four right.</details>
# <details><summary>Half, like guessing</summary>It can do better: it may get three of the four kinds right. That is what is <em>possible</em>, not what training finds.</details>
#
# How can a model learn what *not* does, if there are only 32 labels, but thousands of reviews without any? That is the question of this lesson.

"""Live views of what a student's code computes; a static picture remains without a kernel.

from transformer_course.widgets import show_attention
"""

import importlib

from IPython.core.getipython import get_ipython

from transformer_course.widgets.alignment import show_alignment
from transformer_course.widgets.attention import show_attention
from transformer_course.widgets.attention_steps import show_attention_steps
from transformer_course.widgets.beam import show_beam
from transformer_course.widgets.block import show_block
from transformer_course.widgets.cached import show_cached
from transformer_course.widgets.caption import show_caption
from transformer_course.widgets.cost import show_cost
from transformer_course.widgets.dropout import show_dropout
from transformer_course.widgets.encoding import show_encoding
from transformer_course.widgets.generation import show_generation
from transformer_course.widgets.gpt import show_gpt
from transformer_course.widgets.hull import show_hull
from transformer_course.widgets.landscape import show_landscape
from transformer_course.widgets.mask import MaskView, show_mask
from transformer_course.widgets.masked_words import show_masked_words
from transformer_course.widgets.merges import show_merges
from transformer_course.widgets.norm_axes import show_norm_axes
from transformer_course.widgets.patches import show_patches
from transformer_course.widgets.reshape import show_reshape
from transformer_course.widgets.rotary import show_rotary
from transformer_course.widgets.softmax import show_softmax
from transformer_course.widgets.switches import SwitchesView, show_switches
from transformer_course.widgets.training import TrainingPlot, show_training
from transformer_course.widgets.vit import show_vit
from transformer_course.widgets.windows import show_reach, show_windows

__all__ = [
    "MaskView",
    "SwitchesView",
    "TrainingPlot",
    "show_alignment",
    "show_attention",
    "show_attention_steps",
    "show_beam",
    "show_block",
    "show_cached",
    "show_caption",
    "show_cost",
    "show_dropout",
    "show_encoding",
    "show_generation",
    "show_gpt",
    "show_hull",
    "show_landscape",
    "show_mask",
    "show_masked_words",
    "show_merges",
    "show_norm_axes",
    "show_patches",
    "show_reach",
    "show_reshape",
    "show_rotary",
    "show_softmax",
    "show_switches",
    "show_training",
    "show_vit",
    "show_windows",
]

# with a kernel, import what live views need before the first one is shown
if getattr(get_ipython(), "kernel", None) is not None:
    importlib.import_module("transformer_course.widgets.live")

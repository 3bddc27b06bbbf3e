"""The bank of habits: what honest students write around a right answer, as data. None runs here.

Each stands at the head of the cell that holds a right answer: whatever it asks of the machine, the
answer keeps its points. See `test_habits`.
"""

import re

BANK = """
# --- packages that Colab has

# %% pandas
import pandas as pd
pd.DataFrame({'a': [1]}).describe()

# %% tqdm
from tqdm import tqdm
for _ in tqdm(range(3)):
    pass

# %% tqdm.auto
from tqdm.auto import tqdm, trange
for _ in trange(3):
    pass

# %% tqdm.notebook
from tqdm.notebook import tqdm
for _ in tqdm(range(3)):
    pass

# %% einops
from einops import rearrange, einsum
rearrange(torch.ones(2, 6), 'b (h d) -> b h d', h=2)

# %% jaxtyping and beartype
from beartype import beartype
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def first(x: Float[torch.Tensor, "batch dim"]) -> Float[torch.Tensor, "dim"]:
    return x[0]

first(torch.ones(2, 3))

# %% seaborn
import seaborn as sns
sns.set_theme()
sns.heatmap(torch.ones(2, 2).numpy())

# %% plotly
import plotly.graph_objects as go
go.Figure(go.Heatmap(z=[[1, 2]]))

# %% tabulate
from tabulate import tabulate
print(tabulate([[1, 2]], headers=['a', 'b']))

# %% scipy
from scipy.special import softmax as reference
reference([1.0, 2.0])

# --- Colab itself

# %% google.colab.drive
from google.colab import drive
drive.mount('/content/drive', force_remount=True)

# %% google.colab.files
from google.colab import files
for name in files.upload():
    print(name)

# %% google.colab.userdata
from google.colab import userdata
key = userdata.get('HF_TOKEN')

# %% google.colab.output
from google.colab import output
output.enable_custom_widget_manager()

# %% google.colab.patches
from google.colab.patches import cv2_imshow

# %% google.colab, whole
import google.colab
IN_COLAB = True

# %% google.colab, tried
try:
    import google.colab
    IN_COLAB = True
except ImportError:
    IN_COLAB = False
if IN_COLAB:
    !pip install einops

# %% google.colab, asked for
import sys
assert 'google.colab' not in sys.modules

# --- a person at the keyboard

# %% input
name = input('Your name: ')
print('Hello', name)

# %% getpass
from getpass import getpass
token = getpass('token')

# --- the shell

# %% !pwd, kept
here = !pwd
print(here[0])

# %% !ls, kept
found = !ls
print(found.n, len(found.s), found.l)

# %% !pip
!pip install einops

# %% %pip
%pip install -q einops

# %% !nvidia-smi
!nvidia-smi

# %% !python
!python --version

# %% %cd
%cd /content/drive/MyDrive

# %% %timeit
%timeit -n 2 -r 1 torch.ones(2).sum()

# %% %matplotlib
%matplotlib inline
%config InlineBackend.figure_format = 'retina'

# %% %autoreload
%load_ext autoreload
%autoreload 2

# %% %env
%env CUDA_LAUNCH_BLOCKING=1

# %% %who
%who

# %% %load_ext tensorboard
%load_ext tensorboard

# %% help?
torch.softmax?

# %% os.system
import os
os.system('clear')

# --- the machine

# %% torch.compile
@torch.compile
def helper(x):
    return x + 1

helper(torch.ones(2))

# %% torch.compile, with options
fast = torch.compile(nn.Linear(2, 2), mode='max-autotune')
fast(torch.ones(2)).sum().backward()

# %% torch.compile, as a decorator
@torch.compile(fullgraph=True)
def helper(x):
    return x + 1

helper(torch.ones(2))

# %% module.compile
model = nn.Linear(2, 2)
model.compile()
model(torch.ones(2))

# %% DataLoader workers
from torch.utils.data import DataLoader, TensorDataset
data = DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=4, shuffle=True, num_workers=2,
                  pin_memory=True, persistent_workers=True, prefetch_factor=2)
assert [len(batch[0]) for batch in data] == [4, 4]

# %% DataLoader workers by place
from torch.utils.data import DataLoader, TensorDataset
data = DataLoader(TensorDataset(torch.ones(8, 2)), 4, False, None, None, 2)
assert [len(batch[0]) for batch in data] == [4, 4]

# %% device
device = 'cuda' if torch.cuda.is_available() else 'cpu'
torch.ones(2).to(device)

# %% seeds
import random
random.seed(0)
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.backends.cudnn.deterministic = True

# %% threads
torch.set_num_threads(8)
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    list(pool.map(abs, range(9)))

# %% cpu_count
import os, multiprocessing
print(os.cpu_count(), multiprocessing.cpu_count())

# %% start method
import torch.multiprocessing as mp
mp.set_start_method('spawn', force=True)

# %% files
torch.save(nn.Linear(2, 2).state_dict(), 'model.pt')
torch.load('model.pt')

# %% figures saved
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig('loss.png', dpi=50)
plt.show()

# %% copied files
import shutil
open('a.txt', 'w').close()
shutil.copy('a.txt', 'b.txt')
shutil.rmtree('x', ignore_errors=True)

# %% folders
from pathlib import Path
Path('out/deep').mkdir(parents=True, exist_ok=True)
Path('out/deep/a.txt').write_text('a')

# %% temporary files
import tempfile
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
    file.write(b'a')

# %% pickle
import pickle
pickle.loads(pickle.dumps({'a': torch.ones(2)}))

# %% sqlite
import sqlite3
sqlite3.connect(':memory:').execute('select 1').fetchall()

# %% joblib
from joblib import Parallel, delayed
Parallel(n_jobs=1)(delayed(abs)(i) for i in range(3))

# %% sklearn
from sklearn.datasets import load_digits
load_digits().images.shape

# %% torch.jit
@torch.jit.script
def helper(x: torch.Tensor) -> torch.Tensor:
    return x + 1

helper(torch.ones(2))

# %% profiler
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU]) as prof:
    torch.ones(2).sum()
prof.key_averages()

# %% autocast
with torch.autocast('cpu'):
    nn.Linear(2, 2)(torch.ones(2))

# %% summary writer, tried
try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    pass

# --- Python and IPython

# %% asyncio
import asyncio
await asyncio.sleep(0)

# %% display
from IPython.display import HTML, Image, clear_output, display
clear_output(wait=True)
display(HTML('<b>done</b>'))

# %% widgets
import ipywidgets as widgets
widgets.interact(lambda k: k, k=(0, 3));

# %% interactive
from ipywidgets import interact, IntSlider
@interact(k=IntSlider(1))
def f(k):
    return k

# %% logging
import logging
logging.basicConfig(level=logging.DEBUG)
logging.getLogger(__name__).warning('hello')

# %% warnings
import warnings
warnings.filterwarnings('ignore')
warnings.warn('mine')

# %% recursion limit
import sys
sys.setrecursionlimit(10_000)

# %% main
if __name__ == '__main__':
    print('ready')

# %% typing
from __future__ import annotations
from typing import *

# %% dataclass
from dataclasses import dataclass
@dataclass
class Config:
    d: int = 4
Config()

# %% inspect
import inspect
def f():
    return 1
inspect.getsource(f)

# %% timing
import time
start = time.perf_counter()
time.sleep(0.01)
print(time.strftime('%H:%M'), time.process_time())

# %% versions
import platform, sys, torch
print(sys.version, platform.platform(), torch.__version__, torch.__config__.show())

# %% environment
import os
os.environ['TOKENIZERS_PARALLELISM'] = 'false'
os.getenv('HOME')

# %% cwd
import os
print(os.getcwd(), os.listdir('.'))

# %% get_ipython
get_ipython().run_line_magic('matplotlib', 'inline')

# %% In and Out
print(len(In), Out)

# %% default dtype
torch.set_default_dtype(torch.float32)
torch.set_printoptions(precision=3, sci_mode=False)

# %% anomaly
torch.autograd.set_detect_anomaly(True)

# %% no_grad
with torch.no_grad():
    torch.ones(2)

# %% gc
import gc
gc.collect()
torch.cuda.empty_cache()

# %% signal
import signal
signal.signal(signal.SIGTERM, signal.SIG_DFL)

# %% style
import matplotlib.pyplot as plt
plt.style.use('ggplot')
plt.rcParams['figure.figsize'] = (4, 3)

# %% %%time
%%time

# %% %%capture
%%capture

# %% %%capture out
%%capture out

"""
_, *_parts = re.split(r"(?m)^# %% (.*)\n", BANK)
HABITS = dict(zip(_parts[::2], _parts[1::2], strict=True))

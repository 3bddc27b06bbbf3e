"""A corpus of files to grade: what tools, browsers and students make of a perfect notebook.

`GRADABLE`: each must earn what the perfect notebook earns. `LOST`: of each must be told why it
cannot be graded.
"""

import gzip
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nbformat import NotebookNode

from autograder.authoring.samples import as_colab_saves
from autograder.gradebook.status import State
from autograder.tests.support.mutations import (
    FILE,
    NAME,
    Files,
    as_file,
    as_kaggle_saves,
    as_vs_code_saves,
    beside_another,
    foreign,
    helped_by_another,
    in_zip,
    kernel,
    last,
    merged,
    of_version,
    older_and_newer,
    raw,
    reformatted,
    rewritten,
    saved,
    shuffled,
    split,
    turned_round,
    with_copy,
    with_more,
    with_new_ids,
    with_outputs,
    without,
    without_metadata,
    written,
    zipped,
)


@dataclass(frozen=True)
class Form:
    """How files are made of a perfect notebook, and what is to be said of them."""

    files: Callable[[NotebookNode], Files]
    said: str = ""
    state: State = State.NEEDS_MARKING


GRADABLE = {
    "as it is": Form(saved()),
    "Colab": Form(saved(as_colab_saves)),
    "Colab, metadata lost": Form(saved(without_metadata(), as_colab_saves), "5 by text"),
    "VS Code": Form(saved(as_vs_code_saves)),
    "Kaggle": Form(saved(as_kaggle_saves), "9 cells had lost nbgrader's metadata: known again"),
    **{f"format 4.{minor}": Form(saved(of_version(minor))) for minor in range(6)},
    "no kernel": Form(saved(kernel())),
    "another kernel": Form(saved(kernel(kernelspec={"name": "conda-env-py", "language": "R"}))),
    "turned round": Form(saved(turned_round), "came before what it needs"),
    "shuffled": Form(saved(shuffled), "came before what it needs"),
    "shuffled, all lost": Form(saved(shuffled, as_kaggle_saves), "came before what it needs"),
    "checks last": Form(saved(last("check_root", "check_by_hand", "check_Scale"))),
    "given last": Form(saved(last("given_imports")), "`exercise_root` came before what it needs"),
    "exercise last": Form(saved(last("exercise_root")), "`check_root` came before what it needs"),
    "another order": Form(saved(helped_by_another), "`exercise_by_hand` came before what it needs"),
    "split": Form(saved(split(keeps=True)), "`exercise_Scale` is there 2 times"),
    "split, half lost": Form(saved(split(keeps=False))),
    "split, all lost": Form(saved(split(keeps=False), without_metadata()), "3 by name"),
    "merged": Form(saved(merged), "`exercise_by_hand` has no cell of its own"),
    "merged, lost": Form(saved(merged, without_metadata()), "has no cell of its own"),
    "copied": Form(saved(with_copy), "`exercise_root` is there 2 times: the last one counts"),
    "rewritten": Form(saved(rewritten), "`exercise_Scale` had lost nbgrader's metadata: known by"),
    "checks deleted": Form(saved(without("check_root", "check_Scale")), "was deleted: put back"),
    "given deleted": Form(saved(without("given_imports")), "`given_imports` was deleted: put back"),
    "all lost": Form(saved(without_metadata()), "known again, 3 by name, 6 by id"),
    "all lost, new ids": Form(saved(without_metadata(), with_new_ids), "5 by text, 1 by place"),
    "checks lost": Form(saved(without_metadata("check_root", "check_Scale")), "2 by id"),
    "exercise lost": Form(saved(without_metadata("exercise_root")), "known by its name"),
    "answer lost": Form(
        saved(with_new_ids, with_more, without_metadata("answer_why")), "known by its place"
    ),
    "reformatted": Form(saved(reformatted, as_kaggle_saves), "`check_root` was changed (text)"),
    "more cells": Form(saved(with_more)),
    "outputs": Form(saved(with_outputs)),
    "Windows": Form(written(lambda text: text.replace("\n", "\r\n").encode())),
    "Windows in cells": Form(written(lambda text: text.replace("\\n", "\\r\\n").encode())),
    "old Mac in cells": Form(written(lambda text: text.replace("\\n", "\\r").encode())),
    "BOM": Form(written(partial(str.encode, encoding="utf-8-sig"))),
    "UTF-16": Form(written(partial(str.encode, encoding="utf-16"))),
    "code page": Form(
        written(lambda text: text.replace("it is so", "es so schön ist").encode("cp1252")),
        "the file is no UTF-8",
    ),
    "gzip": Form(written(lambda text: gzip.compress(text.encode()))),
    "gzip by name": Form(
        written(lambda text: gzip.compress(text.encode()), f"{FILE}.gz"), f"found in `{FILE}.gz`"
    ),
    "copy of": Form(saved(name=f"Kopie von {FILE}"), f"found in `Kopie von {FILE}`"),
    "downloaded again": Form(saved(name=f"{NAME} (1).ipynb"), "the notebook was found in"),
    "as text": Form(saved(name=f"{FILE}.txt"), f"found in `{FILE}.txt`"),
    "odd name": Form(saved(name="Übung; $(rm -rf `x`).IPYNB"), "found in"),
    "in a folder": Form(saved(name=f"homework/1/{FILE}"), f"found in `homework/1/{FILE}`"),
    "in a folder of its name": Form(saved(name=f"{FILE}/{FILE}"), f"found in `{FILE}/{FILE}`"),
    "newer": Form(older_and_newer, f"of 2 notebooks the newest of this lesson counts: `{NAME} (2)"),
    "beside another": Form(beside_another, "of 3 notebooks the newest of this lesson counts: `b."),
    "zip": Form(in_zip, f"found in `handed.zip/homework/{FILE}`"),
    "zip by its name": Form(
        lambda notebook: {FILE: zipped({"a.ipynb": as_file(notebook)})},
        f"found in `{FILE}/a.ipynb`",
    ),
}

NO_JSON = "no JSON, or cut short: ask for the file again, as .ipynb"
FOREIGN = "none of the lesson's cells: ask for the lesson's own notebook (this one is `02_other`)"
LOST = {
    "nothing": Form(lambda _: {}, "nothing was handed in", State.MISSING),
    "only a script": Form(
        raw(b"print(1)", "lesson.py"), "no notebook there, but `lesson.py`", State.MISSING
    ),
    **{
        name: Form(files, said, State.UNREADABLE)
        for name, (files, said) in {
            "empty": (raw(b""), "an empty file: ask for the file again"),
            "cut short": (written(lambda text: text[:2000].encode()), NO_JSON),
            "a picture": (raw(b"\x89PNG\r\n\x1a\n\0\0"), NO_JSON),
            "a web page": (raw(b"<!DOCTYPE html><html>"), "a web page in place of a notebook"),
            "no notebook": (raw(b'{"cells": 5}'), "JSON, but no sound notebook"),
            "deep": (raw(b"[" * 100_000), "JSON, but no sound notebook"),
            "format 3": (raw(b'{"nbformat": 3, "worksheets": []}'), "in an old notebook format"),
            "huge": (raw(b" " * 50_000_001), "larger than 50 MB"),
            "many cells": (saved(lambda n: n.update(cells=n.cells * 500)), "JSON, but no sound"),
            "another lesson": (saved(foreign), FOREIGN),
            "another lesson, lost": (saved(foreign, without_metadata()), FOREIGN),
            "no lesson": (
                raw(b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "root"}]}'),
                "none of the lesson's cells",
            ),
            "broken zip": (raw(zipped({FILE: b"{}"})[:-30]), "no sound zip"),
            "empty zip": (raw(zipped({"a.txt": b"1"}), "a.zip"), "an archive without one single"),
            "rare zip": (
                raw(zipped({FILE: b"{}" * 500}, zipfile.ZIP_LZMA), "a.zip"),
                "an archive without one single notebook",
            ),
            "bomb": (raw(zipped({FILE: b" " * (60 << 20)}), "a.zip"), "an archive without one"),
            "gzip bomb": (raw(gzip.compress(b" " * (60 << 20))), "larger than 50 MB"),
            "control characters": (saved(name="\x1b[31m.ipynb"), "`?[31m.ipynb`: its name is no"),
        }.items()
    },
}

"""The published tree has what students need, at the class's address, and no secrets."""

import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

import nbformat
import pytest

from autograder import paths
from autograder.authoring import publish
from autograder.authoring.lesson import find_lessons, read_lesson
from autograder.authoring.notebook import repository_address
from autograder.commands import cli
from autograder.paths import COURSE, Course
from autograder.tests.support.checkout import build_wheel

ADDRESS = "https://github.com/ada/fall"


@pytest.fixture(scope="module")
def lessons():
    return [read_lesson(path) for path in find_lessons(["01", "02"])]


@pytest.fixture(scope="module")
def tree(lessons) -> publish.Tree:
    return publish.tree(lessons, ADDRESS)


@pytest.fixture(scope="module")
def folder(tree, tmp_path_factory) -> Path:
    written = tmp_path_factory.mktemp("published")
    publish.write(tree, written)
    return written


def test_the_tree_holds_what_students_need_and_nothing_else(tree, lessons):
    kit = COURSE.kit.relative_to(paths.ROOT)
    others = {str(path) for path in tree if not path.is_relative_to(kit)}
    notebooks = {f"notebooks/{lesson.name}.ipynb" for lesson in lessons}
    files = {"README.md", "LICENSE", "pyproject.toml", "constraints.txt", "environment.yml"}
    assert others == files | notebooks
    assert {path.suffix for path in tree if path.is_relative_to(kit)} <= {
        *(".py", ".js", ".css", ".json", ".jsonl", ".typed")
    }


def test_files_contain_only_the_address_of_the_class(tree):
    assert all(repository_address() not in text for text in tree.values())
    project = tomllib.loads(tree[PurePosixPath("pyproject.toml")])
    assert project["project"]["urls"]["Repository"] == ADDRESS
    assert "autograder" not in tree[PurePosixPath("pyproject.toml")]
    text = tree[PurePosixPath("notebooks/02_masking.ipynb")]
    badge, _, setup, *_ = nbformat.reads(text, as_version=4).cells
    assert "/github/ada/fall/blob/main/notebooks/02_masking.ipynb" in badge.source
    assert f"git+{ADDRESS}" in setup.source


def test_the_readme_lists_the_lessons_that_are_there(tree):
    readme = tree[PurePosixPath("README.md")]
    assert "(notebooks/01_dot_product_attention.ipynb)" in readme
    assert "(notebooks/03_" not in readme
    assert f"git clone {ADDRESS}\ncd fall\n" in readme
    assert "{" not in readme


def test_students_can_install_the_kit_from_the_tree(tree, folder, tmp_path):
    source = tmp_path / "fall"
    publish.write(tree, source)  # a build leaves files behind
    wheel = build_wheel(tmp_path, source)
    assert wheel.name.endswith("-none-any.whl")
    kit = [*(folder / "assets").rglob("*.*")]
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)], capture_output=True, text=True
    ).stdout
    assert [file for file in kit if file.is_file() and file.name not in listed] == []


def secret_lines(lesson):
    solution = next(cell for cell in lesson.of("exercise")).source
    hidden = next(cell for cell in lesson.of("check") if "HIDDEN" in cell.source).source
    bank = publish._answers(lesson)[0]
    return {
        "solution": solution.split("END SOLUTION")[0].strip().split("\n")[-2].strip(),
        "hidden test": hidden.split("BEGIN HIDDEN TESTS\n")[1].split("\n")[0].strip(),
        "answer": bank,
    }


@pytest.mark.parametrize("kind", ["solution", "hidden test", "answer"])
@pytest.mark.parametrize("name", ["left.py", "numbers.jsonl"])
def test_a_secret_in_the_kit_prevents_publishing(lessons, tmp_path, kind, name):
    secret = secret_lines(lessons[0])[kind]
    course = Course(tmp_path)
    course.kit.mkdir(parents=True)
    for copied in (*publish.COPIED, "pyproject.toml", "README.md"):
        (tmp_path / copied).write_bytes((paths.ROOT / copied).read_bytes())
    assert publish.tree(lessons[:1], ADDRESS, course)
    left = secret if name == "left.py" else secret.replace("\n", "\\n")
    (course.kit / name).write_text(f"# {left}\n", encoding="utf-8")
    with pytest.raises(publish.Leak, match=name) as leak:
        publish.tree(lessons[:1], ADDRESS, course)
    assert "\n" not in str(leak.value)


def test_publishing_again_keeps_the_instructors_files(tree, folder):
    own, stale = folder / ".git" / "config", folder / "assets/transformer_course/old.py"
    for file in (own, stale):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("", encoding="utf-8")
    publish.write(tree, folder)
    assert own.exists()
    assert not stale.exists()


def test_the_address_is_remembered(folder, tmp_path):
    assert publish.address(tmp_path) == repository_address()
    (tmp_path / publish.FOLDER).symlink_to(folder)
    assert publish.address(tmp_path) == ADDRESS


# --- by the command ------------------------------------------------------------------------


def release(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["release", *arguments])
    if not isinstance(ended.value.code, int):
        print(ended.value.code)
        return 1
    return ended.value.code


def test_release_publishes_every_released_lesson_at_the_given_address(tmp_path, capsys):
    where = ["--classroom", str(tmp_path)]
    assert release("02", *where, "--repository", f"{ADDRESS}.git") == 0
    assert release("04", *where) == 0
    printed = capsys.readouterr().out
    assert f"published 2 lessons in {tmp_path / 'published'}" in printed
    assert f"push that folder to {ADDRESS}" in printed
    published = {path.name: path.read_text() for path in tmp_path.glob("published/notebooks/*")}
    assert sorted(published) == ["02_masking.ipynb", "04_layer_norm.ipynb"]
    for name, text in published.items():
        assert f"git+{ADDRESS}" in text
        # the graded version is the published one
        assert (tmp_path / "release" / name.removesuffix(".ipynb") / name).read_text() == text


def test_a_class_in_a_checkout_is_never_committed(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert release("02", "--classroom", str(tmp_path / "fall")) == 0
    listed = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(listed, check=True, capture_output=True, text=True).stdout == ""
    # the published folder can be committed to a repository of its own
    published = tmp_path / "fall" / "published"
    subprocess.run(["git", "init", "-q", str(published)], check=True)
    listed[2] = str(published)
    assert "README.md" in subprocess.run(listed, capture_output=True, text=True).stdout


def test_a_lesson_that_leaks_is_not_released(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(publish, "secrets", lambda lesson: {"import torch"})
    assert release("02", "--classroom", str(tmp_path / "class")) == 1
    assert "only instructors may see" in capsys.readouterr().out
    assert not (tmp_path / "class").exists()


@pytest.mark.parametrize("typed", ["gitlab.com/x", "https://github.com/ada", "ada/fall; rm"])
def test_an_address_that_colab_cannot_open_is_refused(typed, tmp_path, capsys):
    assert release("02", "--classroom", str(tmp_path), "--repository", typed) == 2
    assert "is not an address such as https://github.com/YOU/CLASS" in capsys.readouterr().err

"""The file that keeps a student's progress from one day to the next."""

import json
import os
from pathlib import Path

States = dict[str, dict[str, str]]  # lesson -> name of a check -> its state

COLAB = Path("/content")
DRIVE = COLAB / "drive" / "MyDrive"  # where Colab shows a mounted Google Drive


def progress_file() -> Path:
    """Where progress is kept: in the home folder; in Colab in Google Drive, if it is mounted.

    The environment variable TRANSFORMER_COURSE_PROGRESS names another file.
    """
    if named := os.environ.get("TRANSFORMER_COURSE_PROGRESS"):
        return Path(named)
    home = DRIVE if DRIVE.is_dir() else Path.home()
    return home / ".transformer_course" / "progress.json"


def advice() -> str:
    """How to keep the file for longer, where it would be lost; else an empty text."""
    if DRIVE.is_dir() or not COLAB.is_dir():
        return ""
    return (
        "Colab forgets this when the session ends. To keep it: "
        "from google.colab import drive; drive.mount('/content/drive')"
    )


def load(file: Path) -> States:
    """What the file holds; a file that cannot be read is laid aside, and holds nothing."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): {str(k): str(v) for k, v in of.items()} for name, of in stored.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError):
        os.replace(file, file.with_suffix(".unreadable"))
        return {}


def save(file: Path, states: States) -> None:
    """Write the file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_text(json.dumps(states, indent=1), encoding="utf-8")
    os.replace(part, file)

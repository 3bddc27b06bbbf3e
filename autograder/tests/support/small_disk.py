"""Grade a class on a disk that is almost full, then make room: run inside a small file system.

    python small_disk.py DISK CLASS KEPT ROOMS COMMAND...

The class is copied to DISK. For each of ROOMS, numbers of bytes, all but so much of the disk is
filled, the command is run, and what lies on the disk then is copied to KEPT/0, KEPT/1, ...
with what the command said in `said`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Do so."""
    disk, source, kept = map(Path, sys.argv[1:4])
    rooms, *command = sys.argv[4:]
    shutil.copytree(source, disk / "class")
    ballast = disk / "ballast"
    for number, room in enumerate(json.loads(rooms)):
        ballast.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - room)))
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        ballast.unlink()
        shutil.copytree(disk / "class", kept / f"{number}" / "class")
        said = [ended.returncode, ended.stdout + ended.stderr]
        (kept / f"{number}" / "said").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main()

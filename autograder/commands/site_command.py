"""The `site` command: the course as a static site."""

import argparse
from pathlib import Path

from autograder import paths
from autograder.commands.terminal import console, say

DETAILS = """\
    The lessons, the glossary, all pictures, the reference of checks and the term for instructors,
    as pages that a browser reads without a kernel; live views work in them. Made of the executed
    lessons in solutions/, so `build` comes first. Nothing is loaded from another host.

    To look at it:  python -m http.server --directory build/site"""


def add_options(added: argparse.ArgumentParser) -> None:
    """Declare its options."""
    added.add_argument(
        "--output",
        type=Path,
        default=paths.ROOT / "build" / "site",
        metavar="DIR",
        help="where the site goes (default: build/site)",
    )
    added.add_argument(
        "--solutions", action="store_true", help="add a page with solutions to each lesson"
    )


def run(options: argparse.Namespace) -> int:
    """Build the site."""
    from autograder.site.build import build_site  # imports Sphinx and the kit

    with console.status("site") as status:
        site = build_site(options.course, options.output, options.solutions, status.update)
    say(f"{site.lessons} lessons, {site.pictures} pictures, {site.views} live views")
    say(f"wrote {paths.display_path(site.folder)}: open index.html through a server, such as")
    say(f"  python -m http.server --directory {paths.display_path(site.folder)}")
    return 0

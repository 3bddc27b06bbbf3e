"""The text on which each regular expression is slowest, and each library that reads such text.

Files and patterns are those of the source; where a pattern is put together as the program runs,
the code that does it stands here, and one that may come out of it. A file of which all patterns
read only what the authors wrote says so.
"""

from collections.abc import Callable
from dataclasses import dataclass

Text = Callable[[int], str]  # of about so many characters


@dataclass(frozen=True)
class Worst:
    """The text on which a pattern is slowest; the pattern, where it is made as the program runs."""

    text: Text
    instead: str = ""


def again(piece: str, before: str = "", after: str = "") -> Text:
    """A piece, again and again."""
    return lambda size: before + piece * (size // len(piece)) + after


def cut(length: int, text: Text) -> Text:
    """No more than so many characters: what is longer is cut off, or left out, before."""
    return lambda size: text(size)[:length]


OURS = "reads only what the course's authors, nbgrader or the system wrote"
DIGITS = again("1", after="x")
WORDS = again("a", after="!")
BLANKS = again(" ", after="x")
TABLE: dict[str, dict[str, Worst | str]] = {
    "assets/transformer_course/checks/formatting.py": {
        "f'(?<![\\\\d.]){re.escape(str(number))}(?!\\\\.?\\\\d)'": Worst(
            again("2.2"), r"(?<![\d.])2\.2(?!\.?\d)"
        ),
    },
    "autograder/execution/isolation/shell.py": {
        r"application/(.*\+)?json": Worst(again("+jso", "application/")),
        r"(?m)^[^\S\n]*([%!?,;/>]|In \[)|=\s*[%!]|\?\s*$|\A\s": Worst(again("\n", "a")),
    },
    "autograder/bench/classes.py": {r"(?m)^(?=# %%)": OURS},
    "autograder/bench/widgets.py": {r"^https?://(?!127.0.0.1)": OURS},
    "autograder/intake/handins.py": {
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?( [\w+:-]{1,32})?": Worst(DIGITS),
    },
    "autograder/intake/layout.py": {r"assignment_\d+_export": Worst(again("1", "assignment_"))},
    "autograder/intake/metadata.py": {
        r"submission_(\d{1,18})": Worst(again("1", "submission_")),
        r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)?": Worst(
            again("1", "2026-01-01 00:00:00.", "x")
        ),
    },
    "autograder/intake/naming.py": {
        r"[*?\[\]/\\\x00-\x1f\x7f\ud800-\udfff]": Worst(again("*")),
        r"(?s)(?:(?P<anon_late>LATE_)?(?P<anon>anon_[0-9A-Za-z]+)"
        r"|(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d{1,20}))"
        r"_(?:(?P<number>\d{1,20})_(?P<file>.+)|(?:text|link)\.html)": Worst(
            again("a_1_1_", after="\n")
        ),
        r"(?=_(\d{1,20})_\d{1,20}_)": Worst(again("_" + "1" * 20)),
        r"(?s)(?P<name>.+?)(?:_(?P<participant>\d{1,20}))?_assignsubmission_"
        r"(?:(?P<file>file)|[a-z]+)_?(?P<flat>.*)": Worst(
            again("_assignsubmission_file_", after="\n")
        ),
        r"(?is)\.ipynb.*": Worst(again(".ipynb", after="\nx")),
        r"[\s,;\"]+": Worst(again(" ,a")),
    },
    "autograder/exporting/gradesheet.py": {
        r"(Current|Final|Override) (Score|Points|Grade|Status)": Worst(again("Current ")),
        r"\s\(\d+\)$": Worst(again(" (1")),
        r"(?<!\d)\d+$": Worst(DIGITS),
        r"\D+\d+\s*$": Worst(again("1", "a", "x")),
        r"[\W_]+": Worst(again("_a")),
    },
    "autograder/feedback/formgrader.py": {
        r"[\w.-]{1,200}": Worst(again(".")),
        r'<a((?: [a-z]+="[^"]*")*)>': Worst(again(' a=""', "<a")),
        r' href="([^"]*)"': Worst(again(' href="')),
        r'(?s)<script type="text/javascript">(.*?)</script>| onclick="([^"]*)"': OURS,
    },
    "autograder/feedback/formulas.py": {
        r"[\w.+% -]*": Worst(again(".", after="!")),
        r"\\([_%#&$ ])": Worst(again("\\")),
    },
    "autograder/feedback/page.py": {r"#\s+(.+)": Worst(again("\n", "#"))},
    "autograder/feedback/sanitized.py": {
        r"(https?://|mailto:)\S+": Worst(again("http://", after=" ")),
        r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*": Worst(
            again(" ", "data:image/png;base64,", "!")
        ),
        r"base64,[A-Za-z0-9+/=\s]*": Worst(again("base64")),
        r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]": Worst(again("\x00")),
        r"(?m)^[^\n]*\r(?!\n)": Worst(again("140000, ")),
        r'<img(?![^<>]* alt=")': Worst(again("<img ")),
        "\ue000(\\d{1,6})\ue001": Worst(again("\ue000123456")),
        "[\ue000\ue001]": Worst(again("\ue000")),
        r"<[^<>]*>": Worst(again("<")),
    },
    "autograder/gradebook/nbgrader_api.py": {
        r"(?ms)^\[(?:ERROR|CRITICAL)\] (.*?)(?=^\[[A-Z]+\] |\Z)": Worst(
            again("\n[ERROR", "[ERROR] ")
        ),
        r"[\w.]+(Error|Exception|Interrupt)\b": Worst(again("Error")),
    },
    "autograder/feedback/known_words.py": {
        r"-?[\w.]+": Worst(again("-")),
    },
    "autograder/gradebook/late.py": {
        r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?) *(\S*)": OURS,
        r"Z|[+-]\d\d:?\d\d": OURS,
    },
    "autograder/authoring/lesson.py": {
        r"[A-Za-z]\w*": OURS,
        r"# ?%%": OURS,
        "f\"(BEGIN|END) ({'|'.join(REGIONS)})\"": OURS,
        "f'\\\\b{exercise}\\\\('": OURS,
    },
    "autograder/authoring/publish/__init__.py": {
        r"https://github\.com/[\w.-]+/[\w.-]+": OURS,
        r"(?m)^(?=\[)": OURS,
        "f'[^\\\\n]*BEGIN {name}[^\\\\n]*\\\\n(.*?)\\\\n[^\\\\n]*END {name}[^\\\\n]*'": OURS,
    },
    "autograder/intake/matching.py": {
        r"\w+|[^\w\s]": Worst(again("a!")),
        "f'^(?:(?:async[ \\\\t]+)?(?:def|class)[ \\\\t]+{name}\\\\b|{assigned})'": Worst(
            again("f,"),
            r"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+f\b"
            r"|(?:\w+[ \t]*[,=][ \t]*)*f\b[ \t]*(?:[,:][^=\n]{0,100})?=(?!=))",
        ),
    },
    "autograder/intake/order.py": {
        "f'\\\\b{other.exercise}\\\\b'": Worst(again("double_"), r"\bdouble\b")
    },
    "autograder/intake/reading.py": {"\r\n?": Worst(again("\r"))},
    "autograder/intake/repair.py": {
        r"/notebooks/(\d\d_[a-z_]{1,60})\.ipynb": Worst(again("/notebooks/01_" + "a" * 60)),
        r"[A-Za-z0-9_-]{1,64}": Worst(WORDS),
    },
    "autograder/authoring/samples.py": {r"\A(#.*\n)+": OURS},
    "autograder/authoring/answer_variants.py": {
        r"(BEGIN|END) SOLUTION": OURS,
        "f'(?={first})'": OURS,
        "f'^({REPLACE}|{BY})'": OURS,
    },
    "autograder/authoring/glossary.py": {
        r"(?<![*\w])\*\*([^*\n]+)\*\*(?![*\w])": OURS,
        r"(?:(?<=[.!?])|(?<=[.!?][)*”]))\s+(?=[A-Z“$`*\[(])": OURS,
        r"\n\s*\n|\n(?=[-*|#] |\d\. |<)": OURS,
        r"<[^>]+>": OURS,
        r"^(?:[-*#]+|\d+\.) ": OURS,
    },
    "autograder/authoring/new.py": {r"[0-9]{2}": OURS, r"[a-z][a-z0-9_]*": OURS},
    "autograder/authoring/overview.py": {
        r"[Ll]essons? (\d+(?:(?:,? and |, | to )\d+)*)": OURS,
        r"about (\d+) minutes": OURS,
        "f'\\\\*\\\\*{label}\\\\*\\\\*:? (.*)'": OURS,
        r"[^.]* help\.": OURS,
        r",? and |, ": OURS,
    },
    "autograder/site/cards.py": {r" ?\([^)]*\)": OURS},
    "autograder/site/pictures.py": {
        r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)"[^>]*>': OURS
    },
    "autograder/site/pages.py": {r"(!?\[[^\]]*)\]\((?![a-z][a-z0-9+.-]*:|#)([^)\s]+)\)": OURS},
    "autograder/authoring/proofs.py": {r"(?m)^def (show_\w+)\(": OURS},
    "autograder/site/lesson_pages.py": {
        r"^##+ (.+)$": OURS,
        r"\*\*(Predict|Recall)\b": OURS,
        r"^show_progress\(": OURS,
    },
    "autograder/authoring/reference.py": {r"\b(?:\w+\.)+(?=[A-Z])": OURS},
    "autograder/execution/sandbox.py": {r"(?m)^CapEff:\s*(\w+)": OURS},
    "autograder/similarity/pieces.py": {
        r"""(?P<quotes>\"{3}|'{3})[\s\S]*?(?P=quotes)"""
        r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
        r"""|"(?=[^"\\\n]*\\)(?:\\.|[^"\\\n])*|'(?=[^'\\\n]*\\)(?:\\.|[^'\\\n])*"""
        r"""|#(?P<comment>[^\n]*)""": Worst(again('\\"', '"')),
        r"[^\W\d]\w*|\w+|[^\w\s]": Worst(again("1a")),
        r"\s*[%!?]": Worst(BLANKS),
        r"\w+": Worst(WORDS),
    },
    "autograder/gradebook/obstacle.py": {
        r"^\.|[*?\[\]\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]": Worst(WORDS),
    },
    "autograder/gradebook/submission.py": {
        r"No module named '([\w.]{1,60})'": Worst(again("No module named '" + "a" * 60)),
    },
    "autograder/feedback/verdicts.py": {
        r"name '(\w+)' is not defined": Worst(again("name 'a")),
    },
}
# our function that reads the text; what is longer than its bound is not given to the library
SANITIZED = "autograder.feedback.sanitized."
LIBRARIES: dict[str, tuple[str, Text]] = {
    "strip_ansi": (f"{SANITIZED}plain", again("\x1b[0;", after="\n")),
    "strip_ansi, and one line": (f"{SANITIZED}plain", again("140000, ")),
    "strip_ansi, and a bar": (f"{SANITIZED}plain", again("a\r")),
    "Pygments": (f"{SANITIZED}code", again('"\\N{')),
    "Pygments, at its bound": (f"{SANITIZED}code", cut(20_000, again('"\\N{'))),
    "mistune": (f"{SANITIZED}markdown", again("\\\\[")),
    "mistune, at its bound": (f"{SANITIZED}markdown", cut(10_000, again("\\\\["))),
    "mistune, environments": (f"{SANITIZED}markdown", cut(10_000, again("\\begin{a}"))),
    "mistune, blanks": (f"{SANITIZED}markdown", cut(10_000, again(" ", "a"))),
    "nh3": (f"{SANITIZED}html", again("<div>")),
    "nh3, at its bound": (f"{SANITIZED}html", cut(20_000, again("<ul><li>"))),
    "nh3, attributes": (f"{SANITIZED}html", cut(20_000, again("a=b ", "<b "))),
    "latex2mathml": ("autograder.tests.support.slowest.formula", again("{")),
    "latex2mathml, at its bound": (
        "autograder.tests.support.slowest.formula",
        cut(2_000, again("\\left(")),
    ),
    "a sentence": (f"{SANITIZED}clause", again("`a ")),
    "ast.parse, brackets": ("autograder.similarity.pieces.Code", again("(")),
    "ast.parse, a chain": ("autograder.similarity.pieces.Code", again(".a", "a")),
    "ast.parse, broken lines": ("autograder.similarity.pieces.Code", again("a b\n")),
    "comments": ("autograder.similarity.pieces.comment_pieces", again('\\"', '"')),
}


def formula(tex: str) -> str:
    """A formula by itself."""
    from autograder.feedback import formulas

    return formulas.formula(tex, True)

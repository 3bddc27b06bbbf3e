"""Build, prove and grade the lessons of *Transformers, from the dot product up*."""

import sys

# jsonschema imports this at its own import, and it then compiles a grammar for 0.9 s, half the
# time of a command, to check a format (IRI) that no notebook's schema uses. None: not there.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

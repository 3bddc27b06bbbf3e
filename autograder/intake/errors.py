"""Whose an `OSError` is: one student's file's, or the disk's, which everybody shares."""

import errno

# whichever file it strikes, the next one fares no better
EVERYBODYS = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO),
        *(errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    }
)


def pass_on(error: BaseException) -> None:
    """Raise `error` again if it is everybody's; one that is a single student's is left alone."""
    if isinstance(error, OSError) and error.errno in EVERYBODYS:
        raise error

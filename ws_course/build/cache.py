"""A folder of compiled kernels, keyed by everything that went into them, so that nothing is compiled twice."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

LIMIT = 2000
"""The most entries of one cache: the least recently used ones go first."""


def key(*parts: object) -> str:
    """Return a name for ``parts`` (compared by ``repr``): equal parts, equal name; anything else, another name."""
    digest = hashlib.sha256()
    for part in parts:
        text = repr(part).encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def folder() -> Path:
    """Return where caches belong on this system; ``WS_COURSE_CACHE`` in the environment names another place."""
    if place := os.environ.get("WS_COURSE_CACHE"):
        return Path(place)
    import platformdirs

    return platformdirs.user_cache_path("ws-course", appauthor=False)


class Cache:
    """Keep bytes under a key in one folder. A cache that cannot be written is a slow cache, not an error."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def _path(self, name: str) -> Path:
        return folder() / self.kind / name

    def get(self, name: str) -> bytes | None:
        """Return the bytes stored under ``name``, or None."""
        path = self._path(name)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes, executable: bool = False) -> None:
        """Store ``data``: readers see all of it or nothing, also with several writers."""
        path = self._path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as new:
                new.write(data)
            if executable:
                os.chmod(new.name, 0o755)
            os.replace(new.name, path)
            self._prune(path.parent)
        except OSError:
            return

    def _prune(self, place: Path) -> None:
        entries = [entry for entry in os.scandir(place) if not entry.name.startswith(".")]
        if len(entries) > LIMIT:
            entries.sort(key=lambda entry: entry.stat().st_mtime)
            for entry in entries[: len(entries) - LIMIT * 9 // 10]:
                Path(entry.path).unlink(missing_ok=True)

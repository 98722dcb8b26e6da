# SPDX-License-Identifier: Apache-2.0
"""What long harnesses have done, in a file that is always whole, so that the next call goes on from there."""

import json
from pathlib import Path


class LastingCounts:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        known = json.loads(path.read_text()) if path.exists() else {}
        self.counts: dict[str, int] = known.get("counts", {})
        self.failures: list[str] = known.get("failures", [])

    def add(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        self.keep()

    def fail(self, failure: str) -> None:
        self.failures.append(failure)
        self.keep()
        print(failure, flush=True)

    def keep(self) -> None:
        part = self.path.with_suffix(".partial")
        part.write_text(json.dumps({"counts": self.counts, "failures": self.failures}, indent=1) + "\n")
        part.replace(self.path)

    def text(self, of: str) -> str:
        """`of` is the name of the count that stands first."""
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{self.counts.get(of, 0)} {of}, {len(self.failures)} failures ({counts})"

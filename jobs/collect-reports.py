#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=tally-table
#SBATCH --output=%x-%j.out
#SBATCH --ntasks=1
#SBATCH --time=00:05:00
"""Makes one table of many results: a line per folder with a report.json, best first.

    collect-reports.py results [MODEL…]

With models it looks for results/<model's name without suffix> and says which are missing; without, it takes every
folder below. --json-lines prints each report as one line of JSON instead (a missing one as {"result", "status"}).
Exit codes: 0 all there, 1 a result is missing or not readable, 2 wrong usage. Needs nothing but Python 3.
"""

import argparse
import json
import sys
from pathlib import Path

SMALLER_IS_BETTER = ("loss", "ece", "brier", "mse", "mae", "perplexity", "bits_per_byte")


def read_report(folder: Path) -> dict:
    """The report of a result folder, or only a status that says why there is none."""
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"result": str(folder), "status": "missing"}
    except (OSError, ValueError) as error:
        return {"result": str(folder), "status": f"unreadable: {error}"}
    return {"result": str(folder), **report}


def value(report: dict, metric: str) -> float | None:
    return report.get("metrics", {}).get(metric, {}).get("value")


def columns_of(reports: list[dict], wanted: str | None) -> list[str]:
    if wanted:
        return wanted.split(",")
    found = dict.fromkeys(name for report in reports for name in report.get("metrics", {}))
    preferred = [name for name in ("accuracy", "accuracy_top5", "f1_macro", "loss") if name in found]
    return preferred or list(found)[:4]


def rows(reports: list[dict], metrics: list[str]) -> list[list[str]]:
    lines = [["result", "samples", *metrics, "state digest"]]
    for report in reports:
        if "metrics" not in report:
            lines.append([Path(report["result"]).name, report["status"], *[""] * len(metrics), ""])
            continue
        values = [value(report, metric) for metric in metrics]
        lines.append([
            Path(report["result"]).name, str(report["samples"]["evaluated"]),
            *("-" if number is None else f"{number:.6g}" for number in values), report["digests"]["state"][:12],
        ])  # fmt: skip
    return lines


def best_first(reports: list[dict], metrics: list[str]) -> list[dict]:
    """By the first metric; what has no such value comes last."""
    if not metrics:
        return reports
    sign = 1 if metrics[0] in SMALLER_IS_BETTER else -1
    values = [(report, value(report, metrics[0])) for report in reports]
    scored = sorted((pair for pair in values if pair[1] is not None), key=lambda pair: sign * pair[1])
    return [report for report, _ in scored] + [report for report, number in values if number is None]


def print_table(lines: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of result folders")
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL", help="the models whose results must be there")
    parser.add_argument("--metrics", metavar="LIST", help="columns of the table; the first one sorts it")
    parser.add_argument("--json-lines", action="store_true", help="print whole reports, one per line")
    args = parser.parse_args()
    if not args.results.is_dir():
        parser.error(f"'{args.results}' is not a folder")
    folders = [args.results / model.stem for model in args.models]
    folders = folders or sorted(path.parent for path in args.results.rglob("report.json"))
    if not folders:
        parser.error(f"no report.json below '{args.results}'")

    reports = [read_report(folder) for folder in folders]
    if args.json_lines:
        for report in reports:
            print(json.dumps(report))
    else:
        metrics = columns_of(reports, args.metrics)
        print_table(rows(best_first(reports, metrics), metrics))
    return int(any("metrics" not in report for report in reports))


if __name__ == "__main__":
    sys.exit(main())

"""How well and how fast a folder is audited, on pictures of which everything is known, beside cleanvision.

    python benchmarks/accuracy/audit.py --data DATA                               # 2,000 pictures, --quick
    python benchmarks/accuracy/audit.py --data DATA --cleanvision VENV/bin/python  # beside cleanvision
    python benchmarks/accuracy/audit.py --data DATA --full 200                     # so many with the vision model

Everything runs through the installed command. Printed: what was found of what is known, memory at a quarter of the
pictures and at all, whether a killed and resumed audit ends as an undisturbed one, and speed as a ratio.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

from audit_set import TOTAL, Truth, make_set

COMMAND = str(Path(sys.executable).with_name("agenticiqa"))
CHECKS = {
    "dark": "dark", "light": "light", "blurry": "blurry", "low_information": "low_information",
    "grayscale": "grayscale", "odd_aspect_ratio": "odd_aspect_ratio", "odd_size": "odd_size",
    "exact_duplicate": "exact_duplicates", "near_duplicate": "near_duplicates",
}  # fmt: skip
PEER = """
import json, sys
from cleanvision import Imagelab
lab = Imagelab(data_path=sys.argv[1])
lab.find_issues(verbose=False)
found = {c[3:-6]: [str(i) for i in lab.issues.index[lab.issues[c]]] for c in lab.issues if c.startswith("is_")}
json.dump({"found": found}, open(sys.argv[2], "w"))
"""


def command(folder: Path, output: Path, home: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [COMMAND, "audit", str(folder), "-o", str(output), "--json", *options],
        env={**os.environ, "AGENTICIQA_HOME": str(home)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def timed(folder: Path, output: Path, home: Path, *options: str) -> tuple[float, int]:
    """Seconds, and the most memory that all its processes held together, in MB."""
    started = time.perf_counter()
    process = command(folder, output, home, "--overwrite", *options)
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of_group(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the audit ended with {process.returncode}")
    return time.perf_counter() - started, peak // 2**20


def memory_of_group(leader: int) -> int:
    """Bytes that the processes of a session hold, each page counted for one of those that share it."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.getsid(int(entry.name)) == leader:
                text = (entry / "smaps_rollup").read_text()
                total += int(text.split("Pss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            continue
    return total


def rows_of(output: Path) -> dict[str, dict[str, str]]:
    with output.open(newline="", encoding="utf-8") as file:
        return {row["path"]: row for row in csv.DictReader(file)}


def findings(row: dict[str, str]) -> set[str]:
    return set(filter(None, row["findings"].split(", ")))


# --- what was found of what is known ---


def judged(rows: dict[str, dict[str, str]], truth: Truth) -> None:
    together = {name: _members(rows, name) for name in ("exact_group", "near_group", "burst_group")}
    exact = sum(_same(rows, "exact_group", copy, original) for copy, original in truth.exact.items())
    print(f"exact duplicates: {exact} of {len(truth.exact)} found")
    made = {name: truth.near[name] for name in truth.near}
    found = {name: _same(rows, "near_group", name, original) for name, original in made.items()}
    by_kind = Counter(truth.kinds[name] for name, there in found.items() if there)
    print(f"near duplicates: recall {sum(found.values()) / len(found):.2%} ({dict(by_kind)} of {_each(truth)})")
    source = {**truth.exact, **truth.near}
    source = {name: source.get(original, original) for name, original in source.items()}
    pairs = [pair for members in together["near_group"].values() for pair in combinations(members, 2)]
    scene = {name: number for number, names in enumerate([*truth.bursts, *truth.series]) for name in names}
    right, of_scene, wrong = 0, 0, []
    for one, other in pairs:
        if source.get(one, one) == source.get(other, other):
            right += 1
        elif one in scene and scene.get(one) == scene.get(other):
            of_scene += 1
        else:
            wrong.append((one, other))
    print(f"near duplicates: precision {right / max(1, right + len(wrong) + of_scene):.2%} of {len(pairs)} pairs")
    print(f"  pairs of another photograph: {len(wrong)} {wrong[:12]}")
    print(f"  pairs of one burst or series called versions of one shot: {of_scene}")
    _judge_bursts(rows, truth, together["burst_group"], scene, source)
    blank = sum("blank" in findings(rows[name]) for name in truth.blank)
    broken = sum("corrupt" in findings(rows[name]) for name in truth.broken)
    false = [
        n for n, row in rows.items() if findings(row) & {"blank", "corrupt"} and n not in {*truth.blank, *truth.broken}
    ]
    print(f"blank {blank} of {len(truth.blank)}, broken {broken} of {len(truth.broken)}, false {false}")


def _judge_bursts(rows, truth, groups, scene, source) -> None:
    for title, sets in (("bursts with times", truth.bursts), ("series by looks", truth.series)):
        pairs = [pair for names in sets for pair in combinations(names, 2)]
        met = sum(_same(rows, "burst_group", *pair) or _same(rows, "near_group", *pair) for pair in pairs)
        print(f"{title}: {met / len(pairs):.2%} of {len(pairs)} pairs together")
    pairs = [pair for members in groups.values() for pair in combinations(members, 2)]
    wrong = [
        pair for pair in pairs
        if (pair[0] not in scene or scene.get(pair[0]) != scene.get(pair[1]))
        and source.get(pair[0], pair[0]) != source.get(pair[1], pair[1])
    ]  # fmt: skip
    print(f"bursts: precision {1 - len(wrong) / max(1, len(pairs)):.2%} of {len(pairs)} pairs; wrong {wrong[:12]}")
    best = sum(rows[names[0]]["keep"] == "true" for names in truth.bursts)
    print(f"the sharp shot is the one to keep in {best} of {len(truth.bursts)} bursts")


def _same(rows: dict[str, dict[str, str]], column: str, one: str, other: str) -> bool:
    return rows[one][column] != "" and rows[one][column] == rows[other][column]


def _members(rows: dict[str, dict[str, str]], column: str) -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, row in rows.items():
        if row[column]:
            found[row[column]].append(name)
    return found


def _each(truth: Truth) -> dict[str, int]:
    return dict(Counter(truth.kinds.values()))


# --- killed and resumed ---


def killed_and_resumed(folder: Path, work: Path, home: Path, seconds: float, kills: int, whole: Path) -> None:
    output, chance = work / "killed.csv", random.Random(0)
    for _ in range(kills):
        process = command(folder, output, home, "--quick", "--resume")
        time.sleep(chance.uniform(0.2, 0.8) * seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    records = Path(f"{output}.records")
    left = records.read_bytes().count(b"\n") if records.exists() else 0
    process = command(folder, output, home, "--quick", "--resume")
    if process.wait():
        raise SystemExit(f"the resumed audit ended with {process.returncode}")
    equal = output.read_bytes() == whole.read_bytes()
    print(
        f"killed {kills} times, {left} pictures were done before the last run; equal to an undisturbed audit: {equal}"
    )


# --- beside cleanvision ---


def beside_cleanvision(folder: Path, work: Path, home: Path, python: str, rounds: int, truth: Truth) -> None:
    """On the files that open: cleanvision ends at the first one that is cut off."""
    sound = work / "sound"
    sound.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in truth.broken and not (sound / path.name).exists():
            os.link(path, sound / path.name)
    ours, theirs = [], []
    for _ in range(rounds):
        options = ["-o", str(work / "speed.csv"), "--quick", "--overwrite"]
        ours.append(clock([COMMAND, "audit", str(sound), *options], {"AGENTICIQA_HOME": str(home)}))
        theirs.append(clock([python, "-c", PEER, str(sound), str(work / "peer.json")]))
    print(f"speed on {len(list(sound.iterdir()))} files, start included, load {os.getloadavg()[0]:.0f}:")
    for title, place in (("by the clock", 0), ("processor time", 1)):
        here, there = ([each[place] for each in runs] for runs in (ours, theirs))
        ratio = statistics.median(here) / statistics.median(there)
        print(
            f"  {title}: audit --quick {_shown(here)} s, cleanvision {_shown(there)} s, ratio {ratio:.2f} (wanted 1.5)"
        )
    rows = rows_of(work / "speed.csv")
    found = json.loads((work / "peer.json").read_text())["found"]
    for name, theirs_name in CHECKS.items():
        here = {path for path, row in rows.items() if name in findings(row)}
        there = {Path(path).name for path in found.get(theirs_name, [])}
        both, agree = len(here & there), 1 - len(here ^ there) / len(rows)
        print(
            f"  {name:<18} both {both:>4}, only here {len(here - there):>4}, only there {len(there - here):>4},"
            f" agree {agree:.2%}  {sorted(there - here)[:3]}"
        )


def clock(words: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Seconds by the clock, and of processor time with all its processes."""
    started = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, env={**os.environ, **(environment or {})}, **quiet)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words[0]} ended with {status}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def _shown(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=TOTAL)
    parser.add_argument("--cleanvision", help="a Python that has cleanvision")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--full", type=int, default=0, help="pictures to audit with the vision model")
    parser.add_argument("--keep", type=Path, help="keep the folder and its truth here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = given.keep or Path(temporary)
        folder, home = work / "set", Path(temporary) / "home"
        if not folder.exists():
            make_set(given.data, folder, given.pictures).save(work / "truth.json")
        truth = Truth.load(work / "truth.json")
        print(f"{len(list(folder.iterdir()))} files")
        whole = work / "whole.csv"
        seconds, peak = timed(folder, whole, home, "--quick")
        rows = rows_of(whole)
        judged(rows, truth)
        quarter = Path(temporary) / "quarter"
        make_set(given.data, quarter, given.pictures // 4)
        _, small = timed(quarter, work / "quarter.csv", home, "--quick")
        print(
            f"memory: {small} MB at {len(list(quarter.iterdir()))} pictures, {peak} MB at {len(rows)}; {seconds:.1f} s"
        )
        if given.kills:
            killed_and_resumed(folder, work, home, seconds, given.kills, whole)
        if given.cleanvision:
            beside_cleanvision(folder, work, home, given.cleanvision, given.rounds, truth)
        if given.full:
            few = Path(temporary) / "few"
            make_set(given.data, few, given.full)
            seconds, peak = timed(few, work / "few.csv", home)
            done = rows_of(work / "few.csv").values()
            sorts = Counter(row["sort"] for row in done)
            print(f"with the vision model: {len(done) / seconds:.1f} pictures/s, {peak} MB; {dict(sorts)}")


if __name__ == "__main__":
    main()

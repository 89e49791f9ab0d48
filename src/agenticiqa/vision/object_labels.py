"""The eighty kinds of objects that the detector knows: those of COCO."""

from __future__ import annotations

# In the order of the detector's numbers, which begin at 1 and have gaps.
_NUMBERED = (
    "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant - stop_sign "
    "parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe - backpack umbrella - - handbag "
    "tie suitcase frisbee skis snowboard sports_ball kite baseball_bat baseball_glove skateboard surfboard "
    "tennis_racket bottle - wine_glass cup fork knife spoon bowl banana apple sandwich orange broccoli carrot "
    "hot_dog pizza donut cake chair couch potted_plant bed - dining_table - - toilet - tv laptop mouse remote "
    "keyboard cell_phone microwave oven toaster sink refrigerator - book clock vase scissors teddy_bear "
    "hair_drier toothbrush"
)
LABELS: dict[int, str] = {
    number: label.replace("_", " ") for number, label in enumerate(_NUMBERED.split(), 1) if label != "-"
}

"""Things that stand in pictures. The list need not be complete: it helps with names that no article announces."""

from __future__ import annotations

_PEOPLE = (
    "man woman boy girl child kid baby person people men women children player dancer singer runner cyclist "
    "pedestrian bride groom model crowd couple family athlete rider driver worker soldier teacher student musician "
    "friend lady gentleman guy toddler skier surfer swimmer fisherman actor actress performer audience spectator"
)
_BODY = (
    "face eye nose mouth hair head hand arm leg foot feet skin ear lip teeth beard finger neck shoulder body cheek "
    "forehead fur feather wing tail paw whisker beak"
)
_CLOTHES = "shirt dress hat coat jacket shoe trousers skirt scarf glove glasses sunglasses tie suit uniform jeans"
_ANIMALS = (
    "dog cat bird horse cow sheep fish animal parrot butterfly insect bee duck elephant lion tiger bear monkey rabbit "
    "squirrel deer owl eagle pigeon swan goat pig puppy kitten dragonfly turtle frog snake spider zebra giraffe"
)
_NATURE = (
    "sky cloud sun moon star water sea ocean river lake wave beach sand mountain hill rock stone cliff tree leaf "
    "leaves flower petal grass plant forest field bush branch snow ice waterfall meadow garden soil ground mud rose "
    "tulip sunset sunrise horizon valley desert island shore coast pond stream landscape reflection shadow shade fire "
    "smoke fog mist rain"
)
_BUILT = (
    "building house tower church bridge wall roof window door fence street road path lighthouse castle temple stairs "
    "balcony ceiling floor room kitchen bedroom bathroom stage city skyline skyscraper pavement sidewalk column brick "
    "tile chimney barn statue sculpture monument fountain bench lamp streetlight tunnel station platform harbor pier "
    "dock facade arch dome courtyard corridor hall village town market shop store restaurant gate"
)
_VEHICLES = (
    "car vehicle bus truck train bicycle bike motorcycle boat ship plane airplane aircraft helicopter van taxi tram "
    "wheel tire windshield ferry canoe kayak scooter tractor"
)
_THINGS = (
    "cup mug spoon fork knife plate bowl bottle glass table chair sofa bed desk book newspaper poster sign text "
    "letter logo label license number_plate license_plate umbrella bag box basket ball toy guitar piano violin clock "
    "watch flag candle vase painting portrait mirror curtain carpet pillow blanket towel keyboard computer laptop "
    "monitor television tv cable pole rope net food fruit apple banana cake bread pizza vegetable meat coffee dish "
    "drink subject main_subject main_object instrument machine tool_box furniture lantern balloon tent backpack "
    "helmet traffic_light street_light light_bulb lights mountain_range living_room dining_room wood metal fabric "
    "cloth leather paper statue doll teddy_bear"
)

PICTURE_NOUNS = frozenset(
    word.replace("_", " ")
    for group in (_PEOPLE, _BODY, _CLOTHES, _ANIMALS, _NATURE, _BUILT, _VEHICLES, _THINGS)
    for word in group.split()
)

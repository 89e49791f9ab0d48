"""The small words of English that a question is built of, and the nouns that name no part of a picture."""

from __future__ import annotations

from agenticiqa.models.offline.language.word_lists import word_set

DETERMINERS = word_set(
    "the a an this that these those some any each every all both no another such several many few more most other one "
    "two three four five six seven eight nine ten first second third last either neither his her its their my your "
    "our whose only same next"
)
PRONOUNS = word_set(
    "i you he she it we they me him us them someone anyone something anything nothing one's everything everyone "
    "itself themselves mine yours here there"
)  # fmt: skip
AUXILIARIES = word_set(
    "is are was were be been being am do does did has have had can could should shall will would may might must"
)
QUESTION_WORDS = word_set("what which who whom whose why where when how whether")
CONJUNCTIONS = word_set("and or but nor while whereas if because so that than as plus versus vs & yet")
NEGATIONS = word_set("not no never without hardly barely neither nor lack lacks lacking free nothing none")

# "X on Y" describes X by where it is; these prepositions tie two names into one.
TYING_PREPOSITIONS = word_set(
    "of on in at near behind beside under above below inside around between beneath over along against among beyond "
    "outside across within with by"
) | {"next to", "in front of", "on top of", "close to", "to the left of", "to the right of"}
OTHER_PREPOSITIONS = word_set(
    "to from for about through during into onto upon via toward towards after before since until like per despite "
    "regarding concerning using according off out up down away back together"
) | {"according to", "compared to", "compared with", "with respect to", "in terms of", "in comparison to",
     "in comparison with", "relative to", "as well as", "because of", "due to", "such as", "based on", "with regard to",
     "with the help of", "in relation to", "by means of"}  # fmt: skip

DEGREE_WORDS = word_set(
    "very slightly quite too so extremely really somewhat rather highly little bit much enough fairly pretty totally "
    "completely barely heavily strongly severely noticeably most more less least just almost entirely fully well "
    "still also even ever already again together perhaps maybe now then ok okay yes please kindly thanks thank hello "
    "hi hey dear plz pls sorry lot overly sufficiently"
)

# Verbs by their base; other forms are built by rule in the lexicon.
VERBS = word_set(
    "look appear seem show contain have suffer exhibit display affect find see notice observe tell check use apply "
    "run compute calculate measure evaluate rate score grade judge assess quantify estimate describe explain list "
    "name identify compare make give get take capture render reproduce preserve think believe say know want like need "
    "try help let come go become remain keep cause lead degrade reduce introduce detect locate point mention consider "
    "determine decide choose select pick answer ask suggest indicate reveal present perceive view inspect examine "
    "analyze analyse provide offer report state mind wonder feel stand put set turn happen occur lie sit exist spot "
    "impair ruin spoil damage hurt lower bother distract fit match meet hold wear do print share improve enhance fix "
    "lose visualize comment discuss confirm verify prove summarize output return write read dominate support mean "
    "cover call guess recognize distinguish tell start end add bring work create convey express evoke shoot test "
    "corrupt contaminate plague distort process edit alter change"
)
IRREGULAR_VERBS = word_set(
    "seen shown saw took taken made gave given found told got gotten held thought knew known said came went gone "
    "became lost kept lay sat stood felt meant brought wore worn shot wrote written chose chosen hidden hid drawn "
    "drew built broken used rendered based"
)

# Nouns for the whole picture or for no thing in particular: never an object of the scope.
GENERIC_NOUNS = word_set(
    "image picture photo photograph snapshot shot frame pic img scene view quality version original reference test "
    "copy file content thing part area region zone section portion object element item everything whole entirety "
    "overall input sample capture snap photography pix screen footage place location spot still"
)
GENERIC_MODIFIERS = word_set(
    "whole entire overall complete given attached test distorted reference original provided following above first "
    "second third current present uploaded shown displayed full total general visual technical perceptual perceived "
    "pristine undistorted source final certain different various particular specific possible visible own obvious "
    "apparent noticeable main major primary biggest worst serious important significant dominant prominent key "
    "top-level severe strong heavy slight moderate mild minor extreme strongest weakest heaviest real true actual "
    "best better worse good bad poor great excellent fair acceptable high low higher lower lowest highest higher "
    "correct proper right wrong normal natural accurate realistic sufficient adequate suitable"
)
ABSTRACT_NOUNS = word_set(
    "level degree extent scale score rating grade amount kind type sort problem issue reason cause factor way answer "
    "option question term point number range metric measure tool method algorithm index difference effect flaw defect "
    "artifact distortion degradation impairment error fault trouble deficiency shortcoming mos fidelity opinion "
    "judgment judgement assessment evaluation analysis description explanation result value percent percentage size "
    "strength severity intensity visibility impression look appearance aspect condition state characteristic property "
    "feature camera lens photographer sensor phone smartphone shutter iso viewer observer human expert someone fact "
    "case example list sentence word instruction prompt system user assistant help chance doubt idea opinion detail "
    "purpose print screen display moment time help loss presence absence lack cast comparison respect regard "
    "perception standard sense processing editing filter correction mistake experience criterion criteria trace "
    "evidence hint kindness favor attribute quantity accuracy performance change motion movement gradient transition "
    "relationship country continent season month year weather feeling language"
)

# "the tall tree" but "is the tree tall": descriptions that may stand before a noun and end a name after it.
ADJECTIVES = word_set(
    "red green blue yellow orange purple pink brown black white gray golden silver beige violet turquoise teal maroon "
    "big large small tiny huge tall short long wide narrow old young new ancient modern little high low wooden metal "
    "round square tiled striped furry fluffy shiny empty full wet dry clean dirty open closed broken visible "
    "beautiful distant nearby close far hot cold warm cool deep shallow thick thin heavy smooth rough flying sitting "
    "standing running walking singing dancing playing smiling sleeping left-hand right-hand main central outer inner "
    "upper lower real fake natural artificial snowy rainy sunny cloudy colored blond blonde bald famous foreign local "
    "rural urban hard easy difficult possible impossible able ready true right correct acceptable good bad poor great "
    "fine nice excellent terrible awful perfect decent better best worse worst adequate sufficient proper normal "
    "accurate realistic balanced even uneven visible noticeable severe strong slight moderate serious obvious overall "
    "present absent lower higher responsible typical frozen caught torn bent fallen hung hidden worn thrown grown "
    "sunk swept woven parked"
)

NOT_ADVERBS = word_set(
    "family butterfly lily fly belly jelly bully ally dolly lolly trolley holly reply italy assembly anomaly "
    "dragonfly firefly gully rally tally ply"
)

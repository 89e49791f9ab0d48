"""The words that answer options are made of: yes and no, levels, degrees, sides of a comparison."""

from __future__ import annotations

from agenticiqa.models.offline.language.word_lists import word_set

YES = word_set("yes yes_it_is yes_it_does yes_they_are yes_there_is true correct right yeah yep sure")
NO = word_set("no no_it_is_not no_it_does_not no_they_are_not no_there_is_not false incorrect nope")

LEVELS = {
    "excellent": 5, "perfect": 5, "very good": 5, "outstanding": 5, "superb": 5, "great": 5, "very high quality": 5,
    "good": 4, "fine": 4, "high quality": 4, "above average": 4, "decent": 4, "satisfactory": 4,
    "fair": 3, "average": 3, "acceptable": 3, "ok": 3, "okay": 3, "normal": 3, "medium quality": 3, "mediocre": 3,
    "adequate": 3, "ordinary": 3, "so so": 3,
    "poor": 2, "low quality": 2, "below average": 2, "inferior": 2, "unsatisfactory": 2, "not good": 2,
    "bad": 1, "terrible": 1, "very poor": 1, "very bad": 1, "awful": 1, "unacceptable": 1, "horrible": 1,
    "very low quality": 1, "5": 5, "4": 4, "3": 3, "2": 2, "1": 1,
}  # fmt: skip

# How much of it: the words of degree on the scale of severities, longest phrases first when they are searched.
DEGREES = {
    "not at all": "none", "none": "none", "no": "none", "not": "none", "absent": "none", "never": "none",
    "nothing": "none", "not noticeable": "none", "invisible": "none", "imperceptible": "none", "no sign": "none",
    "zero": "none", "without": "none", "free of": "none", "not visible": "none",
    "a little": "slight", "a little bit": "slight", "a bit": "slight", "slight": "slight", "slightly": "slight",
    "somewhat": "slight", "mild": "slight", "mildly": "slight", "minor": "slight", "weak": "slight", "low": "slight",
    "light": "slight", "lightly": "slight", "barely": "slight", "hardly": "slight", "marginal": "slight",
    "marginally": "slight", "not very": "slight", "not much": "slight", "just noticeable": "slight",
    "moderate": "moderate", "moderately": "moderate", "medium": "moderate", "fairly": "moderate", "some": "moderate",
    "rather": "moderate", "quite": "moderate", "partly": "moderate", "partially": "moderate", "average": "moderate",
    "very": "severe", "severe": "severe", "severely": "severe", "heavy": "severe", "heavily": "severe",
    "strong": "severe", "strongly": "severe", "high": "severe", "highly": "severe", "a lot": "severe",
    "much": "severe", "serious": "severe", "seriously": "severe", "badly": "severe", "too": "severe", "so": "severe",
    "really": "severe", "obvious": "severe", "clearly": "severe", "very much": "severe", "noticeably": "severe",
    "insufficient": "severe", "not enough": "severe",
    "extreme": "extreme", "extremely": "extreme", "completely": "extreme", "totally": "extreme", "fully": "extreme",
    "entirely": "extreme", "unrecognizable": "extreme", "very severe": "extreme", "very severely": "extreme",
    "very strong": "extreme", "very high": "extreme", "very heavy": "extreme", "absolutely": "extreme",
}  # fmt: skip
LONGEST_DEGREE = max(len(words.split()) for words in DEGREES)

SIDES = {
    "both": "both", "both of them": "both", "equal": "same", "equally": "same", "the same": "same", "same": "same",
    "no difference": "same", "identical": "same", "neither": "neither", "neither of them": "neither",
    "first": "first", "the first": "first", "the first one": "first", "the first image": "first", "image 1": "first",
    "image one": "first", "second": "second", "the second": "second", "the second one": "second",
    "the second image": "second", "image 2": "second", "image two": "second", "better": "better", "worse": "worse",
    "the reference": "reference", "reference": "reference", "the original": "reference", "original": "reference",
    "the left image": "left", "left image": "left", "the right image": "right", "right image": "right",
    "similar": "same", "the test image": "test", "the distorted image": "test", "none of them": "neither",
}  # fmt: skip
JUST_RIGHT = word_set(
    "just_right neutral appropriate balanced suitable proper natural well_balanced about_right sufficient enough"
)

# Said of an attribute: "appropriate brightness", "poor contrast".
PRAISING = word_set(
    "appropriate proper normal correct good balanced suitable sufficient adequate natural excellent right accurate "
    "enough great fine ideal perfect decent even"
)
COMPLAINING = word_set(
    "poor bad low insufficient wrong unnatural inaccurate improper inadequate incorrect uneven weak terrible abnormal"
)
STRENGTHENING = word_set("fairly rather quite pretty really relatively somewhat very extremely")
NO_ANSWER = word_set(
    "can_not_tell not_sure unknown hard_to_say can_not_be_determined none_of_the_above all_of_the_above other others "
    "do_not_know can_not_say"
)

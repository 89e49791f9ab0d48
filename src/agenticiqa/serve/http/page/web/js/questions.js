// Questions to begin with.

const GENERAL = [
  "Rate the perceptual quality of the image.",
  "Is the picture sharp?",
  "Which distortion is most visible?",
  "Is the picture too dark?",
  "How much noise is there?",
  "What is worst? A. Blur B. Noise C. Compression",
];

export const DEFAULT_QUESTION = GENERAL[0];

/** What to suggest, given what is done and what there is: a region's name, a reference. */
export function suggestions({ region = null, reference = false, kind = "assess" } = {}) {
  if (kind === "compare") return [GENERAL[0], GENERAL[2]];
  if (region) {
    return [`How sharp is the ${region}?`, `Which distortion affects the ${region} most?`, `Rate the quality of the ${region}.`];
  }
  return reference ? [GENERAL[0], "Rate the quality compared with the reference.", ...GENERAL.slice(1)] : GENERAL;
}

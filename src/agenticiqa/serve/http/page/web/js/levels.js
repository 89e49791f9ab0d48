// The five levels, and what is computed from probabilities over them.

import { t } from "./words.js";

export const LEVELS = [1, 2, 3, 4, 5];
export const LEVEL_NAMES = Object.fromEntries(LEVELS.map((level) => [level, t(`level.${level}`)]));
export const COVERED = 0.8;

/** The level whose band holds a score: 2.5 and more is Fair, and so on. */
export function levelOf(score) {
  return Math.min(5, Math.max(1, Math.floor(score + 0.5)));
}

/** The model's probabilities times the tools' weights, normalised: the distribution whose mean is the fused score. */
export function fusedWeights(fusion) {
  const products = LEVELS.map((level) => at(fusion.p, level) * at(fusion.alpha, level));
  const total = products.reduce((sum, each) => sum + each, 0);
  return total > 0 ? products.map((each) => each / total) : null;
}

export function at(byLevel, level) {
  return Number(byLevel?.[level] ?? 0);
}

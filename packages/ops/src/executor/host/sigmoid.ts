/** The logistic function σ(x) = 1 / (1 + e⁻ˣ); e⁻ˣ may overflow to Infinity, which gives the right limit 0. */
export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

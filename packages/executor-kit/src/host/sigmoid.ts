/**
 * The logistic function σ(x) = 1 / (1 + e⁻ˣ); e⁻ˣ may overflow to Infinity, which gives the right limit 0.
 *
 * @example
 * ```ts
 * import { sigmoid } from '@cudnn-rnn/executor-kit'
 *
 * console.log(sigmoid(0), sigmoid(-1000)) // 0.5 0
 * ```
 */
export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

/** Steps over which the learning rate rises from 0. */
const WARM_UP_STEPS = 20

/** The share of the learning rate that is left at the last step. */
const FINAL_SHARE = 0.1

/** Linear warm-up, then a cosine from the full rate down to a tenth of it at the last step; `step` counts from 0. */
export function learningRateAt(step: number, plan: { readonly steps: number; readonly learningRate: number }): number {
  const warmUp = Math.min(1, (step + 1) / WARM_UP_STEPS)
  const cosine = (1 + Math.cos((Math.PI * step) / plan.steps)) / 2
  return plan.learningRate * warmUp * (FINAL_SHARE + (1 - FINAL_SHARE) * cosine)
}

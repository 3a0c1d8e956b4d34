import type { FloatArray } from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  checkArguments,
  checkOptions,
  codedRangeError,
  kind,
  methods,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { hyperparameter, type Philox } from '@cudnn-rnn/ops/executor'

export const SAMPLING_OPTIONS = {
  /** Logits are divided by it; default 1. 0 takes the most likely id always. */
  temperature: optional(hyperparameter({ minimum: 0 })),
  /** Only the k most likely ids; default all. */
  topK: optional(hyperparameter({ minimum: 1 })),
  /** Only the fewest most likely ids whose probabilities reach this sum (Holtzman et al. 2020); default 1, all. */
  topP: optional(hyperparameter({ minimum: Number.MIN_VALUE })),
}

export interface SamplingOptions extends OptionsOf<typeof SAMPLING_OPTIONS> {}

const ARGUMENTS = {
  logits: kind('a Float32Array or Float64Array', (logits): logits is FloatArray =>
    /^Float(32|64)Array$/.test(arrayTypeOf(logits) ?? ''),
  ),
  random: methods('a generator: new Philox(seed)', 'uniform'),
}

/**
 * Draws an id from the distribution that logits [V] describe. Draws one uniform number, also at temperature 0.
 *
 * @throws RangeError `ERR_HYPERPARAMETER`; `ERR_NOT_FINITE` for logits of which none is finite or one is NaN or +∞
 * @example
 * ```ts
 * import { Philox } from '@cudnn-rnn/rnn/executors'
 * import { sampleToken } from '@cudnn-rnn/rnn/train'
 *
 * const logits = Float32Array.of(0, 3, 1)
 * console.log(sampleToken(logits, new Philox(1), { temperature: 0 })) // 1
 * const ids = Array.from({ length: 5 }, (_, seed) => sampleToken(logits, new Philox(seed), { topK: 2 }))
 * console.log(ids.every((id) => id === 1 || id === 2)) // true
 * ```
 */
export function sampleToken(logits: FloatArray, random: Philox, options: SamplingOptions = {}): number {
  const action = 'sample'
  checkArguments(action, { logits, random }, ARGUMENTS)
  const {
    temperature = 1,
    topK = Math.max(1, logits.length),
    topP = 1,
  } = checkOptions(action, options, SAMPLING_OPTIONS)
  const uniform = random.uniform()
  const ids = Array.from({ length: logits.length }, (_, id) => id)
  // Equal logits keep the order of their ids.
  ids.sort((a, b) => logits[b] - logits[a] || a - b)
  const best = logits[ids[0]]
  if (best === undefined || !Number.isFinite(best) || logits.some((logit) => Number.isNaN(logit))) {
    throw codedRangeError(
      'ERR_NOT_FINITE',
      `Cannot ${action} as the largest logit must be finite: current value is ${best}`,
      {
        value: best,
      },
    )
  }
  if (temperature === 0) return ids[0]
  const kept = ids.slice(0, topK)
  const shares = kept.map((id) => Math.exp((logits[id] - best) / temperature))
  const nucleus = reaching(shares, topP * sum(shares))
  let left = uniform * sum(shares.slice(0, nucleus))
  for (let k = 0; k < nucleus; k++) {
    left -= shares[k]
    if (left < 0) return kept[k]
  }
  return kept[nucleus - 1]
}

/** How many leading shares it takes for their sum to reach `target`; at least one. */
function reaching(shares: readonly number[], target: number): number {
  let total = 0
  for (const [index, share] of shares.entries()) {
    total += share
    if (total >= target) return index + 1
  }
  return shares.length
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

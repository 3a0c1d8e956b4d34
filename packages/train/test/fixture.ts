import { readFileSync } from 'node:fs'

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/train/${name}.json`, import.meta.url), 'utf8'))

export type Trajectories = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>

/** fixtures/train/pytorch.json, made by make_pytorch.py beside it. */
export const pytorch: {
  readonly optimizers: Trajectories
  readonly losses: Readonly<
    Record<string, { readonly loss: number; readonly gradients: Readonly<Record<string, readonly number[]>> }>
  >
  readonly schedules: Readonly<Record<string, readonly number[]>>
} = read('pytorch')

/** fixtures/train/tensorflow.json, made by make_tensorflow.py beside it. */
export const tensorflow: {
  readonly optimizers: Trajectories
  readonly rawMomentum: readonly number[]
  readonly clipByGlobalNorm: { readonly norm: number; readonly clipped: readonly (readonly number[])[] }
  readonly clipByValue: readonly number[]
} = read('tensorflow')

/** value[k] = scale·sin(frequency·(k+1) + phase), as fixtures/train/fills.py. */
export function filled(count: number, scale: number, frequency: number, phase: number): Float64Array {
  return Float64Array.from({ length: count }, (_, k) => scale * Math.sin(frequency * (k + 1) + phase))
}

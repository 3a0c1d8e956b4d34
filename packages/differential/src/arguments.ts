import { DTYPES, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { type Argument, EXTREME_VALUES, type Extreme, type Fault } from './program.js'
import type { ProgramState } from './program_state.js'

/** An argument, and the objects to release when its call is over (or, as a test of the executor, when it has begun). */
export interface MadeArgument {
  readonly tensor: TensorLike
  readonly release: () => void
}

const WRONG_SHAPES: Partial<Record<Fault, (shape: readonly number[]) => number[]>> = {
  rank: (shape) => (shape.length > 1 ? shape.slice(1) : [1, ...shape]),
  size: (shape) => (shape.length === 0 ? [2] : [...shape.slice(0, -1), shape[shape.length - 1] + 1]),
  batch: (shape) => (shape.length < 2 ? [7, ...shape] : shape.map((size, axis) => size + +(axis === shape.length - 2))),
  empty: (shape) => [0, ...shape.slice(1)],
}

/** Makes a tensor of `shape` in the executor's dtype, or something wrong in its place. `scale` 0 makes it zeros. */
export function makeArgument(
  programState: ProgramState,
  shape: readonly number[],
  argument: Argument,
  scale = 1,
): MadeArgument {
  const { backend, elsewhere } = programState
  const { form, fill, extremes = [], fault } = argument
  const host = hostTensor(
    (fault === undefined ? undefined : WRONG_SHAPES[fault]?.(shape)) ?? shape,
    fault === 'integers' ? 'int32' : (backend.dtype === 'float64') === (fault === 'otherFloat') ? 'float32' : 'float64',
    fill,
    scale,
  )
  for (const extreme of extremes) placeExtreme(host.data, extreme)
  const wrong: Partial<Record<Fault, () => unknown>> = {
    array: () => [1, 2, 3],
    nothing: () => undefined,
    unfilled: () => ({ ...host, shape: [...shape.slice(0, -1), (shape.at(-1) ?? 1) + 1] }),
    negative: () => ({ ...host, shape: [-1, ...shape.slice(1)] }),
  }
  if (fault !== undefined && wrong[fault] !== undefined) return { tensor: wrong[fault]() as Tensor, release: () => {} }
  if (fault === 'foreign') {
    const tensor = elsewhere.tensor(host)
    return { tensor, release: () => tensor.dispose() }
  }
  if ((form === 'host' && fault !== 'disposed') || fault === 'otherFloat') return { tensor: host, release: () => {} }
  const tensor = backend.tensor(host)
  if (fault === 'disposed') tensor.dispose()
  return { tensor, release: () => tensor.dispose() }
}

/** Some values: zeros, waves, or waves so large that cells saturate. */
function hostTensor(shape: readonly number[], dtype: keyof typeof DTYPES, fill: number, scale: number): Tensor {
  const data = new DTYPES[dtype].array(elementCount(shape))
  const height = scale * (fill % 8 === 7 ? 0 : fill % 8 === 6 ? 20 : 0.8)
  for (let k = 0; k < data.length; k++) data[k] = height * Math.sin(0.37 * (k + 1) + fill)
  return { data: data as FloatArray | Int32Array, shape } as Tensor
}

/** Integers have no extreme values. */
export function placeExtreme(data: Tensor['data'], { value, at }: Extreme): void {
  if (data.length > 0 && !(data instanceof Int32Array)) data[at % data.length] = EXTREME_VALUES[value]
}

/** Several arguments of one call. Arguments of odd fills may be let go of as soon as it has begun, the others when it is over. */
export class Arguments {
  readonly #state: ProgramState
  readonly #mayBeEarly: boolean
  readonly #early: (() => void)[] = []
  readonly #late: (() => void)[] = []

  constructor(programState: ProgramState, { early = true } = {}) {
    this.#state = programState
    this.#mayBeEarly = early
  }

  make(shape: readonly number[], argument: Argument, scale?: number): TensorLike {
    const { tensor, release } = makeArgument(this.#state, shape, argument, scale)
    ;(this.#mayBeEarly && argument.fill % 2 === 1 ? this.#early : this.#late).push(release)
    return tensor
  }

  /** Absent arguments stay absent. */
  maybe(shape: readonly number[], argument: Argument | undefined): TensorLike | undefined {
    return argument && this.make(shape, argument)
  }

  /** Releases around a call: as soon as `begin` returns, and when its result settles. */
  async around<Result>(begin: () => Promise<Result>): Promise<Result> {
    let result: Promise<Result>
    try {
      result = begin()
    } finally {
      for (const release of this.#early) release()
    }
    try {
      return await result
    } finally {
      for (const release of this.#late) release()
    }
  }
}

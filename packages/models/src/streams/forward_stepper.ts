import {
  type Backend,
  DTYPES,
  type DType,
  type Rnn,
  type RnnQueuedStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, hiddenColumns, type Tensor } from '@cudnn-rnn/canonical'
import { allocating, dtypeOf, passShapes } from '@cudnn-rnn/ops/executor'

/** Steps on an executor that has no stepper: the state is read back after every step and given to the next. */
export class ForwardStepper implements RnnQueuedStepper {
  readonly batch: number
  readonly #backend: Backend
  readonly #rnn: Rnn
  readonly #params: TensorLike
  #h: Tensor
  #c: Tensor | undefined

  constructor(backend: Backend, rnn: Rnn, params: TensorLike, batch: number) {
    this.#params = params
    this.#backend = backend
    this.#rnn = rnn
    this.batch = batch
    const { h, c } = passShapes(rnn.descriptor, { time: 1, batch })
    this.#h = this.#zeros(h)
    this.#c = c && this.#zeros(c)
  }

  async step(input: Tensor): Promise<Tensor> {
    const { y, h, c } = await this.#forward(input, this.#h, this.#c)
    this.#h = h
    this.#c = c
    return y
  }

  async stepRows(rows: Int32Array, input: Tensor): Promise<Tensor> {
    const { inputSize } = this.#rnn.descriptor
    const columns = hiddenColumns(this.#rnn.descriptor)
    // Executors prepare themselves for every number of rows: powers of two are few.
    const count = 2 ** Math.ceil(Math.log2(rows.length))
    const padded = this.#zeros([1, count, inputSize])
    padded.data.set(input.data)
    const gathered = { h: gatherRows(this.#h, rows, count), c: this.#c && gatherRows(this.#c, rows, count) }
    const { y, h, c } = await this.#forward(padded, gathered.h, gathered.c)
    scatterRows(this.#h, rows, h)
    if (this.#c && c) scatterRows(this.#c, rows, c)
    return { data: y.data.slice(0, rows.length * columns), shape: [rows.length, columns] }
  }

  reset(rows?: Int32Array): void {
    for (const state of [this.#h, this.#c]) {
      if (state === undefined) continue
      const [layers = 0, batch = 0, columns = 0] = state.shape
      if (rows === undefined) state.data.fill(0)
      for (let layer = 0; layer < layers; layer++) {
        for (const row of rows ?? []) {
          const begin = (layer * batch + row) * columns
          state.data.fill(0, begin, begin + columns)
        }
      }
    }
  }

  async state(rows?: Int32Array): Promise<RnnStreamState> {
    const copy = (states: Tensor) => (rows === undefined ? copied(states) : gatherRows(states, rows))
    return { h: copy(this.#h), c: this.#c && copy(this.#c) }
  }

  restore({ h, c }: RnnStreamState, rows?: Int32Array): void {
    if (rows === undefined) {
      this.#h = copied(h)
      this.#c = c && copied(c)
    } else {
      scatterRows(this.#h, rows, h)
      if (this.#c && c) scatterRows(this.#c, rows, c)
    }
  }

  dispose(): void {}

  /** One inference from the states given; host copies of its results. */
  async #forward(input: Tensor, inputH: Tensor, inputC: Tensor | undefined) {
    const { output, outputH, outputC } = await this.#rnn.forward({
      ...{ input, inputH, inputC: inputC ?? null, params: this.#params },
      ...{ sequenceLengths: null, training: false },
    })
    try {
      const [y, h, c] = await Promise.all([output.read(), outputH.read(), outputC?.read()])
      return { y: copied(y), h: copied(h), c: c && copied(c) }
    } finally {
      for (const tensor of [output, outputH, outputC]) tensor?.dispose()
    }
  }

  #zeros(shape: readonly number[]): Tensor {
    const { array } = DTYPES[this.#backend.dtype]
    return { data: allocating('open a stream', () => new array(elementCount(shape)) as FloatArray), shape }
  }
}

function copied({ data, shape }: Tensor): Tensor {
  return { data: data.slice(), shape }
}

/** Copies the batch rows `rows` of `states` [L,B,·] to a tensor [L,count,·]; rows past theirs are zeros. */
export function gatherRows(states: Tensor, rows: Int32Array, count = rows.length): Tensor {
  const [layers = 0, batch = 0, columns = 0] = states.shape
  const shape = [layers, count, columns]
  // `count` may be more than B.
  const data = new DTYPES[dtypeOf(states.data) as DType].array(elementCount(shape)) as FloatArray
  for (let layer = 0; layer < layers; layer++) {
    for (const [index, row] of rows.entries()) {
      const begin = (layer * batch + row) * columns
      data.set(states.data.subarray(begin, begin + columns), (layer * count + index) * columns)
    }
  }
  return { data, shape }
}

/** Copies the first rows of `from` [L,count,·] to the batch rows `rows` of `states` [L,B,·]. */
export function scatterRows(states: Tensor, rows: Int32Array, from: Tensor): void {
  const [layers = 0, batch = 0, columns = 0] = states.shape
  const [, count = 0] = from.shape
  for (let layer = 0; layer < layers; layer++) {
    for (const [index, row] of rows.entries()) {
      const begin = (layer * count + index) * columns
      states.data.set(from.data.subarray(begin, begin + columns), (layer * batch + row) * columns)
    }
  }
}

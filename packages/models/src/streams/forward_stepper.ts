import {
  type Backend,
  DTYPES,
  type Rnn,
  type RnnQueuedStepper,
  type RnnStreamState,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { type FloatArray, hiddenColumns, type Tensor } from '@cudnn-rnn/canonical'
import { HostStates, passShapes, type RowNumbers } from '@cudnn-rnn/ops/executor'

/** Steps on an executor that has no stepper: the state is read back after every step and given to the next. */
export class ForwardStepper implements RnnQueuedStepper {
  readonly batch: number
  readonly #backend: Backend
  readonly #rnn: Rnn
  readonly #params: TensorLike
  /** h and, of an LSTM, c. */
  readonly #states: HostStates

  constructor(backend: Backend, rnn: Rnn, params: TensorLike, batch: number) {
    this.#params = params
    this.#backend = backend
    this.#rnn = rnn
    this.batch = batch
    const { h, c } = passShapes(rnn.descriptor, { time: 1, batch })
    this.#states = new HostStates(backend.dtype, c === undefined ? [h] : [h, c])
  }

  step(input: Tensor): Promise<Tensor> {
    return this.#forward(input, this.#states.copy())
  }

  async stepRows(rows: Int32Array, input: Tensor): Promise<Tensor> {
    const { inputSize } = this.#rnn.descriptor
    const columns = hiddenColumns(this.#rnn.descriptor)
    // Executors prepare themselves for every number of rows: powers of two are few.
    const count = 2 ** Math.ceil(Math.log2(rows.length))
    const padded: FloatArray = new DTYPES[this.#backend.dtype].array(count * inputSize)
    padded.set(input.data as FloatArray)
    const { data } = await this.#forward(
      { data: padded, shape: [1, count, inputSize] },
      this.#states.copy(rows, count),
      rows,
    )
    return { data: data.slice(0, rows.length * columns), shape: [rows.length, columns] }
  }

  reset(rows?: RowNumbers): void {
    this.#states.reset(rows)
  }

  async state(rows?: RowNumbers): Promise<RnnStreamState> {
    const [h, c] = this.#states.copy(rows)
    return { h, c }
  }

  restore({ h, c }: RnnStreamState, rows?: RowNumbers): void {
    this.#states.put(c === undefined ? [h] : [h, c], rows)
  }

  dispose(): void {}

  /** One inference from the states given, which leaves its own; a host copy of its output. */
  async #forward(input: Tensor, [inputH, inputC]: readonly Tensor[], rows?: RowNumbers): Promise<Tensor> {
    const { output, outputH, outputC } = await this.#rnn.forward({
      ...{ input, inputH, inputC: inputC ?? null, params: this.#params },
      ...{ sequenceLengths: null, training: false },
    })
    const results = [output, outputH, ...(outputC === undefined ? [] : [outputC])]
    try {
      const [{ data, shape }, ...states] = await Promise.all(results.map((tensor) => tensor.read()))
      this.#states.put(states, rows)
      return { data: data.slice(), shape }
    } finally {
      for (const tensor of results) tensor.dispose()
    }
  }
}

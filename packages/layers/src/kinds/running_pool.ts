import { describeValue, type FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError } from '../coded_error.js'
import { hostTensor } from '../host_tensor.js'
import type { LayerStream } from '../layer_stream.js'

/** The steps since the reset and, by column, their sum or maximum, for each row of the batch. */
interface RunningPool {
  readonly counts: readonly number[]
  /** [B,E] */
  readonly values: readonly number[]
}

/** The stream of a mean or maximum over time: at each step that over the steps since the reset. Computed on the host. */
export function runningPool(
  layer: { readonly name: string; readonly features: number },
  array: typeof Float32Array | typeof Float64Array,
  batch: number,
  pooling: 'mean' | 'max',
): LayerStream {
  const width = layer.features
  const counts = new Float64Array(batch)
  const values = new Float64Array(batch * width)
  const advance = (data: FloatArray, step: number, y: FloatArray) => {
    for (let row = 0; row < batch; row++) {
      const count = ++counts[row]
      for (let k = row * width; k < (row + 1) * width; k++) {
        const x = data[step * values.length + k]
        if (pooling === 'mean') values[k] += x
        else values[k] = count === 1 ? x : Math.max(values[k], x)
        y[step * values.length + k] = pooling === 'mean' ? values[k] / count : values[k]
      }
    }
  }
  return {
    async step(input) {
      const { data, shape } = await hostTensor(input)
      const y = new array(data.length)
      for (let step = 0; step < (shape[0] ?? 0); step++) advance(data as FloatArray, step, y)
      return { data: y, shape }
    },
    reset(rows = Array.from(counts.keys())) {
      for (const row of rows) {
        counts[row] = 0
        values.fill(0, row * width, (row + 1) * width)
      }
    },
    state: async (): Promise<RunningPool> => ({ counts: Array.from(counts), values: Array.from(values) }),
    restore(state) {
      const saved = state as Partial<RunningPool> | null
      const fits = (list: unknown, length: number): list is number[] =>
        Array.isArray(list) && list.length === length && list.every((value) => typeof value === 'number')
      if (!fits(saved?.counts, batch) || !fits(saved.values, values.length)) {
        throw codedRangeError(
          'ERR_LAYER_STATES',
          `Cannot restore the state of ${layer.name} as it must be what state() returned: current value is ${describeValue(state)}`,
          { layer: layer.name },
        )
      }
      counts.set(saved.counts)
      values.set(saved.values)
    },
    dispose() {},
  }
}

import type { FloatArray } from '@cudnn-rnn/canonical'
import { hostTensor } from '../host_tensor.js'
import { hostStream, type LayerStream } from '../layer_stream.js'

/**
 * The stream of a mean or maximum over time: at each step that over the steps since the reset. Computed on the host: its state is the
 * number of steps, [B,1], and of each column their sum or maximum, [B,E].
 */
export function runningPool(
  { name, features }: { readonly name: string; readonly features: number },
  array: typeof Float32Array | typeof Float64Array,
  batch: number,
  pooling: 'mean' | 'max',
): LayerStream {
  const form = {
    name,
    dtype: 'float64',
    shapes: [
      [batch, 1],
      [batch, features],
    ],
  } as const
  return hostStream(form, async (input, state) => {
    const [{ data: counts }, { data: values }] = state
    const { data, shape } = await hostTensor(input)
    const y = new array(data.length)
    for (const [at, x] of (data as FloatArray).entries()) {
      const k = at % values.length
      const row = Math.floor(k / features)
      if (k % features === 0) counts[row]++
      const count = counts[row]
      if (pooling === 'mean') values[k] += x
      else values[k] = count === 1 ? x : Math.max(values[k], x)
      y[at] = pooling === 'mean' ? values[k] / count : values[k]
    }
    return [{ data: y, shape }, state]
  })
}

import { integerFrom, listOf, typed, where } from '@cudnn-rnn/arguments'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'
import { Layer, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import { doesNotFit } from './layer_options.js'
import { featuresOf, type Signal } from './signal.js'
import { type WindowRule, type Windows, windowCount } from './windows.js'

/** Sizes of a layer of windows: of a sequence the height is 1, of columns of a picture the number of its rows. */
export interface WindowSizes extends WindowRule {
  readonly height: number
}

/** Rule of a size or strides along time and height. */
export const EXTENT = typed<readonly [time: number, height: number]>(
  where(listOf(integerFrom(1)), 'a list of two integers >= 1, along time and height', (sizes) => sizes.length === 2),
)

/** Columns of a step for each of its `height` rows. Throws RangeError `ERR_LAYERS_DO_NOT_FIT`. */
export function channelsOf(definition: LayerDefinition, input: Signal, { height, size, padding }: WindowSizes): number {
  const features = featuresOf(input)
  if (features % height !== 0) throw doesNotFit(definition, input, `[T,B,${height}·C]`)
  if (padding === 'valid' && height < size[1]) {
    throw doesNotFit(definition, input, `[T,B,E] of at least ${size[1]} rows: height is ${height}`)
  }
  return features / height
}

/** Rows of the output. */
export function outputHeight({ height, size, strides, padding }: WindowSizes): number {
  return windowCount(height, size[1], strides[1], padding === 'same' ? padding : 'valid')
}

/**
 * A layer whose output at a step depends on a window of the input. Windows are gathered as rows of a table, as an embedding
 * gathers vectors, and their gradients are scattered back: every executor has both.
 */
export abstract class WindowLayer extends Layer {
  protected readonly sizes: WindowSizes
  /** C */
  protected readonly channels: number

  constructor({ backend }: LayerBuild, info: LayerInfo, sizes: WindowSizes, channels: number) {
    super(backend, info)
    this.sizes = sizes
    this.channels = channels
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    const { size, strides, padding } = this.sizes
    return lengths.map((length) => windowCount(length, size[0], strides[0], padding))
  }

  protected batchOf({ shape }: TensorLike, lengths: Pass['lengths']) {
    const [time, batch] = shape as readonly [number, number]
    const { size, height, padding } = this.sizes
    const minimum = padding === 'valid' ? size[0] : typeof padding === 'number' ? size[0] - 2 * padding : 1
    if (time < minimum) {
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot call ${this.name} (${this.kind}) as a sequence must have at least ${minimum} steps: current number is ${time}`,
        { layer: this.name, minimum, value: time },
      )
    }
    return { time, batch, height, lengths }
  }

  /** The rows of x under the windows: [...shape, C]; `shape` is that of `places`. */
  protected gather(x: TensorLike, { places, hasZeros }: Windows, shape: readonly number[]): BackendTensor {
    const { backend, channels } = this
    const { ops } = backend
    const count = elementCount(x.shape)
    const ids = { data: places, shape }
    if (!hasZeros) {
      const table = reshaped(backend, x, [count / channels, channels])
      try {
        return ops.embedding(table.tensor, ids)
      } finally {
        table.own?.dispose()
      }
    }
    const row = reshaped(backend, x, [1, count])
    using _row = row.own
    using zeros = backend.zeros([1, channels])
    using joined = ops.concat([row.tensor, zeros])
    // Released early: `joined` is a copy.
    row.own?.dispose()
    using table = ops.reshape(joined, [count / channels + 1, channels])
    return ops.embedding(table, ids)
  }

  /** The gradient of x from that of the gathered rows. */
  protected scatter(
    gradient: BackendTensor,
    { places, hasZeros }: Windows,
    shape: readonly number[],
    inputShape: readonly number[],
  ): BackendTensor {
    const { ops } = this.backend
    const { channels } = this
    const count = elementCount(inputShape)
    const rows = count / channels + Number(hasZeros)
    using table = ops.embeddingGradient(rows, { data: places, shape }, gradient)
    if (!hasZeros) return ops.reshape(table, inputShape)
    using row = ops.reshape(table, [1, rows * channels])
    using own = ops.columns(row, 0, count)
    return ops.reshape(own, inputShape)
  }
}

/** A tensor with another shape; `own` is to be disposed. Host tensors are not copied. */
function reshaped(backend: Backend, x: TensorLike, shape: readonly number[]) {
  if (!isBackendTensor(x)) return { tensor: { data: x.data, shape } as TensorLike, own: undefined }
  const own = backend.ops.reshape(x, shape)
  return { tensor: own, own }
}

import { codedRangeError, entryOf, required, zerosLike, zip } from '@cudnn-rnn/canonical/rules'
import { flatLayout } from '../flat_layout.js'
import { checkCanonical } from '../packing.js'
import { paramRegions } from '../param_regions.js'
import type { RnnDescriptor } from '../rnn_descriptor.js'
import { type CanonicalParams, elementCount, type FloatArray, type Tensor } from '../tensor.js'
import type { FrameworkLayout, Placement, TensorGroup } from './framework_layout.js'
import { checkFrameworkLayout, checkNamedTensors } from './named_tensors.js'

/** A framework's tensors by name. */
export type NamedTensors<Data extends FloatArray = FloatArray> = Readonly<Record<string, Tensor<Data>>>

/**
 * Copies canonical tensors into new framework tensors, one record per group of `layout`.
 *
 * Biases that share a place are added (lossy: only their sum survives, which is all the forward pass depends on).
 *
 * @throws as `packCanonical`
 * @example
 * ```ts
 * import { canonicalToFramework, createRnnDescriptor, flatLayout, tensorflowLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * const [record] = canonicalToFramework(descriptor, tensorflowLayout(descriptor), canonical)
 * console.log(record?.kernel?.shape, record?.bias?.shape) // [7, 16] [16]
 * ```
 */
export function canonicalToFramework<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  layout: FrameworkLayout,
  canonical: CanonicalParams<Data>,
): NamedTensors<Data>[] {
  checkFrameworkLayout(layout)
  const isDouble = canonical?.weights?.[0]?.data instanceof Float64Array
  const like = (isDouble ? new Float64Array() : new Float32Array()) as Data
  const checked = checkCanonical(flatLayout(descriptor), canonical, like)
  const next = { weights: checked.weights.values(), biases: checked.biases.values() }
  return layout.groups.map((group) => {
    const tensors: Record<string, Tensor<Data>> = {}
    for (const [name, shape] of Object.entries(group.shapes)) {
      tensors[name] = { data: zerosLike(like, elementCount(shape)), shape }
    }
    for (const kind of ['weights', 'biases'] as const) {
      const filled = new Set<string>()
      for (const placement of group[kind]) {
        const place = placeKey(placement)
        const { data } = required(
          next[kind].next().value,
          'the groups of a layout have one placement for each canonical tensor',
        )
        scatter(data, tensors[placement.tensor].data, placement, filled.has(place))
        filled.add(place)
      }
    }
    return tensors
  })
}

/**
 * Copies framework tensors into new canonical tensors: the inverse of {@link canonicalToFramework}, bit for bit but for
 * biases stored as a sum, of which each canonical bias gets half, as TensorFlow's saveables do. A group without any
 * bias tensor (`bias=False`, `use_bias=False`, no `B`) has zero biases.
 *
 * @throws RangeError `ERR_TENSOR_GROUPS`, `ERR_MISSING_TENSOR`, `ERR_TENSOR_SHAPE`
 * @throws TypeError `ERR_UNKNOWN_TENSOR`, `ERR_TENSOR_DTYPE`
 * @example
 * ```ts
 * import { createRnnDescriptor, frameworkToCanonical, tensorflowLayout } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 2, inputSize: 1 })
 * const kernel = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] }
 * const { weights } = frameworkToCanonical(descriptor, tensorflowLayout(descriptor), [{ kernel }])
 * console.log(weights[1]?.data) // [3, 5, 4, 6]
 * ```
 */
export function frameworkToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  layout: FrameworkLayout,
  groups: readonly NamedTensors<Data>[],
): CanonicalParams<Data> {
  checkNamedTensors(layout, groups)
  const regions = paramRegions(descriptor)
  const gathered = (kind: 'weights' | 'biases') => {
    const placed = [...zip(layout.groups, groups)].flatMap(([group, tensors]) => {
      const sharers = countSharers(group)
      const like = Object.values(tensors)[0]?.data ?? (new Float32Array() as Data)
      return group[kind].map((placement) => ({ placement, sharers, tensors, like }))
    })
    return [...zip(regions[kind], placed)].map(([{ size, shape }, { placement, sharers, tensors, like }]) => {
      const data = zerosLike(like, size)
      const source = tensors[placement.tensor]
      if (source !== undefined) gather(source.data, data, placement, 1 / entryOf(sharers, placeKey(placement)))
      return { data, shape }
    })
  }
  return { weights: gathered('weights'), biases: gathered('biases') }
}

/** Refuses a GRU whose reset gate acts before the recurrent product, in the words of its framework. */
export function refuseResetBefore(framework: string, rule: string, value: unknown): never {
  throw codedRangeError(
    'ERR_GRU_RESET_BEFORE',
    `Cannot convert a ${framework} GRU to canonical parameters as ${rule}: current value is ${value}. A GRU that applies its reset gate before the recurrent product, R·(r⊙h), is another function than the canonical r⊙(R·h + b): no weights make them equal. Retrain it in the linear-before-reset form.`,
    { framework, value },
  )
}

function scatter(source: FloatArray, target: FloatArray, placement: Placement, add: boolean): void {
  const { rows, columns, offset, rowStride, columnStride } = placement
  for (let row = 0, from = 0; row < rows; row++) {
    for (let column = 0, to = offset + row * rowStride; column < columns; column++, to += columnStride) {
      const value = source[from++]
      target[to] = add ? target[to] + value : value
    }
  }
}

function gather(source: FloatArray, target: FloatArray, placement: Placement, share: number): void {
  const { rows, columns, offset, rowStride, columnStride } = placement
  for (let row = 0, to = 0; row < rows; row++) {
    for (let column = 0, from = offset + row * rowStride; column < columns; column++, from += columnStride) {
      target[to++] = source[from] * share
    }
  }
}

/** How many biases of a group are stored in one place; weights are alone in theirs. */
function countSharers({ weights, biases }: TensorGroup): Map<string, number> {
  const sharers = new Map<string, number>()
  for (const placement of [...weights, ...biases]) {
    const place = placeKey(placement)
    sharers.set(place, (sharers.get(place) ?? 0) + 1)
  }
  return sharers
}

function placeKey({ tensor, offset }: Placement): string {
  return `${tensor}@${offset}`
}

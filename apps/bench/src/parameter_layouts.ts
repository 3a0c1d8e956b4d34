import {
  type CanonicalParams,
  canonicalToOnnx,
  canonicalToPytorch,
  type NamedTensors,
  pytorchToCanonical,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

type Groups = readonly NamedTensors<Float32Array>[]
type Canonical = CanonicalParams<Float32Array>

/** How an implementation stores a network's parameters. */
interface ParameterLayout {
  readonly fromCanonical: (descriptor: RnnDescriptor, canonical: Canonical) => Groups
  /** Absent if no gradient is returned in this layout. */
  readonly toCanonical?: (descriptor: RnnDescriptor, groups: Groups) => Canonical
}

/** Every layout an implementation takes; `canonical` is one group of `weight_<k>` and `bias_<k>`. */
export const PARAMETER_LAYOUTS = {
  canonical: {
    fromCanonical: (_, { weights, biases }) => [
      Object.fromEntries([
        ...weights.map((tensor, k) => [`weight_${k}`, tensor] as const),
        ...biases.map((tensor, k) => [`bias_${k}`, tensor] as const),
      ]),
    ],
    toCanonical: (_, groups) => canonicalGroup(groups[0]),
  },
  onnx: { fromCanonical: canonicalToOnnx },
  pytorch: {
    fromCanonical: (descriptor, canonical) => [canonicalToPytorch(descriptor, canonical)],
    toCanonical: (descriptor, groups) => pytorchToCanonical(descriptor, groups[0]),
  },
} as const satisfies Readonly<Record<string, ParameterLayout>>

export type LayoutName = keyof typeof PARAMETER_LAYOUTS

/** The layout of that name, with its optional parts. */
export function parameterLayout(name: LayoutName): ParameterLayout {
  return PARAMETER_LAYOUTS[name]
}

/** The groups as one record, named "<group>/<tensor>": how they travel in a file. */
export function grouped(groups: Groups): NamedTensors<Float32Array> {
  return Object.fromEntries(
    groups.flatMap((group, index) => Object.entries(group).map(([name, tensor]) => [`${index}/${name}`, tensor])),
  )
}

/** The inverse of {@link grouped}; names without a group are left out. */
export function ungrouped(record: NamedTensors<Float32Array>): NamedTensors<Float32Array>[] {
  const groups: Record<string, Tensor<Float32Array>>[] = []
  for (const [path, tensor] of Object.entries(record)) {
    const [, index, name] = /^(\d+)\/(.*)$/.exec(path) ?? []
    if (index === undefined || name === undefined) continue
    groups[Number(index)] ??= {}
    groups[Number(index)][name] = tensor
  }
  return groups
}

/** Canonical lists from the names `weight_<k>` and `bias_<k>`. */
export function canonicalGroup(group: NamedTensors<Float32Array>): Canonical {
  const listed = (kind: string) => {
    const tensors: Tensor<Float32Array>[] = []
    for (let k = 0; group[`${kind}_${k}`] !== undefined; k++) tensors.push(group[`${kind}_${k}`])
    return tensors
  }
  return { weights: listed('weight'), biases: listed('bias') }
}

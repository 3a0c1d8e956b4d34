import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { checkParamsSize } from '../flat_layout.js'
import { type GateRegion, isGateRegion, type ParamRegion, paramRegions } from '../param_regions.js'
import type { RnnDescriptor } from '../rnn_descriptor.js'
import type { Framework } from './gate_order.js'

/**
 * The place of one canonical tensor inside a framework's tensor: its row-major elements, read as [rows,columns], are at
 * offset + row·rowStride + column·columnStride. One kind of block covers all cases: a slice, a transpose, a column range.
 */
export interface Placement {
  /** Name of the framework's tensor. */
  readonly tensor: string
  readonly offset: number
  readonly rows: number
  readonly columns: number
  readonly rowStride: number
  readonly columnStride: number
}

/** Framework tensors that belong together (one cell, one layer, one module) and the canonical tensors they hold. */
export interface TensorGroup {
  /** Shape by name, in the framework's own order. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** One placement per canonical tensor, in canonical order; two biases in one place are stored as their sum. */
  readonly weights: readonly Placement[]
  readonly biases: readonly Placement[]
}

/** A network's canonical tensors as a framework stores them: consecutive groups cover the canonical lists. */
export interface FrameworkLayout {
  readonly framework: Framework
  readonly groups: readonly TensorGroup[]
}

/** The structure of a framework's file; the lists follow from {@link paramRegions}. */
export interface LayoutRules {
  readonly framework: Framework
  /** How many consecutive pseudo-layers share one group. */
  readonly pseudoLayersPerGroup: number
  readonly shapes: (group: number) => Readonly<Record<string, readonly number[]>>
  readonly place: (region: GateRegion) => Placement
  /** The place of a projection; absent if the framework has none. */
  readonly placeProjection?: (region: ParamRegion) => Placement
}

/**
 * Builds the layout that `rules` state for `descriptor`.
 *
 * @throws RangeError `ERR_PARAMS_TOO_LARGE`; `ERR_UNSUPPORTED_BY_FRAMEWORK` for skip_input, a biasMode other than double, or numProj in a
 *   framework without projections
 */
export function frameworkLayout(descriptor: RnnDescriptor, rules: LayoutRules): FrameworkLayout {
  checkSupported(descriptor, rules)
  checkParamsSize(descriptor)
  const { weights, biases } = paramRegions(descriptor)
  const groupCount = (weights[weights.length - 1].pseudoLayer + 1) / rules.pseudoLayersPerGroup
  const groups = Array.from({ length: groupCount }, (_, group) => {
    return { shapes: rules.shapes(group), weights: [] as Placement[], biases: [] as Placement[] }
  })
  const groupOf = ({ pseudoLayer }: ParamRegion) => groups[Math.floor(pseudoLayer / rules.pseudoLayersPerGroup)]
  for (const kind of ['weights', 'biases'] as const) {
    for (const region of { weights, biases }[kind]) {
      const placement = isGateRegion(region) ? rules.place(region) : rules.placeProjection?.(region)
      if (placement !== undefined) groupOf(region)[kind].push(placement)
    }
  }
  return { framework: rules.framework, groups }
}

/** A region stored as it is, row after row, from `offset` on. */
export function rowsAt(tensor: string, offset: number, { shape }: ParamRegion): Placement {
  const [rows, columns] = matrixShape(shape)
  return { tensor, offset, rows, columns, rowStride: columns, columnStride: 1 }
}

/** A region stored transposed, as columns of a matrix of `width` columns. */
export function transposedAt(tensor: string, offset: number, width: number, { shape }: ParamRegion): Placement {
  const [rows, columns] = matrixShape(shape)
  return { tensor, offset, rows, columns, rowStride: 1, columnStride: width }
}

/** Rows and columns of a region; a bias [H] is one row. */
export function matrixShape(shape: ParamRegion['shape']): readonly [number, number] {
  return shape.length === 1 ? [1, shape[0]] : shape
}

function checkSupported(
  { inputMode, biasMode, numProj }: RnnDescriptor,
  { framework, placeProjection }: LayoutRules,
): void {
  const refuse = (option: string, value: unknown, rule: string) =>
    codedRangeError(
      'ERR_UNSUPPORTED_BY_FRAMEWORK',
      `Cannot convert parameters between canonical and ${framework} as ${rule}: current ${option} is ${value}`,
      { framework, option, value },
    )
  if (inputMode === 'skip_input') {
    const rule = 'its layers always have input matrices (use linear_input; auto_select skips when inputSize = numUnits)'
    throw refuse('inputMode', inputMode, rule)
  }
  if (biasMode !== 'double') {
    throw refuse('biasMode', biasMode, 'both biases take part in the conversion (an absent one is zeros)')
  }
  if (numProj !== undefined && placeProjection === undefined)
    throw refuse('numProj', numProj, 'it has no recurrent projection')
}

import type { Tensor, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import type { ActivationName } from './activation.js'
import type { CallArguments, CellFields, ComputableCall, PlannedCell, RecurrentLayer } from './recurrent_layer.js'
import type { CellClassName, RecurrentClasses } from './tensor_flow.js'

const KINDS: Readonly<
  Record<Exclude<CellClassName, 'StackedRNNCells'>, { readonly kind: PlannedCell['kind']; readonly gates: number }>
> = {
  LSTMCell: { kind: 'lstm', gates: 4 },
  GRUCell: { kind: 'gru', gates: 3 },
  SimpleRNNCell: { kind: 'simple', gates: 1 },
}

/**
 * What `call` is to compute, or the reason why TensorFlow.js must, in words that complete "as …".
 *
 * @param activations those that the executor computes.
 */
export function planCall(
  classes: RecurrentClasses,
  layer: RecurrentLayer,
  inputs: Tensor | Tensor[],
  given: CallArguments | null | undefined,
  activations: readonly ActivationName[],
): ComputableCall | string {
  const list = [inputs].flat()
  const [x] = list
  if (list.length !== 1) return 'its input must be one tensor'
  if (x.rank !== 3 || x.size === 0) return `its input must be [B,T,I] and not empty`
  if (x.dtype === 'complex64' || x.dtype === 'string') return `its input is ${x.dtype}`
  const mask = Array.isArray(given?.mask) ? given.mask[0] : given?.mask
  const [batch, time, features] = (x as Tensor3D).shape
  if (mask && !hasShape(mask, batch, time)) return 'its mask must be [B,T]'
  const training = given?.training === true
  const isSingle = classes.singleCell.includes(layer.constructor as never)
  const cells: PlannedCell[] = []
  let columns = features
  for (const fields of stackOf(classes, layer.cell)) {
    const cell = planCell(classes, fields, { training, isSingle, activations, columns })
    if (typeof cell === 'string') return cell
    cells.push(cell)
    columns = fields.units
  }
  const initial = given?.initialState ?? (layer.stateful ? layer.states_ : null)
  const states = distributed(cells, initial)
  if (states === undefined) return 'its initial states must be one per state of its cells'
  // TensorFlow.js repeats a state of one row for all.
  const areWhole = states.every(
    (own, index) => own?.every((each) => hasShape(each, batch, cells[index].fields.units)) ?? true,
  )
  if (!areWhole) return 'its initial states must be [B,H]'
  return { x: x as Tensor3D, mask: mask ?? null, training, cells, states }
}

function hasShape({ rank, shape }: Tensor, rows: number, columns: number): boolean {
  return rank === 2 && shape[0] === rows && shape[1] === columns
}

function stackOf({ cells }: RecurrentClasses, cell: CellFields): readonly CellFields[] {
  return cells.get(cell.constructor) === 'StackedRNNCells' ? (cell.cells ?? []) : [cell]
}

interface CellPlanning {
  readonly training: boolean
  /** The layer renews the masks of dropout in every call; `rnn` keeps its first call's. */
  readonly isSingle: boolean
  readonly activations: readonly ActivationName[]
  /** I of the cell. */
  readonly columns: number
}

function planCell(
  classes: RecurrentClasses,
  fields: CellFields,
  { training, isSingle, activations, columns }: CellPlanning,
): PlannedCell | string {
  const className = classes.cells.get(fields.constructor)
  if (className === undefined || className === 'StackedRNNCells') return `its cell is ${fields.getClassName()}`
  if (fields.kernel === undefined) return 'it has no weights yet'
  const { kind, gates } = KINDS[className]
  const { units, kernel, recurrentKernel, bias } = fields
  const width = gates * units
  const isWhole = hasShape(kernel.read(), columns, width) && hasShape(recurrentKernel.read(), units, width)
  if (!isWhole || (bias && bias.read().size !== width)) return 'its weights must fit its input and its units'
  const computed = (name: string) => activations.find((each) => each === name)
  const names = [fields.activation, fields.recurrentActivation].map((each) => each?.getClassName() ?? 'linear')
  const [activation, recurrentActivation] = names.map(computed)
  if (activation === undefined) return `its activation is ${names[0]}`
  if (recurrentActivation === undefined) return `its recurrentActivation is ${names[1]}`
  const drops = isBetween(fields.dropout)
  const dropsState = isBetween(fields.recurrentDropout)
  if (!isSingle && (drops || dropsState)) return 'it has dropout in a cell of rnn'
  if (dropsState && training) return 'it has recurrentDropout'
  const dropout = drops && training ? fields.dropout : 0
  return { fields, kind, activation, recurrentActivation, dropout }
}

/** TensorFlow.js ignores rates of 0 and 1. */
function isBetween(rate: number): boolean {
  return rate > 0 && rate < 1
}

/** The states of each cell; they are given for the top cell first. Undefined if their number is another. */
function distributed(
  cells: readonly PlannedCell[],
  states: readonly Tensor2D[] | null,
): readonly (readonly Tensor2D[] | null)[] | undefined {
  if (states === null) return cells.map(() => null)
  const rest = [...states]
  const found = cells.map(() => null as readonly Tensor2D[] | null)
  for (let index = cells.length - 1; index >= 0; index--) found[index] = rest.splice(0, numStates(cells[index]))
  const fits = rest.length === 0 && found.every((own, index) => own?.length === numStates(cells[index]))
  return fits ? found : undefined
}

/** 2 of LSTM, else 1. */
export function numStates({ kind }: PlannedCell): number {
  return kind === 'lstm' ? 2 : 1
}

import { elementCount } from '@cudnn-rnn/canonical'
import { type Elements, type ElementTypeName, FOLDS, newElements } from '@cudnn-rnn/interop/internal'
import type { NodeReader } from './graph_node.js'
import { type Case, type Known, UNKNOWN } from './known_value.js'
import { OTHER_SIZES } from './open_sizes.js'
import { outputShapes, outputType } from './shape_rules.js'

/** Constants that the graph computes are shapes, indices and conditions; longer ones are left to ONNX Runtime. */
const MOST_ELEMENTS = 4096
/** Attributes that became inputs in later operator sets. */
const LISTS = ['axes', 'perm', 'starts', 'ends', 'split', 'shape'] as const

type Operands = readonly (Known | undefined)[]

/** Whether the elements of a constant are looked at. */
export function isShort(shape: readonly number[]): boolean {
  return shape.every((size) => Number.isSafeInteger(size) && size >= 0) && elementCount(shape) <= MOST_ELEMENTS
}

/** The values of the outputs of a node; `operands` has undefined for an input that is left out or unknown. */
export function nodeValues(node: NodeReader, operands: Operands, given: readonly boolean[], outputs: number): Known[] {
  const cases = caseCount(operands)
  const at = Array.from({ length: cases }, (_, index) => valuesAt(node, operands, given, outputs, index))
  const isMove = isOfZeros(node, operands, given)
  const isOpen = operands.some((operand) => operand?.isOpen) || readsOpenShape(node, operands)
  const types = operands.map((operand) => operand?.type)
  return Array.from({ length: outputs }, (_, output) => {
    const made = at.map((one) => one[output])
    const type = made.find((one) => one !== undefined)?.type ?? outputType(node.opType, types)
    if (type === undefined) return UNKNOWN
    const isZero = isMove || made.every((one) => one?.elements?.every((element) => element === 0) === true)
    return { type, cases: made.map((one) => one ?? {}), isZero, isOpen }
  })
}

function caseCount(operands: Operands): number {
  return operands.find((operand) => operand !== undefined && operand.cases.length > 0)?.cases.length ?? 4
}

/** Shapes that differ at other sizes than the batch must not decide anything. */
function readsOpenShape({ opType }: NodeReader, [x]: Operands): boolean {
  if (opType !== 'Shape' && opType !== 'Size') return false
  const [one, other] = OTHER_SIZES.map((index) => x?.cases[index]?.shape)
  return one === undefined || String(one) !== String(other)
}

/** Nodes that give zeros alone: those that move zeros, and the fill of a shape. */
function isOfZeros({ opType }: NodeReader, operands: Operands, given: readonly boolean[]): boolean {
  const row = FOLDS.get(opType)
  if (row?.isMove !== true) return false
  const lists = new Set(Object.values(row.lists ?? {}))
  const data = operands.filter((_, index) => given[index] === true && !lists.has(index))
  return data.length > 0 && data.every((operand) => operand?.isZero === true)
}

interface TypedCase extends Case {
  readonly type: ElementTypeName
}

function valuesAt(
  node: NodeReader,
  operands: Operands,
  given: readonly boolean[],
  outputs: number,
  index: number,
): readonly (TypedCase | undefined)[] {
  const cases = operands.map((operand) => operand?.cases[index])
  if (node.opType === 'Size') {
    const shape = cases[0]?.shape
    return [{ type: 'int64', shape: [], elements: shape && Float64Array.of(elementCount(shape)) }]
  }
  const folded = foldedAt(node, operands, cases, given, outputs)
  if (folded !== undefined) return folded
  const integers = (input: number) => integersOf(operands[input], cases[input])
  const shapes = outputShapes({ node, shapes: cases.map((one) => one?.shape), integers }) ?? []
  const type = outputType(
    node.opType,
    operands.map((operand) => operand?.type),
  )
  return shapes.map((shape) => (shape === undefined || type === undefined ? undefined : { type, shape }))
}

function integersOf(known: Known | undefined, one: Case | undefined): readonly number[] | undefined {
  return known === undefined || known.type.includes('float') || one?.elements === undefined
    ? undefined
    : Array.from(one.elements)
}

/** The outputs by the table that constants of weight files are computed by. */
function foldedAt(
  node: NodeReader,
  operands: Operands,
  cases: readonly (Case | undefined)[],
  given: readonly boolean[],
  outputs: number,
): readonly TypedCase[] | undefined {
  const row = FOLDS.get(node.opType)
  if (row === undefined) return undefined
  const lists = new Map<string, readonly number[] | undefined>()
  const isList = new Set(Object.values(row.lists ?? {}))
  for (const [name, input] of Object.entries(row.lists ?? {})) {
    if (given[input] !== true) continue
    const list = integersOf(operands[input], cases[input])
    if (list === undefined) return undefined
    lists.set(name, list)
    lists.set(`${name}.shape`, cases[input]?.shape)
  }
  for (const name of LISTS) if (!lists.has(name)) lists.set(name, node.list(name))
  const data: ({ type: ElementTypeName; shape: readonly number[] } | undefined)[] = []
  const elements: (Elements | undefined)[] = []
  for (const [input, one] of cases.entries()) {
    if (isList.has(input)) continue
    const { type } = operands[input] ?? {}
    if (given[input] === true && (type === undefined || one?.shape === undefined)) return undefined
    data.push(type === undefined || one?.shape === undefined ? undefined : { type, shape: one.shape })
    if (given[input] === true) elements.push(one?.elements)
  }
  const list = (name: string) => lists.get(name)
  const integer = (name: string, otherwise: number) => node.integer(name, otherwise)
  return row.outputs({ operands: data, list, integer, outputs })?.map(({ type, shape, elements: compute }) => {
    // Shape looks at no elements.
    const isKnown = node.opType === 'Shape' || elements.every((each) => each !== undefined)
    if (!isKnown || !isShort(shape) || newElements(type, 0) === undefined) return { type, shape }
    const operandElements = elements.map((each) => each ?? new Float32Array())
    return { type, shape, elements: compute === undefined ? operandElements[0] : compute(operandElements) }
  })
}

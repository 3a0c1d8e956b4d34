import { elementCount } from '@cudnn-rnn/canonical'
import { type ElementTypeName, type Elements, FOLDS, type Fold, newElements } from '@cudnn-rnn/interop/internal'
import type { NodeReader } from './graph_node.js'
import { type Case, type Known, UNKNOWN } from './known_value.js'
import { CHOICES, differsInOthers } from './open_sizes.js'
import { outputShapes, outputType } from './shape_rules.js'

/** Constants that the graph computes are shapes, indices and conditions; longer ones are left to ONNX Runtime. */
const MOST_ELEMENTS = 4096

/** The values of the inputs of a node; undefined for one that is left out. */
type Operands = readonly (Known | undefined)[]
type TypedCase = Case & { readonly type: ElementTypeName }

/** Whether the elements of a constant are looked at. */
export function isShort(shape: readonly number[]): boolean {
  return shape.every((size) => Number.isSafeInteger(size) && size >= 0) && elementCount(shape) <= MOST_ELEMENTS
}

export function nodeValues(node: NodeReader, operands: Operands, outputs: number): Known[] {
  const row = FOLDS.get(node.opType)
  const at = CHOICES.map((_, index) => {
    const cases = operands.map((operand) => operand && { type: operand.type, ...operand.cases[index] })
    return (row && foldedAt(row, node, cases, outputs)) ?? shapedAt(node, cases)
  })
  const data = operands.filter((operand, input) => operand !== undefined && !isList(row, input))
  const isOfZeros = row?.isMove === true && data.length > 0 && data.every((operand) => operand?.isZero)
  // Shapes that differ at other sizes than the batch must not decide anything.
  const shapes = operands[0]?.cases.map(({ shape }) => shape)
  const readsOpenShape = row?.isOfShape === true && (shapes?.[2] === undefined || differsInOthers(shapes))
  const isOpen = readsOpenShape || operands.some((operand) => operand?.isOpen)
  return Array.from({ length: outputs }, (_, output) => {
    const made = at.map((one) => one[output])
    const type = made.find((one) => one !== undefined)?.type
    if (type === undefined) return UNKNOWN
    const isZero = isOfZeros || made.every((one) => one?.elements?.every((element) => element === 0) === true)
    return { type, cases: made.map((one) => one ?? {}), isZero, isOpen }
  })
}

/** Whether an input is a shape, axes or such. */
function isList(row: Fold | undefined, input: number): boolean {
  return Object.values(row?.lists ?? {}).includes(input)
}

/** The outputs by the table that constants of weight files are computed by. */
function foldedAt(
  row: Fold,
  node: NodeReader,
  operands: readonly (TypedCase | undefined)[],
  outputs: number,
): readonly TypedCase[] | undefined {
  const lists = new Map<string, readonly number[] | undefined>()
  for (const [name, input] of Object.entries(row.lists ?? {})) {
    if (operands[input] === undefined) continue
    const list = integersOf(operands[input])
    if (list === undefined) return undefined
    lists.set(name, list).set(`${name}.shape`, operands[input].shape)
  }
  const data = operands.filter((_, input) => !isList(row, input))
  if (data.some((operand) => operand !== undefined && operand.shape === undefined)) return undefined
  const shaped = data.map((operand) => operand && { type: operand.type, shape: operand.shape ?? [] })
  const list = (name: string) => lists.get(name) ?? node.list(name)
  const integer = (name: string, otherwise: number) => node.integer(name, otherwise)
  const elements = data.flatMap((operand) => (operand === undefined ? [] : [operand.elements]))
  const isKnown = row.isOfShape === true || elements.every((each) => each !== undefined)
  return row.outputs({ operands: shaped, list, integer, outputs })?.map(({ type, shape, elements: compute }) => {
    if (!isKnown || !isShort(shape) || newElements(type, 0) === undefined) return { type, shape }
    const known = elements.map((each) => each ?? new Float32Array())
    const made = compute === undefined ? known[0] : compute(known)
    // Integers that a double or their type cannot hold, and quotients by zero, are left to ONNX Runtime.
    const isOwn =
      made !== undefined &&
      isExact(type, made, row.isMove) &&
      (row.isMove === true
        ? shaped[0]?.type === type || isHeld(type, made, known[0] ?? made)
        : known.every((each, k) => isExact(data[k]?.type ?? type, each)))
    return { type, shape, elements: isOwn ? made : undefined }
  })
}

/**
 * Whether elements are ONNX Runtime's, which computes 16-bit floats in single precision. Doubles must hold the integers; the ends of 64
 * bits, which stand for the end of an axis, are exact once they are written.
 */
function isExact(type: ElementTypeName, elements: Elements, isMove = false): boolean {
  if (type.includes('float')) return isMove || !type.includes('16')
  return elements.every((each) => Number.isSafeInteger(each) || (isMove && Math.abs(each) === 2 ** 63))
}

/** Whether numbers are the same as another type; a boolean has no other numbers. */
function isHeld(type: ElementTypeName, made: Elements, from: Elements): boolean {
  return type.includes('float') || type === 'bool' || made.every((each, at) => each === Math.trunc(from[at] ?? 0))
}

/** The outputs without their elements. */
function shapedAt(node: NodeReader, operands: readonly (TypedCase | undefined)[]): readonly (TypedCase | undefined)[] {
  const shapes = operands.map((operand) => operand?.shape)
  const integers = (input: number) => integersOf(operands[input])
  return outputShapes({ node, shapes, integers }).map((shape, output) => {
    const type = outputType(node.opType, operands, output)
    return type && { type, shape }
  })
}

function integersOf(operand: TypedCase | undefined): readonly number[] | undefined {
  return operand?.elements === undefined || operand.type.includes('float') ? undefined : Array.from(operand.elements)
}

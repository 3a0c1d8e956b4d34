import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { madeIn } from '@cudnn-rnn/canonical/rules'
import { type ElementTypeName, isFloat, newElements } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { OnnxNodeMessage } from '../files/onnx_messages.js'
import type { OnnxModel } from '../files/onnx_model.js'
import type { Elements } from '../files/strided_elements.js'
import type { StoredTensor } from '../stored_tensor.js'
import { FOLDS, type FoldedOutput, type FoldedType, rounded } from './onnx_folds.js'
import { isStandard } from './onnx_operators.js'
import type { OnnxScope, OnnxValue } from './onnx_scopes.js'

/** A value that the graph computes from constants alone. */
export interface FoldedValue {
  readonly type: ElementTypeName
  /** Undefined if the graph computes it from an input: every element is then `fill`. */
  readonly shape: readonly number[] | undefined
  /** The number that every element is, if that is known without reading them. */
  readonly fill?: number
  /** How its elements are computed; undefined without a shape. */
  readonly made: Made | undefined
  /** How many nodes are before it. */
  readonly depth: number
}

/** Elements in some shape, of a file's tensor or of other elements. */
interface Made {
  readonly source?: StoredTensor
  readonly operands: readonly Made[]
  readonly bytes: number
  readonly elements: (operands: readonly Elements[]) => Elements | Promise<Elements>
  /** The same function for the same elements. */
  read?: () => Promise<FloatArray>
}

/** A value that depends on the caller's inputs, or on a node that is not folded; with the reason in words. */
export interface UnfoldedValue {
  readonly why: string
}

/** A value that is being folded: if another needs it meanwhile, the graph has a cycle. */
const BEGUN: UnfoldedValue = { why: 'a node computes it from itself' }

/** Exporters write a few nodes between a constant and a recurrent node; longer chains are not followed. */
const DEEPEST = 64
/** Shapes, axes and indices have no more. */
const LONGEST_LIST = 2 ** 16
/** Elements of one value may take so many times the bytes of the file, and this. */
const LARGEST_GROWTH = 2
const FREE_BYTES = 2 ** 25
/** Elements that all folds together may make, for each byte of the file and in any file. A fold counts as some elements. */
const WORK_PER_BYTE = 64
const FREE_WORK = 2 ** 25
const WORK_OF_FOLD = 16

/**
 * Computes constants of a model: the elements of values that nodes make of constants. Shapes are known at once, elements follow
 * when they are read; each value is folded once. Memory and time are bounded by the size of the file.
 */
export class OnnxFolder {
  readonly #path: string
  readonly #model: OnnxModel
  readonly #given: ReadonlyMap<string, StoredTensor>
  readonly #sharedOf: (tensor: StoredTensor) => StoredTensor
  readonly #known = new Map<OnnxScope, Map<string, FoldedValue | UnfoldedValue>>()
  readonly #sources = new Map<StoredTensor, FoldedValue | UnfoldedValue>()
  #work = 0
  /** The elements that the shapes of folded tensors claim; a claim beyond the file is refused when it is read. */
  #claimedBytes = 0

  /**
   * @param given values by name that replace the graphs'.
   * @param sharedOf the tensor that is read in place of one of the file.
   */
  constructor(
    path: string,
    model: OnnxModel,
    given: ReadonlyMap<string, StoredTensor>,
    sharedOf: (tensor: StoredTensor) => StoredTensor,
  ) {
    this.#path = path
    this.#model = model
    this.#given = given
    this.#sharedOf = sharedOf
  }

  /** Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for more work than the file's size justifies. */
  async fold(scope: OnnxScope, name: string): Promise<FoldedValue | UnfoldedValue> {
    const asked = scope.locate(name)
    const pending = [asked]
    for (let value = pending.at(-1); value !== undefined; value = pending.at(-1)) {
      const known = this.#of(value)
      const state = known.get(value.name)
      if (state !== undefined && state !== BEGUN) {
        pending.pop()
        continue
      }
      known.set(value.name, BEGUN)
      const needed = this.#needed(value).filter((one) => !this.#of(one).has(one.name))
      this.#spend(WORK_OF_FOLD + needed.length)
      if (needed.length > 0) pending.push(...needed)
      else known.set(value.name, await this.#folded(value))
    }
    return this.#of(asked).get(asked.name) ?? BEGUN
  }

  /** The tensors of the file that a value is made of. */
  sources({ made }: FoldedValue): StoredTensor[] {
    return made === undefined ? [] : inOrder(made).flatMap(({ source }) => source ?? [])
  }

  /** A function that reads the elements; the same for values of the same elements. */
  reader({ made, fill, type }: FoldedValue): () => Promise<FloatArray> {
    if (made === undefined) return async () => Float32Array.of(fill ?? Number.NaN)
    made.read ??= made.source?.read ?? (async () => this.#floats(type, await this.#elements(made)))
    return made.read
  }

  /** The elements of a list of integers, undefined for anything else. */
  async integers(value: FoldedValue): Promise<readonly number[] | undefined> {
    const { type, shape, made } = value
    if (made === undefined || shape === undefined || isFloat(type)) return undefined
    return elementCount(shape) > LONGEST_LIST ? undefined : Array.from(await this.#elements(made))
  }

  /** The number that every element is; undefined if they differ. */
  async uniform({ fill, made }: FoldedValue): Promise<number | undefined> {
    if (fill !== undefined || made === undefined) return fill
    const elements = await this.#elements(made)
    const [first] = elements
    return elements.every((element) => element === first) ? first : undefined
  }

  #of({ scope }: OnnxValue): Map<string, FoldedValue | UnfoldedValue> {
    return madeIn(this.#known, scope, () => new Map())
  }

  #constant({ scope, name }: OnnxValue): StoredTensor | undefined {
    const given = scope.depth === 0 ? this.#given.get(name) : undefined
    return given ?? scope.constant(name)
  }

  /** The values that must be known before this one can be folded: at first the condition of an `If`, then its branch. */
  #needed(value: OnnxValue): OnnxValue[] {
    const { scope, name } = value
    const found = this.#constant(value) === undefined ? scope.producer(name) : undefined
    if (found === undefined) return []
    const inner = this.#alias(value)
    if (inner !== undefined) return [inner]
    const isCalled = scope.call(this.#path, this.#model, found.node) !== undefined
    if (isCalled || !isFolded(found.node)) return []
    return found.node.inputs.filter((input) => input !== '').map((input) => scope.locate(input))
  }

  /** The output of a function's body, or of the branch that a constant condition takes. */
  #alias({ scope, name }: OnnxValue): OnnxValue | undefined {
    const found = scope.producer(name)
    if (found === undefined) return undefined
    const call = scope.call(this.#path, this.#model, found.node)
    if (call !== undefined) return call.locate(call.graph.outputs[found.output] ?? '')
    if (found.node.opType !== 'If') return undefined
    const at = scope.locate(found.node.inputs[0] ?? '')
    const condition = this.#of(at).get(at.name)
    if (condition === undefined || !('type' in condition) || condition.fill === undefined) return undefined
    const branch = scope.attribute(found.node, condition.fill === 0 ? 'else_branch' : 'then_branch')
    const inner = branch && scope.within(branch)
    return inner?.locate(inner.graph.outputs[found.output] ?? '')
  }

  async #folded(value: OnnxValue): Promise<FoldedValue | UnfoldedValue> {
    const { scope, name } = value
    const constant = this.#constant(value)
    if (constant !== undefined) return this.#stored(this.#sharedOf(constant))
    const found = scope.producer(name)
    if (found === undefined) return { why: `${name || 'a value'} is not a constant of the file` }
    const alias = this.#alias(value)
    if (alias !== undefined) return this.#of(alias).get(alias.name) ?? { why: `${name} is not known` }
    const { node, output } = found
    const words = `the node ${node.name || name} (${node.opType})`
    if (!isFolded(node)) return { why: `${words} computes it` }
    const operands = node.inputs.map((input) => {
      const at = scope.locate(input)
      return input === '' ? undefined : this.#of(at).get(at.name)
    })
    const depth = 1 + Math.max(0, ...operands.map((operand) => (operand && 'type' in operand ? operand.depth : 0)))
    if (depth > DEEPEST) return { why: `more than ${DEEPEST} nodes compute it` }
    return (await this.#output(scope, node, operands, output, depth)) ?? { why: unfolded(operands, words) }
  }

  async #output(
    scope: OnnxScope,
    node: OnnxNodeMessage,
    operands: readonly (FoldedValue | UnfoldedValue | undefined)[],
    output: number,
    depth: number,
  ): Promise<FoldedValue | undefined> {
    const row = FOLDS.get(node.opType)
    if (row === undefined) return undefined
    const isList = new Map(Object.entries(row.lists ?? {}).map(([name, index]) => [index, name]))
    const lists = new Map<string, readonly number[] | undefined>()
    let isKnown = true
    for (const [index, name] of isList) {
      const operand = operands[index]
      if (operand === undefined) continue
      const list = 'type' in operand ? await this.integers(operand) : undefined
      lists.set(name, list)
      if ('type' in operand) lists.set(`${name}.shape`, operand.shape)
      isKnown &&= list !== undefined
    }
    for (const name of ['axes', 'perm', 'starts', 'ends', 'split', 'shape']) {
      const attribute = scope.attribute(node, name)
      if (attribute === undefined || lists.has(name)) continue
      if (attribute.intCount > LONGEST_LIST) return undefined
      lists.set(name, (await this.#model.listsOf(attribute)).ints)
    }
    const data = operands.filter((_, index) => !isList.has(index))
    const values = data.map((operand) => (operand !== undefined && 'type' in operand ? operand : undefined))
    if (data.some((operand, index) => operand !== undefined && values[index] === undefined)) return undefined
    if (node.opType === 'ConstantOfShape') return this.#constantOfShape(scope, node, lists.get('shape'), depth)
    const shaped = values.map((each) => each?.shape && { type: each.type, shape: each.shape })
    const isShaped = isKnown && values.every((each, index) => each === undefined || shaped[index] !== undefined)
    const integer = (name: string, otherwise: number) => scope.attribute(node, name)?.i ?? otherwise
    const made = values.flatMap((each) => each?.made ?? [])
    if (isShaped) {
      const list = (name: string) => lists.get(name)
      const outputs = row.outputs({ operands: shaped, list, integer, outputs: node.outputs.length })
      const one = outputs?.[output]
      if (one !== undefined && this.#fits(one)) return this.#made(one, made, values, depth, row.isMove === true)
    }
    if (row.isMove !== true) return undefined
    const fills = await Promise.all(values.map((each) => each && this.uniform(each)))
    const [first] = values
    const [fill] = fills
    if (first === undefined || fill === undefined || fills.some((each) => each !== fill)) return undefined
    const type =
      node.opType === 'Cast'
        ? (row.outputs({ operands: [{ type: first.type, shape: [] }], list: () => undefined, integer, outputs: 1 })?.[0]
            ?.type ?? first.type)
        : first.type
    return { type, shape: undefined, fill: rounded(type, fill), made: undefined, depth }
  }

  async #made(
    { type, shape, elements }: FoldedOutput,
    operands: readonly Made[],
    values: readonly (FoldedValue | undefined)[],
    depth: number,
    isMove: boolean,
  ): Promise<FoldedValue> {
    const bytes = bytesOf({ type, shape })
    const made = elements === undefined ? operands[0] : { operands, bytes, elements }
    const [first] = values
    const whole = isMove && values.length === 1 && first?.fill !== undefined ? rounded(type, first.fill) : undefined
    // Such as a condition.
    const isSmall = elementCount(shape) === 1 && made !== undefined && !isFloat(type)
    const fill = whole ?? (isSmall ? (await this.#elements(made))[0] : undefined)
    return { type, shape, made, depth, ...(fill !== undefined && { fill }) }
  }

  async #constantOfShape(
    scope: OnnxScope,
    node: OnnxNodeMessage,
    shape: readonly number[] | undefined,
    depth: number,
  ): Promise<FoldedValue | undefined> {
    const attribute = scope.attribute(node, 'value')
    const tensor = attribute && this.#model.tensorOf(attribute)
    const value = tensor && (await this.#stored(tensor))
    if (value !== undefined && !('type' in value)) return undefined
    const fill = value === undefined ? 0 : await this.uniform(value)
    const type = value?.type ?? 'float32'
    if (fill === undefined) return undefined
    if (shape === undefined || !this.#fits({ type, shape }))
      return { type, shape: undefined, fill, made: undefined, depth }
    const elements = () => newElements(type, elementCount(shape))?.fill(fill) ?? new Float32Array()
    return { type, shape, fill, made: { operands: [], bytes: bytesOf({ type, shape }), elements }, depth }
  }

  /** A tensor of the file; a tensor of one element is read at once. */
  async #stored(source: StoredTensor): Promise<FoldedValue | UnfoldedValue> {
    const known = this.#sources.get(source)
    if (known !== undefined) return known
    const { name, shape, dtype, integers, read } = source
    const type = dtype as ElementTypeName
    const isNumber = newElements(type, 0) !== undefined
    if (isNumber) this.#claimedBytes += bytesOf({ type, shape })
    const elements = async () => {
      const found = isFloat(type) ? await read() : await integers?.()
      return (found ?? Float64Array.of()) as Elements
    }
    const made = { source, operands: [], bytes: bytesOf({ type, shape }), elements }
    // A scalar that other folds read, such as a condition.
    const isScalar = isNumber && elementCount(shape) === 1 && !isFloat(type)
    const value: FoldedValue | UnfoldedValue = isNumber
      ? { type, shape, made, depth: 0, ...(isScalar && { fill: (await elements())[0] }) }
      : { why: `${name} holds ${dtype}` }
    this.#sources.set(source, value)
    return value
  }

  #heldBytes(): number {
    return Math.max(this.#model.heldBytes(), this.#claimedBytes)
  }

  #fits({ shape, type }: FoldedType): boolean {
    const isShape = shape.every((size) => Number.isSafeInteger(size) && size >= 0)
    return isShape && bytesOf({ type, shape }) <= LARGEST_GROWTH * this.#heldBytes() + FREE_BYTES
  }

  #floats(type: ElementTypeName, elements: Elements): FloatArray {
    if (elements instanceof Float32Array || elements instanceof Float64Array) return elements
    throw unsupported(this.#path, `weights are floating point: a folded constant holds ${type}`)
  }

  /** Each distinct operand is computed once, and dropped after its last use. */
  async #elements(made: Made): Promise<Elements> {
    const order = inOrder(made)
    const uses = new Map<Made, number>()
    for (const { operands } of order) for (const one of operands) uses.set(one, (uses.get(one) ?? 0) + 1)
    const held = new Map<Made, Elements>()
    let bytes = 0
    for (const one of order) {
      this.#spend(WORK_OF_FOLD + one.bytes / 4)
      bytes += one.bytes
      if (bytes > LARGEST_GROWTH * this.#heldBytes() + 2 * FREE_BYTES) {
        throw unsupported(this.#path, `its constants must be computed in ${LARGEST_GROWTH} times its bytes`)
      }
      held.set(one, await one.elements(one.operands.map((operand) => held.get(operand) ?? new Float32Array())))
      for (const operand of new Set(one.operands)) {
        const left = (uses.get(operand) ?? 0) - one.operands.filter((each) => each === operand).length
        uses.set(operand, left)
        if (left > 0) continue
        held.delete(operand)
        bytes -= operand.bytes
      }
    }
    const elements = held.get(made)
    if (elements === undefined) throw corrupt(this.#path, 'a constant was not computed')
    return elements
  }

  #spend(work: number): void {
    this.#work += work
    if (this.#work <= WORK_PER_BYTE * this.#heldBytes() + FREE_WORK) return
    throw unsupported(this.#path, 'the constants that its nodes compute must take work in proportion to its size')
  }
}

function bytesOf({ type, shape }: FoldedType): number {
  return elementCount(shape) * (newElements(type, 0)?.BYTES_PER_ELEMENT ?? 8)
}

function isFolded(node: OnnxNodeMessage): boolean {
  return isStandard(node) && FOLDS.has(node.opType)
}

/** The first reason why an operand is not known, else that the node itself is not folded so. */
function unfolded(operands: readonly (FoldedValue | UnfoldedValue | undefined)[], words: string): string {
  for (const operand of operands) if (operand !== undefined && 'why' in operand) return operand.why
  return `${words} has a form that is not folded`
}

/** Elements and those they are made of, operands first. */
function inOrder(made: Made): Made[] {
  const done = new Set<Made>()
  const seen = new Set<Made>()
  const pending = [made]
  for (let one = pending.at(-1); one !== undefined; one = pending.at(-1)) {
    const next = seen.has(one) ? [] : one.operands.filter((operand) => !done.has(operand))
    seen.add(one)
    if (next.length > 0) pending.push(...next)
    else done.add(pending.pop() ?? one)
  }
  return [...done]
}

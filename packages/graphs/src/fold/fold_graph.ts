import {
  dataTypeInWords,
  type ElementTypeName,
  isStandard,
  type OnnxGraphMessage,
  type OnnxTensor,
} from '@cudnn-rnn/interop/internal'
import type { GraphFile } from './graph_file.js'
import { type GraphNode, NodeReader, namesWithin, newNode } from './graph_node.js'
import { type Constant, constantOf, type Known, sameAtAll, UNKNOWN } from './known_value.js'
import { isShort, nodeValues } from './node_values.js'
import { namedSizes, OpenSizes, type Size } from './open_sizes.js'

/** An input or an output. */
export interface GraphValue {
  readonly name: string
  readonly type: ElementTypeName
  readonly shape: readonly Size[]
}

/** A graph whose nodes can be changed and written. */
export interface FoldedGraph {
  readonly file: GraphFile
  readonly nodes: readonly GraphNode[]
  /** Constants of the file and those that were computed. */
  readonly constants: ReadonlyMap<string, OnnxTensor | Constant>
  readonly inputs: readonly GraphValue[]
  readonly outputs: readonly GraphValue[]
  readonly known: ReadonlyMap<string, Known>
  readonly sizes: OpenSizes
}

/** Elements that all folds together may make for each byte of the file, and in any file; beyond, nodes stay. */
const WORK_PER_BYTE = 64
const FREE_WORK = 2 ** 25

/**
 * Computes the values that follow from constants, from `fixed` inputs and from shapes, at each choice of the open sizes: a value
 * that is the same at all of them becomes a constant, and an `If` whose condition is one becomes the nodes of its branch. A node
 * whose value depends on the batch stays, so that the folded graph computes any batch that the file does.
 *
 * @param fixed constants in place of inputs, and numbers in place of open sizes, by their names.
 */
export async function foldGraph(
  file: GraphFile,
  fixed: { readonly inputs: ReadonlyMap<string, Constant>; readonly sizes: ReadonlyMap<string, number> },
): Promise<FoldedGraph> {
  const { graph } = file.model
  const stored = new Set(graph.initializers.map(({ name }) => name))
  const inputs = graph.inputs
    .filter(({ name }) => !stored.has(name) && !fixed.inputs.has(name))
    .map((value) => ({
      name: value.name,
      type: dataTypeInWords(value.dataType) as ElementTypeName,
      shape: namedSizes(value).map((size) => (typeof size === 'string' ? (fixed.sizes.get(size) ?? size) : size)),
    }))
  const fold = new Fold(file, new OpenSizes(inputs), new Set(graph.outputs.map(({ name }) => name)))
  for (const { name, type, shape } of inputs) {
    const isOpen = graph.inputs.find((value) => value.name === name)?.dims === undefined
    const cases = fold.sizes.shapesOf(shape).map((sizes) => (isOpen ? {} : { shape: sizes }))
    fold.known.set(name, { type, cases, isZero: false, isOpen: false })
  }
  for (const [name, constant] of fixed.inputs) fold.compute(name, constant)
  await fold.add(graph, '')
  const outputs = graph.outputs.map(({ name, dims, dataType }) => ({
    name,
    type: dataTypeInWords(dataType) as ElementTypeName,
    shape: fold.shapeOf(name) ?? namedSizes({ name, dims, dataType }),
  }))
  return {
    file,
    inputs,
    outputs,
    known: fold.known,
    sizes: fold.sizes,
    ...live(
      fold,
      outputs.map(({ name }) => name),
    ),
  }
}

/** The nodes and constants that outputs need, in their order. */
export function live(
  { nodes, constants }: Pick<FoldedGraph, 'nodes' | 'constants'>,
  outputs: readonly string[],
): Pick<FoldedGraph, 'nodes' | 'constants'> {
  const needed = new Set(outputs)
  const kept = nodes.toReversed().filter((node) => {
    if (!node.outputs.some((output) => needed.has(output))) return false
    for (const name of [...node.inputs, ...namesWithin(node)]) needed.add(name)
    return true
  })
  return { nodes: kept.reverse(), constants: new Map([...constants].filter(([name]) => needed.has(name))) }
}

class Fold {
  readonly nodes: GraphNode[] = []
  readonly constants = new Map<string, OnnxTensor | Constant>()
  readonly known = new Map<string, Known>()
  readonly sizes: OpenSizes
  readonly #file: GraphFile
  readonly #choices: number
  /** Their nodes stay: an output is not a constant of the file. */
  readonly #outputs: ReadonlySet<string>
  #work = 0

  constructor(file: GraphFile, sizes: OpenSizes, outputs: ReadonlySet<string>) {
    this.#file = file
    this.sizes = sizes
    this.#outputs = outputs
    this.#choices = sizes.shapesOf([]).length
  }

  compute(name: string, constant: Constant): void {
    this.known.set(name, sameAtAll(constant, this.#choices))
    this.constants.set(name, constant)
  }

  /** The shape of a value: numbers where it is the same at all sizes, else the name of an open size or of the axis. */
  shapeOf(name: string): readonly Size[] | undefined {
    const shapes = this.known.get(name)?.cases.map(({ shape }) => shape)
    const [first] = shapes ?? []
    if (first === undefined) return undefined
    return first.map((size, axis) => {
      const all = shapes?.map((shape) => shape?.[axis]) ?? []
      return all.every((each) => each === size) ? size : (this.sizes.nameOf(all) ?? `${name}:${axis}`)
    })
  }

  /** @param prefix goes before the names of a branch that are in use outside of it. */
  async add(graph: OnnxGraphMessage, prefix: string): Promise<void> {
    const names = new Map<string, string>()
    const own = (name: string) => {
      const isTaken = prefix !== '' && (this.known.has(name) || this.constants.has(name))
      if (isTaken) names.set(name, `${prefix}/${name}`)
      return names.get(name) ?? name
    }
    for (const tensor of graph.initializers) {
      const name = own(tensor.name)
      const known = await this.#file.known(tensor, this.#choices)
      this.constants.set(name, tensor)
      if (known !== undefined) this.known.set(name, known)
    }
    for (const message of graph.nodes) {
      const inputs = message.inputs.map((name) => names.get(name) ?? name)
      const branch = isStandard(message) && message.opType === 'If' ? this.#branch(message, inputs[0]) : undefined
      const outputs = message.outputs.map((name) => (name === '' ? '' : own(name)))
      if (branch === undefined) {
        await this.#addNode({ ...message, inputs, outputs })
        continue
      }
      const inner = await this.#inline(branch, outputs[0] ?? message.name)
      for (const [index, output] of outputs.entries()) {
        const from = inner[index]
        if (output !== '' && from !== undefined)
          await this.#addNode(newNode('Identity', `${message.name}/${index}`, [from], [output]))
      }
    }
  }

  /** Adds the nodes of a branch; the names of its outputs. */
  async #inline(branch: OnnxGraphMessage, prefix: string): Promise<string[]> {
    const before = new Set(this.#taken(branch))
    await this.add(branch, prefix)
    return branch.outputs.map(({ name }) => (before.has(name) ? `${prefix}/${name}` : name))
  }

  /** Names of a branch that are in use outside of it. */
  #taken({ nodes, initializers }: OnnxGraphMessage): string[] {
    const own = [...initializers.map(({ name }) => name), ...nodes.flatMap(({ outputs }) => outputs)]
    return own.filter((name) => name !== '' && (this.known.has(name) || this.constants.has(name)))
  }

  /** The branch that a constant condition takes; not one whose inner graphs would read renamed values. */
  #branch({ attributes }: GraphNode, condition: string | undefined): OnnxGraphMessage | undefined {
    const constant = constantOf(this.known.get(condition ?? ''))
    if (constant?.elements.length !== 1) return undefined
    const branch = attributes.get(constant.elements[0] === 0 ? 'else_branch' : 'then_branch')?.graph
    return branch?.nodes.some(hasGraphs) === true && this.#taken(branch).length > 0 ? undefined : branch
  }

  async #addNode(node: GraphNode): Promise<void> {
    const values = await this.#values(node)
    const outputs = [...node.outputs.entries()].filter(([, output]) => output !== '')
    for (const [index, output] of outputs) this.known.set(output, values[index] ?? UNKNOWN)
    const constants = outputs.map(([, output]) =>
      this.#outputs.has(output) ? undefined : constantOf(this.known.get(output)),
    )
    // A node without inputs is a constant already.
    const isConstant = node.inputs.length > 0 && constants.every((constant) => constant !== undefined)
    if (!isConstant) this.nodes.push(node)
    else for (const [at, [, output]] of outputs.entries()) this.constants.set(output, constants[at] as Constant)
  }

  async #values(node: GraphNode): Promise<readonly Known[]> {
    const reader = new NodeReader(node, this.#file.bytes)
    if (!isStandard(node) || hasGraphs(node)) return []
    const value = node.attributes.get('value')?.tensor
    if (node.opType === 'Constant') return this.#constant(node, reader)
    const operands = node.inputs.map((name) => (name === '' ? undefined : this.known.get(name)))
    if (node.opType === 'ConstantOfShape') return [await this.#filled(value, operands[0])]
    const known = nodeValues(
      reader,
      operands,
      node.inputs.map((name) => name !== ''),
      node.outputs.length,
    )
    this.#work += known.reduce((sum, { cases }) => sum + 16 + (cases[0]?.elements?.length ?? 0), 0)
    return this.#work <= WORK_PER_BYTE * this.#file.bytes.length + FREE_WORK ? known : []
  }

  async #constant(node: GraphNode, reader: NodeReader): Promise<Known[]> {
    const [tensor, f, i] = ['value', 'value_float', 'value_int'].map((name) => node.attributes.get(name))
    if (tensor?.tensor !== undefined) return [(await this.#file.known(tensor.tensor, this.#choices)) ?? UNKNOWN]
    const type = f?.f === undefined ? 'int64' : 'float32'
    const number = f?.f ?? i?.i
    const list = number === undefined ? reader.list('value_ints') : [number]
    if (list === undefined) return []
    const shape = number === undefined ? [list.length] : []
    return [sameAtAll({ type, shape, elements: Float64Array.from(list) }, this.#choices)]
  }

  async #filled(value: OnnxTensor | undefined, shape: Known | undefined): Promise<Known> {
    const fill = value && (await this.#file.known(value, 1))
    const type = fill?.type ?? 'float32'
    const number = value === undefined ? 0 : fill?.cases[0]?.elements?.[0]
    const cases = Array.from({ length: this.#choices }, (_, index) => {
      const elements = shape?.cases[index]?.elements
      const sizes = elements && Array.from(elements)
      if (sizes === undefined || number === undefined || !isShort(sizes))
        return sizes === undefined ? {} : { shape: sizes }
      return { shape: sizes, elements: Float64Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, () => number) }
    })
    return { type, cases, isZero: number === 0, isOpen: shape?.isOpen ?? true }
  }
}

function hasGraphs({ attributes }: Pick<GraphNode, 'attributes'>): boolean {
  return [...attributes.values()].some(({ graph }) => graph !== undefined)
}

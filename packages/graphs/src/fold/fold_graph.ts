import {
  dataTypeInWords,
  type ElementTypeName,
  type OnnxGraphMessage,
  type OnnxNodeMessage,
  type OnnxTensor,
} from '@cudnn-rnn/interop/internal'
import type { GraphFile } from './graph_file.js'
import { NodeReader, namesWithin, newNode } from './graph_node.js'
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
  readonly nodes: readonly OnnxNodeMessage[]
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
  const given = file.inputs.filter(({ name }) => !fixed.inputs.has(name))
  const inputs = given.map((value) => ({
    name: value.name,
    type: dataTypeInWords(value.dataType) as ElementTypeName,
    shape: namedSizes(value).map((size) => (typeof size === 'string' ? (fixed.sizes.get(size) ?? size) : size)),
  }))
  const fold = new Fold(file, new OpenSizes(inputs))
  for (const [index, { name, type, shape }] of inputs.entries()) {
    const shapes = fold.sizes.shapesOf(shape)
    const cases = shapes.map((sizes) => (given[index]?.dims === undefined ? {} : { shape: sizes }))
    fold.known.set(name, { type, cases, isZero: false, isOpen: false })
  }
  for (const [name, constant] of fixed.inputs) {
    fold.known.set(name, sameAtAll(constant))
    fold.constants.set(name, constant)
  }
  await fold.add(graph, '')
  const outputs = graph.outputs.map((value) => ({
    name: value.name,
    type: dataTypeInWords(value.dataType) as ElementTypeName,
    shape: fold.shapeOf(value.name) ?? namedSizes(value),
  }))
  const { known, sizes } = fold
  return { file, inputs, outputs, known, sizes, ...live(fold, outputs) }
}

/** The nodes and constants that outputs need. */
export function live(
  { nodes, constants }: Pick<FoldedGraph, 'nodes' | 'constants'>,
  outputs: readonly { readonly name: string }[],
): Pick<FoldedGraph, 'nodes' | 'constants'> {
  const needed = new Set(outputs.map(({ name }) => name))
  const kept = nodes.toReversed().filter((node) => {
    if (!node.outputs.some((output) => needed.has(output))) return false
    for (const name of [...node.inputs, ...namesWithin(node)]) needed.add(name)
    return true
  })
  return { nodes: kept.reverse(), constants: new Map([...constants].filter(([name]) => needed.has(name))) }
}

class Fold {
  readonly nodes: OnnxNodeMessage[] = []
  readonly constants = new Map<string, OnnxTensor | Constant>()
  readonly known = new Map<string, Known>()
  readonly sizes: OpenSizes
  readonly #file: GraphFile
  /** Their nodes stay: an output is not a constant of the file. */
  readonly #outputs: ReadonlySet<string>
  #work = 0

  constructor(file: GraphFile, sizes: OpenSizes) {
    this.#file = file
    this.sizes = sizes
    this.#outputs = new Set(file.model.graph.outputs.map(({ name }) => name))
  }

  /** The shape of a value: numbers where it is the same at all sizes, else the name of an open size or of the axis. */
  shapeOf(name: string): readonly Size[] | undefined {
    const shapes = this.known.get(name)?.cases.map(({ shape }) => shape)
    return shapes?.[0]?.map((size, axis) => {
      const all = shapes.map((shape) => shape?.[axis])
      return all.every((each) => each === size) ? size : (this.sizes.nameOf(all) ?? `${name}:${axis}`)
    })
  }

  /**
   * Adds the nodes of a graph.
   *
   * @param prefix goes before the names of a branch that are in use outside of it.
   * @returns the names of its values.
   */
  async add(graph: OnnxGraphMessage, prefix: string): Promise<(name: string) => string> {
    const names = new Map<string, string>()
    const nameOf = (name: string) => names.get(name) ?? name
    const own = (name: string) => {
      if (prefix !== '' && this.#isTaken(name)) names.set(name, `${prefix}/${name}`)
      return nameOf(name)
    }
    for (const tensor of graph.initializers) {
      const name = own(tensor.name)
      this.constants.set(name, tensor)
      this.known.set(name, await this.#file.known(tensor))
    }
    for (const message of graph.nodes) {
      const node = { ...message, inputs: message.inputs.map(nameOf), outputs: message.outputs.map(own) }
      const branch = this.#branch(node)
      if (branch === undefined) {
        await this.#addNode(node)
        continue
      }
      const inner = await this.add(branch, node.outputs[0] || node.name)
      for (const [index, output] of node.outputs.entries()) {
        const from = branch.outputs[index]
        if (output !== '' && from !== undefined)
          await this.#addNode(newNode('Identity', `${node.name}/${index}`, [inner(from.name)], [output]))
      }
    }
    return nameOf
  }

  #isTaken(name: string): boolean {
    return name !== '' && (this.known.has(name) || this.constants.has(name))
  }

  /** The branch that a constant condition takes; not one whose inner graphs would read renamed values. */
  #branch(node: OnnxNodeMessage): OnnxGraphMessage | undefined {
    const condition = constantOf(this.known.get(node.inputs[0] ?? ''))?.elements
    if (this.#reader(node).opType !== 'If' || condition?.length !== 1) return undefined
    const branch = node.attributes.get(condition[0] === 0 ? 'else_branch' : 'then_branch')?.graph
    const { nodes = [], initializers = [] } = branch ?? {}
    const own = [...initializers.map(({ name }) => name), ...nodes.flatMap(({ outputs }) => outputs)]
    const hasGraphs = nodes.some(({ attributes }) => [...attributes.values()].some(({ graph }) => graph !== undefined))
    return hasGraphs && own.some((name) => this.#isTaken(name)) ? undefined : branch
  }

  async #addNode(node: OnnxNodeMessage): Promise<void> {
    const values = await this.#values(node)
    const outputs = node.outputs.flatMap((name, index) =>
      name === '' ? [] : { name, value: values[index] ?? UNKNOWN },
    )
    for (const { name, value } of outputs) this.known.set(name, value)
    const constants = outputs.flatMap(({ name, value }) => {
      const constant = this.#outputs.has(name) ? undefined : constantOf(value)
      return constant === undefined ? [] : [[name, constant] as const]
    })
    // A node without inputs is a constant already.
    if (node.inputs.length === 0 || constants.length < outputs.length) this.nodes.push(node)
    else for (const [name, constant] of constants) this.constants.set(name, constant)
  }

  async #values(node: OnnxNodeMessage): Promise<readonly Known[]> {
    const reader = this.#reader(node)
    const operands = node.inputs.map((name) => (name === '' ? undefined : (this.known.get(name) ?? UNKNOWN)))
    if (reader.opType === 'Constant') return this.#constant(node)
    if (reader.opType === 'ConstantOfShape') return [await this.#filled(node, operands[0])]
    const known = nodeValues(reader, operands, node.outputs.length)
    this.#work += known.reduce((sum, { cases }) => sum + 16 + (cases[0]?.elements?.length ?? 0), 0)
    return this.#work <= WORK_PER_BYTE * this.#file.bytes.length + FREE_WORK ? known : []
  }

  async #constant(node: OnnxNodeMessage): Promise<Known[]> {
    const [tensor, f, i] = ['value', 'value_float', 'value_int'].map((name) => node.attributes.get(name))
    if (tensor?.tensor !== undefined) return [await this.#file.known(tensor.tensor)]
    const type = f?.f === undefined ? 'int64' : 'float32'
    const number = f?.f ?? i?.i
    const list = number === undefined ? this.#reader(node).list('value_ints') : [number]
    if (list === undefined) return []
    return [sameAtAll({ type, shape: number === undefined ? [list.length] : [], elements: Float64Array.from(list) })]
  }

  async #filled({ attributes }: OnnxNodeMessage, shape: Known | undefined): Promise<Known> {
    const value = attributes.get('value')?.tensor
    const fill = value === undefined ? undefined : await this.#file.known(value)
    const number = value === undefined ? 0 : fill?.cases[0]?.elements?.[0]
    const cases = (shape ?? UNKNOWN).cases.map(({ elements }) => {
      const sizes = elements && Array.from(elements)
      if (sizes === undefined || number === undefined || !isShort(sizes)) return { shape: sizes }
      return { shape: sizes, elements: Float64Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, () => number) }
    })
    return { type: fill?.type ?? 'float32', cases, isZero: number === 0, isOpen: shape?.isOpen ?? true }
  }

  #reader(node: OnnxNodeMessage): NodeReader {
    return new NodeReader(node, this.#file.bytes)
  }
}

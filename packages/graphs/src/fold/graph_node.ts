import { decodeOnnxLists, isStandard, type OnnxAttribute, type OnnxNodeMessage } from '@cudnn-rnn/interop/internal'

/** A node of a graph that is changed: its attributes are those of the file, or integers that are written. */
export interface GraphNode extends Omit<OnnxNodeMessage, 'attributes'> {
  readonly attributes: ReadonlyMap<string, OnnxAttribute>
}

const NONE: ReadonlyMap<string, OnnxAttribute> = new Map()

/** A node without attributes. */
export function newNode(
  opType: string,
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
): GraphNode {
  return { opType, name, domain: '', inputs, outputs, attributes: NONE }
}

/** The attributes of one node. */
export class NodeReader {
  readonly opType: string
  readonly #node: GraphNode
  readonly #bytes: Uint8Array
  readonly #lists = new Map<string, readonly number[] | undefined>()

  constructor(node: GraphNode, bytes: Uint8Array) {
    this.#node = node
    this.#bytes = bytes
    this.opType = isStandard(node) ? node.opType : ''
  }

  integer(name: string, otherwise: number): number {
    return this.#node.attributes.get(name)?.i ?? otherwise
  }

  text(name: string, otherwise: string): string {
    return this.#node.attributes.get(name)?.s ?? otherwise
  }

  /** A list of integers. */
  list(name: string): readonly number[] | undefined {
    if (!this.#lists.has(name)) {
      const attribute = this.#node.attributes.get(name)
      const { start, end } = attribute?.message ?? { start: 0, end: 0 }
      const hasList = attribute !== undefined && attribute.intCount > 0
      this.#lists.set(name, hasList ? decodeOnnxLists('', this.#bytes.subarray(start, end)).ints : undefined)
    }
    return this.#lists.get(name)
  }
}

/** The names that a graph within a node takes from outside, and some that it defines. */
export function namesWithin(node: GraphNode): string[] {
  return [...node.attributes.values()].flatMap(({ graph }) =>
    graph === undefined
      ? []
      : [
          ...graph.outputs.map(({ name }) => name),
          ...graph.nodes.flatMap((inner) => [...inner.inputs, ...namesWithin(inner)]),
        ],
  )
}

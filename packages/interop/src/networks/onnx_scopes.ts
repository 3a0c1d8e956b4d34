import { madeIn } from '@cudnn-rnn/canonical/rules'
import { corrupt, unsupported } from '../errors.js'
import type { OnnxAttribute, OnnxNodeMessage } from '../files/onnx_messages.js'
import { functionKey, type OnnxFunction, type OnnxGraph, type OnnxModel } from '../files/onnx_model.js'
import type { StoredTensor } from '../stored_tensor.js'

/** Functions that call functions are few deep; more are a trap. */
const DEEPEST = 32
/** Nodes of all graphs, a function's once for each call: functions that call each other twice double them. */
const MOST_VISITS = 2 ** 20

export interface OnnxValue {
  readonly scope: OnnxScope
  readonly name: string
}

interface Producer {
  readonly node: OnnxNodeMessage
  readonly output: number
}

/** The names of one graph, branch, body or call of a function, and those around it. */
export class OnnxScope {
  readonly graph: OnnxGraph
  /** Names of the calls around it, for the names of its networks. */
  readonly prefix: string
  readonly depth: number
  readonly #parent: OnnxScope | undefined
  readonly #parameters: ReadonlyMap<string, OnnxValue>
  readonly #attributes: ReadonlyMap<string, OnnxAttribute>
  #producers: ReadonlyMap<string, Producer> | undefined
  readonly #inner = new Map<object, OnnxScope>()

  constructor(
    graph: OnnxGraph,
    around: {
      readonly parent?: OnnxScope
      readonly parameters?: ReadonlyMap<string, OnnxValue>
      readonly attributes?: ReadonlyMap<string, OnnxAttribute>
      readonly prefix?: string
      readonly depth?: number
    } = {},
  ) {
    this.graph = graph
    this.#parent = around.parent
    this.#parameters = around.parameters ?? NONE
    const { parent } = around
    this.#attributes = around.attributes ?? (parent === undefined ? NONE : parent.#attributes)
    this.prefix = around.prefix ?? around.parent?.prefix ?? ''
    this.depth = around.depth ?? around.parent?.depth ?? 0
  }

  /** The scope that defines a name, or leaves it to a caller, and its name there. */
  locate(name: string): OnnxValue {
    let at: OnnxValue = { scope: this, name }
    for (;;) {
      const { scope, name: own } = at
      const actual = scope.#parameters.get(own)
      if (actual !== undefined) at = actual
      else if (scope.#parent === undefined || scope.constant(own) !== undefined || scope.producer(own) !== undefined)
        return at
      else at = { scope: scope.#parent, name: own }
    }
  }

  constant(name: string): StoredTensor | undefined {
    return this.graph.constants.get(name)
  }

  producer(name: string): Producer | undefined {
    this.#producers ??= new Map(
      this.graph.nodes.flatMap((node) =>
        node.outputs.map((output, index) => [output, { node, output: index }] as const),
      ),
    )
    return this.#producers.get(name)
  }

  /** An attribute of a node of this scope: in a function, of its call. */
  attribute(node: OnnxNodeMessage, name: string): OnnxAttribute | undefined {
    const own = node.attributes.get(name)
    return own?.reference === undefined ? own : this.#attributes.get(own.reference)
  }

  /** The scope of a branch or body. */
  within(attribute: OnnxAttribute): OnnxScope | undefined {
    const graph = this.graph.inner.get(attribute)
    return graph && madeIn(this.#inner, attribute, () => new OnnxScope(graph, { parent: this }))
  }

  call(path: string, { functions }: OnnxModel, node: OnnxNodeMessage): OnnxScope | undefined {
    const called = functions.get(functionKey(node.domain, node.opType))
    return called && madeIn(this.#inner, node, () => this.#callOf(path, called, node))
  }

  #callOf(path: string, called: OnnxFunction, node: OnnxNodeMessage): OnnxScope {
    if (this.depth === DEEPEST) throw corrupt(path, `its functions call each other more than ${DEEPEST} deep`)
    const parameters = called.inputs.map(
      (name, index) => [name, { scope: this, name: node.inputs[index] ?? '' }] as const,
    )
    const attributes = new Map(called.defaults)
    for (const name of node.attributes.keys()) {
      const attribute = this.attribute(node, name)
      if (attribute !== undefined) attributes.set(name, attribute)
    }
    const name = node.name || node.outputs.find((output) => output !== '') || node.opType
    return new OnnxScope(called, {
      parameters: new Map(parameters),
      attributes,
      prefix: `${this.prefix}${name}/`,
      depth: this.depth + 1,
    })
  }
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** Visits every node of a model in the order of the file, a function's at each of its calls. */
export function visitNodes(
  path: string,
  model: OnnxModel,
  visit: (scope: OnnxScope, node: OnnxNodeMessage, isCall: boolean) => void,
): void {
  let visits = 0
  const walk = (scope: OnnxScope): void => {
    for (const node of scope.graph.nodes) {
      if (++visits > MOST_VISITS) throw unsupported(path, `its graphs and calls must have at most ${MOST_VISITS} nodes`)
      const call = scope.call(path, model, node)
      visit(scope, node, call !== undefined)
      if (call !== undefined) walk(call)
      for (const attribute of node.attributes.values()) {
        const inner = attribute.graph && scope.within(attribute)
        if (inner !== undefined) walk(inner)
      }
    }
  }
  walk(new OnnxScope(model.graph))
}

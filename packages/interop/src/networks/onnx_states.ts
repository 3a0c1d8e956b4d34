import type { OnnxNodeMessage } from '../files/onnx_messages.js'
import type { StoredTensor } from '../weight_file.js'

const RECURRENT = ['LSTM', 'GRU', 'RNN']

/** A recurrent operator of ONNX itself. */
export function isRecurrent({ opType, domain }: OnnxNodeMessage): boolean {
  return RECURRENT.includes(opType) && ['', 'ai.onnx'].includes(domain)
}

/** Operators that give the elements of their first input again, or all inputs', in another shape or repeated. */
const SHAPING: ReadonlyMap<string, 'first' | 'all'> = new Map([
  ['Cast', 'first'],
  ['Concat', 'all'],
  ['Expand', 'first'],
  ['Identity', 'first'],
  ['Reshape', 'first'],
  ['Slice', 'first'],
  ['Split', 'first'],
  ['Squeeze', 'first'],
  ['Tile', 'first'],
  ['Transpose', 'first'],
  ['Unsqueeze', 'first'],
])

/** Exporters write a few nodes between a constant and an initial state. More are not followed: the state counts as computed. */
const MOST_VALUES = 64

/** Whether a node may be between a constant and an initial state. */
export function shapesConstants({ opType, domain }: OnnxNodeMessage): boolean {
  return ['', 'ai.onnx'].includes(domain) && (opType === 'ConstantOfShape' || SHAPING.has(opType))
}

/** The source of an initial state. */
export interface StateSource {
  /** Constants that it is made of. */
  readonly constants: readonly StoredTensor[]
  /** False where the caller, or a computation, gives it. */
  readonly isConstant: boolean
}

/** Finds the sources of the initial states of a graph's recurrent nodes. */
export class OnnxStates {
  readonly #constants: ReadonlyMap<string, StoredTensor>
  readonly #producers = new Map<string, OnnxNodeMessage>()
  readonly #sources = new Map<string, StateSource>()

  constructor(nodes: readonly OnnxNodeMessage[], constants: ReadonlyMap<string, StoredTensor>) {
    this.#constants = constants
    for (const node of nodes.filter(shapesConstants)) {
      for (const output of node.outputs) this.#producers.set(output, node)
    }
  }

  /**
   * Visits each value once: a `Concat` may name one value many times, and so may each node before it.
   *
   * @param value the name of a value of the graph.
   */
  source(value: string): StateSource {
    const known = this.#sources.get(value)
    if (known !== undefined) return known
    const values = new Set([value])
    const constants = new Set<StoredTensor>()
    let isConstant = true
    // The iteration includes values that are added on the way.
    for (const name of values) {
      // Of a ConstantOfShape this is the element that it repeats.
      const constant = this.#constants.get(name)
      const producer = this.#producers.get(name)
      if (constant !== undefined) constants.add(constant)
      else if (producer === undefined || values.size > MOST_VALUES) isConstant = false
      else {
        const { opType, inputs } = producer
        const elements = opType === 'ConstantOfShape' ? 0 : SHAPING.get(opType) === 'all' ? inputs.length : 1
        for (const input of inputs.slice(0, elements)) {
          if (values.size <= MOST_VALUES) values.add(input)
        }
        for (const input of inputs.slice(elements, elements + MOST_VALUES)) {
          const shape = this.#constants.get(input)
          if (shape !== undefined) constants.add(shape)
        }
      }
    }
    const source = { constants: [...constants], isConstant }
    this.#sources.set(value, source)
    return source
  }
}

/** Whether all floating-point constants of a source are zero. Those of other types are shapes and axes. */
export async function isZero({ constants, isConstant }: StateSource): Promise<boolean> {
  if (!isConstant) return false
  for (const constant of constants) {
    if (constant.dtype.includes('int')) continue
    if ((await constant.read()).some((element) => element !== 0)) return false
  }
  return true
}

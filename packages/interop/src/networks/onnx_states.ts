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

/** Longer chains are not what exporters write for zeros. */
const LONGEST_CHAIN = 16

/** Whether a node may stand between a constant and an initial state. */
export function shapesConstants({ opType, domain }: OnnxNodeMessage): boolean {
  return ['', 'ai.onnx'].includes(domain) && (opType === 'ConstantOfShape' || SHAPING.has(opType))
}

/** Where an initial state comes from. */
export interface StateSource {
  /** Constants that it is made of. */
  readonly constants: readonly StoredTensor[]
  /** False where the caller, or a computation, gives it. */
  readonly isConstant: boolean
}

/** Finds what the initial states of a graph's recurrent nodes are made of. */
export class OnnxStates {
  readonly #constants: ReadonlyMap<string, StoredTensor>
  readonly #producers = new Map<string, OnnxNodeMessage>()

  constructor(nodes: readonly OnnxNodeMessage[], constants: ReadonlyMap<string, StoredTensor>) {
    this.#constants = constants
    for (const node of nodes.filter(shapesConstants)) {
      for (const output of node.outputs) this.#producers.set(output, node)
    }
  }

  /** @param value the name of a value of the graph. */
  source(value: string, depth = 0): StateSource {
    // Of a ConstantOfShape this is the element that it repeats.
    const constant = this.#constants.get(value)
    if (constant !== undefined) return { constants: [constant], isConstant: true }
    const producer = this.#producers.get(value)
    if (producer === undefined || depth > LONGEST_CHAIN) return { constants: [], isConstant: false }
    const { opType, inputs } = producer
    const elements = opType === 'ConstantOfShape' ? [] : SHAPING.get(opType) === 'all' ? inputs : inputs.slice(0, 1)
    const sources = elements.map((input) => this.source(input, depth + 1))
    const shapes = inputs.slice(elements.length).flatMap((input) => this.#constants.get(input) ?? [])
    return {
      constants: [...sources.flatMap(({ constants }) => constants), ...shapes],
      isConstant: sources.every(({ isConstant }) => isConstant),
    }
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

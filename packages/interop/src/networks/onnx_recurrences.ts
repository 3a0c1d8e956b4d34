import type { OnnxNodeMessage } from '../files/onnx_messages.js'
import type { UnreadValue } from '../weight_file.js'
import { isStandard } from './onnx_operators.js'

/** Operators that multiply matrices. */
const PRODUCTS = new Set(['MatMul', 'Gemm', 'MatMulInteger', 'QLinearMatMul', 'DynamicQuantizeMatMul', 'Einsum'])
/** Operators that state a matrix in another way. */
const MOVES = new Set(['Transpose', 'Identity', 'Cast', 'DequantizeLinear', 'Reshape', 'Squeeze', 'Unsqueeze'])
/** Matrices that are known of a value, those that it was multiplied by last: a step of a cell has fewer. */
const MOST_FACTORS = 16
/** Values of which something is known. */
const MOST_VALUES = 2 ** 16

const NONE: readonly string[] = []

/**
 * Finds the recurrences that a graph computes without recurrent operators: an unrolled step multiplies a
 * product of a matrix by that matrix again, and a loop carries a product. It sees each node once, in the order of the file, and
 * keeps none.
 */
export class OnnxRecurrences {
  /** The matrices that a value was multiplied by, the last one last. */
  readonly #factors = new Map<string, readonly string[]>()
  /** The matrix that a value restates. */
  readonly #matrices = new Map<string, string>()
  readonly #unrolled = new Set<string>()
  readonly #loops: UnreadValue[] = []

  see(node: OnnxNodeMessage): void {
    const { opType, inputs, outputs } = node
    if (this.#factors.size + this.#matrices.size > MOST_VALUES) return
    const carried = inputs.map((name) => this.#factors.get(name) ?? NONE)
    let factors = carried.reduce(joined, NONE)
    if (PRODUCTS.has(opType)) {
      // The third input of Gemm is a bias.
      for (const [index, name] of inputs.slice(0, opType === 'Gemm' ? 2 : undefined).entries()) {
        if (carried[index] !== NONE) continue
        const matrix = this.#matrices.get(name) ?? name
        if (factors.includes(matrix)) this.#unrolled.add(matrix)
        factors = joined(factors, [matrix])
      }
    } else if (isStandard(node) && (opType === 'Loop' || opType === 'Scan')) this.#seeLoop(node)
    else if (MOVES.has(opType) && factors === NONE) {
      const [from = '', to = ''] = [inputs[0], outputs[0]]
      this.#matrices.set(to, this.#matrices.get(from) ?? from)
    }
    if (factors !== NONE) for (const output of outputs) this.#factors.set(output, factors)
  }

  /** @param isConstant whether a value is a constant of the file: an input of the graph is not a weight. */
  found(isConstant: (name: string) => boolean): readonly UnreadValue[] {
    const what = 'a factor of a product of it, as in an unrolled recurrent network'
    return [...[...this.#unrolled].filter(isConstant).map((name) => ({ name, what })), ...this.#loops]
  }

  /** The nodes of the body were seen before. */
  #seeLoop({ opType, name, inputs, outputs, attributes }: OnnxNodeMessage): void {
    const body = attributes.get('body')?.graph
    // The first inputs of a Loop are its count and condition, the first output of its body is a condition.
    const scanned = attributes.get('num_scan_inputs')?.i ?? 0
    const results =
      opType === 'Loop' ? body?.outputs.slice(1, inputs.length - 1) : body?.outputs.slice(0, inputs.length - scanned)
    if (results?.some((result) => this.#factors.has(result.name)) !== true) return
    this.#loops.push({
      name: name || outputs[0] || opType,
      what: `a ${opType} that carries a product, as a recurrent network`,
    })
  }
}

/** The last of both. */
function joined(some: readonly string[], others: readonly string[]): readonly string[] {
  if (others === NONE || some === others) return some
  if (some === NONE) return others
  const added = others.filter((name) => !some.includes(name))
  return added.length === 0 ? some : [...some, ...added].slice(-MOST_FACTORS)
}

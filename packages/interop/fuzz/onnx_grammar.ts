import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Random } from '@cudnn-rnn/fuzzing'
import { bytesFor, someName, someShape } from './hostile_values.js'
import { field, joined, modelBytes, nodeMessage, numberField, textField } from './onnx_bytes.js'

const OPERATORS = ['LSTM', 'LSTM', 'GRU', 'RNN', 'Constant', 'If', 'Loop', 'constructor']
const SHAPING = ['Concat', 'Concat', 'Identity', 'Reshape', 'Expand', 'ConstantOfShape']
const ACTIVATIONS = ['Tanh', 'Relu', 'Sigmoid', 'HardSigmoid', '\x1b[2J']

const NODE_COUNTS = [1, 1, 2, 2, 2, 5, 5, 5, 20, 20, 300]

/** A model whose nodes share initializers, within graphs within graphs. */
export function onnxFile(random: Random): { bytes: Uint8Array; heldBytes: number } {
  const units = random.pick([1, 2, 4, 16])
  const names = ['W', 'R', 'B', 'L', 'h', 'c', 'P', someName(random)]
  const gates = random.pick([1, 3, 4])
  const rows = gates * units
  const shapes = [
    [1, rows, units],
    [1, rows, units],
    [1, 2 * rows],
    [2],
    [1, 2, units],
    [1, 2, units],
    [1, 3 * units],
    someShape(random),
  ]
  const initializers = names.map((name, index) => {
    const shape = random.chance(0.9) ? shapes[index]! : someShape(random)
    return tensor(random, name, shape, name === 'L' ? 7 : 1)
  })
  const nodes = Array.from({ length: random.pick(NODE_COUNTS) }, (_, index) => node(random, names, index, 0))
  const bytes = modelBytes(nodes, initializers)
  return { bytes, heldBytes: bytes.length }
}

function node(random: Random, names: readonly string[], index: number, depth: number): Uint8Array {
  if (random.chance(0.2)) return shapingNode(random, names, index)
  const operator = random.pick(OPERATORS)
  const usual = random.pick([
    ['X', 'W', 'R', 'B'],
    ['X', 'W', 'W'],
    ['X', 'W', 'R', '', 'L', 'h', 'c', 'P'],
    ['X', 'W', 'R', '', '', `y${index - 1}`, `y${index - 1}`],
  ])
  const inputs = random.chance(0.85)
    ? usual
    : Array.from({ length: random.below(9) }, () => random.pick([...names, '', 'X']))
  const parts = [nodeMessage(operator, inputs, random.chance(0.9) ? `y${index}` : '')]
  if (random.chance(0.3)) parts.push(textField(3, someName(random)))
  for (let count = random.below(4); count > 0; count--) parts.push(field(5, attribute(random, names, depth)))
  return joined(parts)
}

/** A node between constants and initial states, often of the value before it, some times over. */
function shapingNode(random: Random, names: readonly string[], index: number): Uint8Array {
  const values = [...names, `y${index - 1}`, `y${index - 1}`, `y${index}`]
  const inputs = random.chance(0.5)
    ? Array.from({ length: random.pick([1, 2, 8]) }, () => `y${index - 1}`)
    : Array.from({ length: random.below(5) }, () => random.pick(values))
  return nodeMessage(random.pick(SHAPING), inputs, `y${index}`)
}

function attribute(random: Random, names: readonly string[], depth: number): Uint8Array {
  const named = (name: string, ...content: Uint8Array[]) => joined([textField(1, name), ...content])
  switch (random.below(9)) {
    case 0:
      return named('direction', textField(4, random.pick(['forward', 'reverse', 'bidirectional', 'constructor'])))
    case 1:
      return named('linear_before_reset', numberField(3, random.below(2)))
    case 2:
      return named('layout', numberField(3, random.below(2)))
    case 3:
      return named(
        'clip',
        new BinaryWriter()
          .tag(2, WireType.Bit32)
          .float(random.pick([0, 0.5, Number.NaN, -1]))
          .finish(),
      )
    case 4:
      return named(
        'activations',
        ...Array.from({ length: random.below(7) }, () => textField(9, random.pick(ACTIVATIONS))),
      )
    case 5:
      return named('value', field(5, tensor(random, someName(random), someShape(random), 1)))
    case 6:
      return named(someName(random), textField(4, someName(random)))
    default: {
      if (depth > 40) return named('input_forget', numberField(3, 1))
      const inner = Array.from({ length: random.below(3) }, (_, index) =>
        field(1, node(random, names, index, depth + 1)),
      )
      return named('body', field(6, joined(inner)))
    }
  }
}

/** TensorProto whose elements are raw, in lists of numbers, elsewhere, or not there. */
function tensor(random: Random, name: string, dims: readonly number[], type: number): Uint8Array {
  const dataType = random.chance(0.9) ? type : random.pick([0, 1, 6, 7, 8, 10, 11, 16, 99])
  const sizes = dims.map((size) => numberField(1, size))
  const head = [...sizes, numberField(2, dataType), textField(8, name)]
  const content = bytesFor(
    dims,
    dataType === 7 || dataType === 11 ? 8 : dataType === 10 || dataType === 16 ? 2 : 4,
    random,
  )
  if (random.chance(0.8)) return joined([...head, field(9, content)])
  if (random.chance(0.6)) return joined([...head, field(random.pick([4, 5, 7, 10]), content)])
  const place = (key: string, value: string) => field(13, joined([textField(1, key), textField(2, value)]))
  const location = random.pick(['weights.bin', '../weights.bin', '/etc/passwd', 'a\0b', someName(random)])
  const offset = String(random.pick([0, 4, -1, 2 ** 40, 1e300]))
  return joined([
    ...head,
    place('location', location),
    place('offset', offset),
    place('length', '16'),
    numberField(14, 1),
  ])
}

import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { fuzzFiles, type Random } from '@cudnn-rnn/fuzzing'
import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { openGraph } from '../src/index.js'

const GRAPHS = Number(process.env['CUDNN_RNN_FUZZ_GRAPHS'] ?? 750)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

const { LengthDelimited, Varint } = WireType
const field = (number: number, content: Uint8Array) =>
  new BinaryWriter().tag(number, LengthDelimited).bytes(content).finish()
const text = (number: number, value: string) => new BinaryWriter().tag(number, LengthDelimited).string(value).finish()
const integer = (number: number, value: number | bigint) =>
  new BinaryWriter().tag(number, Varint).int64(`${value}`).finish()
const joined = (...parts: readonly Uint8Array[]) => Buffer.concat(parts)

const OPERATORS = `Shape Size Gather Concat Reshape Expand ConstantOfShape Constant Tile Slice Range Squeeze Unsqueeze
  Transpose Split Identity Cast Flatten Add Mul Div Mod Equal Where Not If If Loop Scan
  DynamicQuantizeLSTM LSTM GRU RNN Conv Pad MatMul Einsum ReduceMean ScatterND constructor __proto__`.split(/\s+/)
const ATTRIBUTES = `axis axes to perm start end direction layout hidden_size keepdims value num_scan_inputs
  scan_input_axes`.split(/\s+/)
const NAMES = ['state', 'state_out', 'h', 'c', 'hn', 'x', 'y', 'v0', 'v1', 'v2', 'v3', 'one', 'zero', '']
const SIZES = [0, 1, 1, 2, 3, -1, 2 ** 31, 2 ** 40]

function tensor(random: Random, name: string): Uint8Array {
  const sizes = Array.from({ length: random.below(3) }, () => random.pick(SIZES))
  const isInteger = random.chance(0.7)
  const count = random.chance(0.8) ? Math.min(8, Math.abs(sizes.reduce((a, b) => a * b, 1))) : random.below(9)
  const numbers = Array.from({ length: count }, () => random.number(1n))
  const raw = isInteger ? BigUint64Array.from(numbers) : Float32Array.from(numbers, Number)
  const dims = sizes.map((size) => integer(1, size))
  return joined(
    ...dims,
    integer(2, isInteger ? 7 : random.pick([1, 1, 9, 99])),
    text(8, name),
    field(9, new Uint8Array(raw.buffer)),
  )
}

function attribute(random: Random): Uint8Array {
  const name = random.pick(ATTRIBUTES)
  const content = random.pick([
    () => integer(3, random.pick([-1, 0, 1, 1, 2, 7, 2 ** 40])),
    () => joined(...Array.from({ length: random.below(4) }, () => integer(8, random.pick([-1, 0, 1, 2, 3])))),
    () => text(4, random.pick(['forward', 'reverse', 'bidirectional', 'ij,jk->ik', '->'])),
    () => field(5, tensor(random, '')),
  ])
  return joined(text(1, name), content())
}

function node(random: Random, k: number, depth: number): Uint8Array {
  const opType = random.pick(OPERATORS)
  const names = [...NAMES, `v${k - 1}`, `v${k - 1}`, `v${k - 2}`]
  const inputs = Array.from({ length: random.pick([1, 1, 2, 2, 3, 6]) }, () => text(1, random.pick(names)))
  const outputs = Array.from({ length: random.pick([1, 1, 1, 3]) }, (_, at) =>
    text(2, at === 0 ? `v${k}` : random.pick(NAMES)),
  )
  const attributes = Array.from({ length: random.below(3) }, () => field(5, attribute(random)))
  if ((opType === 'If' || opType === 'Loop') && depth < 6) {
    for (const branch of ['then_branch', 'else_branch', 'body'])
      attributes.push(field(5, joined(text(1, branch), field(6, graph(random, depth + 1)))))
  }
  return joined(...inputs, ...outputs, text(3, random.chance(0.5) ? `n${k}` : ''), text(4, opType), ...attributes)
}

function value(random: Random, name: string): Uint8Array {
  const dims = Array.from({ length: random.below(4) }, () =>
    field(1, random.chance(0.5) ? text(2, random.pick(['batch', 'time', 'T', ''])) : integer(1, random.pick(SIZES))),
  )
  return joined(
    text(1, name),
    field(2, field(1, joined(integer(1, random.pick([1, 1, 1, 7, 99])), field(2, joined(...dims))))),
  )
}

function graph(random: Random, depth: number): Uint8Array {
  const count = depth > 0 ? random.below(4) : random.pick([1, 3, 10, 10, 40])
  const named = (names: readonly string[], number: number, make: (random: Random, name: string) => Uint8Array) =>
    names.filter(() => random.chance(0.7)).map((name) => field(number, make(random, name)))
  return joined(
    ...Array.from({ length: count }, (_, k) => field(1, node(random, k, depth))),
    ...named(['one', 'zero', 'v0'], 5, tensor),
    ...(depth > 0 ? [] : named(['x', 'state', 'h', 'c'], 11, value)),
    ...named([`v${count - 1}`, 'state_out', 'y', 'v1'], 12, value),
  )
}

const constructed = (random: Random) => joined(integer(1, 8), field(7, graph(random, 0)), field(8, integer(2, 17)))

const wave = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5), shape })
const small = encodeOnnxModel(
  {
    name: 'small',
    nodes: [
      {
        opType: 'LSTM',
        name: 'lstm',
        inputs: ['x', 'W', 'R', '', '', 'h', 'c'],
        outputs: ['Y', 'hn', 'cn'],
        attributes: { hidden_size: 2 },
      },
      { opType: 'Shape', name: 'shape', inputs: ['x'], outputs: ['sizes'] },
      { opType: 'Reshape', name: 'reshape', inputs: ['Y', 'sizes'], outputs: ['y'] },
    ],
    inputs: ['x', 'h', 'c'].map((name) => ({ name, elementType: 'float32', shape: ['T', 'batch', 2] })),
    outputs: ['y', 'hn', 'cn'].map((name) => ({ name, elementType: 'float32', shape: ['T', 'batch', 2] })),
    initializers: { W: wave(1, 8, 2), R: wave(1, 8, 2) },
  },
  8,
  17,
)

/** A file with some bytes changed, or cut off. */
function mutated(random: Random): Uint8Array {
  const bytes = small.slice(0, random.chance(0.2) ? random.below(small.length) : small.length)
  for (let count = random.below(4); count > 0; count--) bytes[random.below(bytes.length)] = random.below(256)
  return bytes
}

/** A runtime that takes any model and runs none. */
const create = async () => ({ run: async () => ({}), release: async () => undefined })
const ort = { InferenceSession: { create }, Tensor: class {} }

const grammar = (make: (random: Random) => Uint8Array) => (random: Random) => {
  const bytes = make(random)
  return {
    heldBytes: bytes.length,
    async read() {
      using opened = await openGraph(bytes, { ort, ...(random.chance(0.2) && { fixed: { batch: 1 } }) })
      opened.toBytes()
      opened.stream()
    },
  }
}

it(`${GRAPHS} graphs are opened or refused with a code`, { timeout: 3_600_000 }, async () => {
  const isCoded = (error: unknown) =>
    /^ERR_(?:GRAPH|WEIGHTS|INVALID|SHAPE)/.test(String((error as { code?: unknown }).code))
  const { files, outcomes, slowestMilliseconds } = await fuzzFiles({
    grammars: { constructed: grammar(constructed), mutated: grammar(mutated) },
    shares: { constructed: 3 },
    files: GRAPHS,
    seed: SEED,
    isCoded,
  })
  measured({
    'graphs that are opened or refused with a code': files,
    'slowest graph, ms of the processor': slowestMilliseconds,
  })
  for (const counts of Object.values(outcomes)) expect(counts).toMatchObject({ read: expect.any(Number) })
  expect(outcomes['mutated']).toMatchObject({ ERR_WEIGHTS_CORRUPT: expect.any(Number) })
})

import { createRnnDescriptor, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { multiply } from '../src/device/matrix_products.js'
import { CommandList } from '../src/device/command_list.js'
import { type BufferHome, DeviceBuffer } from '../src/device/device_buffer.js'
import { GraphTrial } from '../src/device/graph_cache.js'
import { arithmeticOf } from '../src/device/precision.js'
import {
  hasDropout,
  isGraphSized,
  legalAlgorithms,
  measuredAlgorithms,
  setRnnDescriptor,
  stateElements,
} from '../src/rnn/network_descriptors.js'
import { COMMANDS } from '../src/sys/commands.js'
import type { DropoutDescriptor, RnnDescriptorId } from '../src/sys/native_addon.js'

const network = (options: Partial<RnnOptions> = {}) =>
  createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 6, inputSize: 3, ...options })
const FLOAT32 = arithmeticOf('float32', undefined)

/** Gives buffers their numbers. */
function home(): BufferHome {
  let next = 0
  return { newId: <Id>() => ++next as Id, release: () => {}, account: () => {} }
}

describe('setRnnDescriptor', () => {
  /** The fields of the command by their names in the table. */
  function fieldsOf(given: Partial<RnnOptions>, options: Partial<Parameters<typeof setRnnDescriptor>[3]> = {}) {
    const list = new CommandList(home(), 'describe')
    const complete = {
      arithmetic: FLOAT32,
      algorithm: 'standard',
      dropout: null,
      hasPaddedIo: false,
      ...options,
    } as const
    setRnnDescriptor(list, 77 as RnnDescriptorId, network(given), complete)
    const names = Object.keys(COMMANDS.setRnnDescriptor.fields)
    // Behind the opcodes of the segment and of the command.
    expect(list.words).toHaveLength(2 + names.length)
    return Object.fromEntries(names.map((name, k) => [name, list.words[2 + k]]))
  }

  it("has cuDNN's numbers for a network", () => {
    expect(fieldsOf({})).toEqual({
      ...{ descriptor: 77, algo: 0, cellMode: 2, biasMode: 2, dirMode: 0, inputMode: 0 },
      ...{ dataType: 0, mathPrec: 0, mathType: 3, inputSize: 3, hiddenSize: 6, projSize: 6, numLayers: 2 },
      ...{ dropout: -1, auxFlags: 0, clip: Number.NaN },
    })
  })

  // cudnn.h: cudnnRNNMode_t, cudnnRNNBiasMode_t, cudnnDirectionMode_t, cudnnRNNInputMode_t.
  it.each<[Partial<RnnOptions>, object]>([
    [{ cellMode: 'rnn_relu' }, { cellMode: 0 }],
    [{ cellMode: 'rnn_tanh' }, { cellMode: 1 }],
    [{ cellMode: 'gru' }, { cellMode: 3 }],
    [{ biasMode: 'none' }, { biasMode: 0 }],
    [{ biasMode: 'single_input' }, { biasMode: 1 }],
    [{ biasMode: 'single_recurrent' }, { biasMode: 3 }],
    [{ direction: 'bidirectional' }, { dirMode: 1, hiddenSize: 6, numLayers: 2 }],
    [
      { inputMode: 'skip_input', inputSize: 6 },
      { inputMode: 1, inputSize: 6 },
    ],
    [{ numProj: 4 }, { hiddenSize: 6, projSize: 4 }],
    [{ cellClip: 2.5 }, { clip: 2.5 }],
  ])('of %o has %o', (given, expected) => {
    expect(fieldsOf(given)).toMatchObject(expected)
  })

  // cudnnRNNAlgo_t, cudnnDataType_t, cudnnMathType_t.
  it('has the algorithm, the arithmetic, the generator and the padding of the pass', () => {
    expect(fieldsOf({}, { algorithm: 'persist_static' })).toMatchObject({ algo: 1 })
    expect(fieldsOf({}, { algorithm: 'persist_static_small_h' })).toMatchObject({ algo: 3 })
    expect(fieldsOf({}, { dropout: 5 as DropoutDescriptor, hasPaddedIo: true })).toMatchObject({
      ...{ dropout: 5, auxFlags: 1 },
    })
    const arithmetics = [
      ['tf32', { dataType: 0, mathPrec: 0, mathType: 0 }],
      ['float16', { dataType: 2, mathPrec: 0, mathType: 1 }],
      ['bfloat16', { dataType: 9, mathPrec: 0, mathType: 1 }],
    ] as const
    for (const [precision, expected] of arithmetics) {
      expect(fieldsOf({}, { arithmetic: arithmeticOf('float32', precision) })).toMatchObject(expected)
    }
    const float64 = { dataType: 1, mathPrec: 1, mathType: 0 }
    expect(fieldsOf({}, { arithmetic: arithmeticOf('float64', undefined) })).toMatchObject(float64)
  })
})

describe('legalAlgorithms', () => {
  const ALL = ['standard', 'persist_static', 'persist_static_small_h']

  // The limits of cuDNN 9.24's own checks.
  it.each([
    ['lstm', 192, ALL],
    ['lstm', 193, ALL.slice(0, 2)],
    ['gru', 1536, ALL.slice(0, 2)],
    ['gru', 1537, ALL.slice(0, 1)],
    ['rnn_tanh', 384, ALL],
    ['rnn_relu', 385, ALL.slice(0, 2)],
    ['rnn_relu', 2561, ALL.slice(0, 1)],
  ] as const)('of %s with %i units are %o', (cellMode, numUnits, expected) => {
    expect(legalAlgorithms(network({ cellMode, numUnits }), FLOAT32, false)).toEqual(expected)
  })

  it.each<[string, readonly string[]]>([
    ['rows of unequal length', legalAlgorithms(network(), FLOAT32, true)],
    ['one bias', legalAlgorithms(network({ biasMode: 'single_input' }), FLOAT32, false)],
    ['a projection', legalAlgorithms(network({ numProj: 2 }), FLOAT32, false)],
    ['float64', legalAlgorithms(network(), arithmeticOf('float64', undefined), false)],
  ])('are the standard one alone with %s', (_, algorithms) => {
    expect(algorithms).toEqual(['standard'])
  })

  it('are timed in the shapes in which others run them, the standard one always', () => {
    const timed = (options: Partial<RnnOptions>) => measuredAlgorithms(network(options), FLOAT32, false)
    expect(timed({ numUnits: 64, numLayers: 1 })).toEqual(ALL)
    for (const options of [
      { numUnits: 64, numLayers: 2 },
      { numUnits: 63, numLayers: 1 },
      { numUnits: 64, numLayers: 1, direction: 'bidirectional' },
    ] as const) {
      expect(timed(options)).toEqual(['standard', 'persist_static_small_h'])
    }
    expect(measuredAlgorithms(network({ numUnits: 64, numLayers: 1 }), FLOAT32, true)).toEqual(['standard'])
  })
})

describe('the sizes of a network', () => {
  it('of states count layers and directions, and the projection for h alone', () => {
    expect(stateElements(network(), 5)).toEqual({ h: 60, c: 60 })
    expect(stateElements(network({ direction: 'bidirectional', numProj: 4 }), 5)).toEqual({ h: 80, c: 120 })
    expect(stateElements(network(), 0)).toEqual({ h: 0, c: 0 })
  })

  it('allow a graph up to 8192 steps of all layers and directions', () => {
    const bidirectional = network({ direction: 'bidirectional' })
    expect(isGraphSized(bidirectional, { time: 2048 })).toBe(true)
    expect(isGraphSized(bidirectional, { time: 2049 })).toBe(false)
    expect(isGraphSized(network({ numLayers: 1 }), { time: 8192 })).toBe(true)
  })

  it.each(['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const)('of %s have dropout between layers only', (cellMode) => {
    expect(hasDropout(network({ cellMode, dropout: 0.5 }))).toBe(true)
    expect(hasDropout(network({ cellMode, dropout: 0.5, numLayers: 1 }))).toBe(false)
    expect(hasDropout(network({ cellMode }))).toBe(false)
  })
})

describe('multiply', () => {
  const [ROWS, INNER, COLUMNS] = [2, 3, 4]
  function product(sizes: readonly [number, number, number], beta: 0 | 1, transposed: readonly [boolean, boolean]) {
    const own = home()
    const [a, b, c] = [24, 48, 32].map((bytes) => new DeviceBuffer(own, bytes)) as [
      DeviceBuffer,
      DeviceBuffer,
      DeviceBuffer,
    ]
    const list = new CommandList(own, 'multiply')
    const [rows, inner, columns] = sizes
    const left = { buffer: a, stride: transposed[0] ? rows : inner, transposed: transposed[0] }
    const right = { buffer: b, stride: transposed[1] ? inner : columns, transposed: transposed[1] }
    multiply(list, FLOAT32, { buffer: c }, sizes, left, right, beta)
    const buffers = list.slots.map(({ buffer }) => (buffer === a ? 'a' : buffer === b ? 'b' : 'c'))
    return { words: list.words.slice(1), buffers }
  }
  const opcode = (name: keyof typeof COMMANDS) => Object.keys(COMMANDS).indexOf(name)

  // cᵀ [4,2] = bᵀ [4,3] · aᵀ [3,2] in the columns-first order of cuBLAS.
  it.each([
    ['neither', [false, false], [0, 0], [4, 3]],
    ['the left one', [true, false], [0, 1], [4, 2]],
    ['the right one', [false, true], [1, 0], [3, 3]],
    ['both', [true, true], [1, 1], [3, 2]],
  ] as const)('swaps the operands of row-major matrices: %s transposed', (_, transposed, [opB, opA], [ldb, lda]) => {
    const { words, buffers } = product([ROWS, INNER, COLUMNS], 1, transposed)
    expect(buffers).toEqual(['b', 'a', 'c'])
    // CUBLAS_COMPUTE_32F is 68, CUDA_R_32F is 0.
    const sizes = [opB, opA, COLUMNS, ROWS, INNER]
    expect(words).toEqual([opcode('matrixProduct'), ...sizes, 0, 0, ldb, 1, 0, lda, 1, 2, 0, COLUMNS, 0, 0, 68])
  })

  it('makes no call for a result without elements, and zeros for a sum of nothing', () => {
    expect(product([0, INNER, COLUMNS], 0, [false, false]).words).toEqual([])
    expect(product([ROWS, INNER, 0], 1, [false, false]).words).toEqual([])
    expect(product([ROWS, 0, COLUMNS], 1, [false, false]).words).toEqual([])
    expect(product([ROWS, 0, COLUMNS], 0, [false, false]).words).toEqual([opcode('clear'), 0, 0, 32])
  })
})

describe('GraphTrial', () => {
  it('takes three times of each way, and loses only by the least of them', () => {
    const trial = new GraphTrial()
    for (const time of [5, 9, 7]) {
      expect(trial.awaits('calls')).toBe(true)
      trial.note('calls', time)
    }
    expect(trial.awaits('calls')).toBe(false)
    expect(trial.awaits('graph')).toBe(true)
    for (const time of [50, 60]) trial.note('graph', time)
    // One more may be faster.
    expect(trial.isLost).toBe(false)
    trial.note('graph', 4.9)
    expect(trial.isLost).toBe(false)
    expect(trial.awaits('graph')).toBe(false)
  })

  it('is lost where the graph is slower, and not where both are equal or the calls were not timed', () => {
    const of = (calls: readonly number[], graph: readonly number[]) => {
      const trial = new GraphTrial()
      for (const time of calls) trial.note('calls', time)
      for (const time of graph) trial.note('graph', time)
      return trial.isLost
    }
    expect(of([5], [6, 7, 8])).toBe(true)
    expect(of([5, 6, 7], [5, 50, 60])).toBe(false)
    expect(of([], [6, 7, 8])).toBe(false)
  })
})

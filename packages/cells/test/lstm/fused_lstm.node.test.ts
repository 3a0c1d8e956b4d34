import { elementCount } from '@cudnn-rnn/canonical'
import { type CpuBackend, openCpuBackend } from '@cudnn-rnn/cpu'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  LayerNormBasicLSTMCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  type LSTMStateTuple,
  MultiRNNCell,
} from '../../src/index.js'
import { expectClose, float32, float64 } from '../cell_checks.js'
import { fill } from '../goldens.js'

type Cell = LayerNormBasicLSTMCell | LSTMCell
type DType = 'float32' | 'float64'

/** Cells whose whole sequence the executor's kernel computes. */
const CELLS: Readonly<Record<string, (units: number, dtype: DType) => Cell>> = {
  LayerNormBasicLSTMCell: (units, dtype) =>
    new LayerNormBasicLSTMCell(units, { dtype, normGain: 0.9, normShift: 0.1, forgetBias: 0.7 }),
  'LayerNormBasicLSTMCell with dropout': (units, dtype) =>
    new LayerNormBasicLSTMCell(units, { dtype, dropoutKeepProb: 0.6, dropoutProbSeed: 4 }),
  'LayerNormBasicLSTMCell without normalization': (units, dtype) =>
    new LayerNormBasicLSTMCell(units, { dtype, layerNorm: false, dropoutKeepProb: 0.8 }),
  LSTMCell: (units, dtype) => new LSTMCell(units, { dtype }),
  LSTMBlockCell: (units, dtype) => new LSTMBlockCell(units, { dtype, forgetBias: 0.5 }),
  CudnnCompatibleLSTMCell: (units, dtype) => new CudnnCompatibleLSTMCell(units, { dtype }),
}

/** T, B, I, H: whole vectors, tails of every kind, and so many rows that the backward copies the matrix. */
const SIZES = [
  [5, 1, 3, 64],
  [4, 3, 5, 37],
  [2, 2, 1, 1],
  [70, 4, 2, 18],
] as const

const TOLERANCES = {
  float32: { forward: 1e-6, gradients: 1e-5 },
  float64: { forward: 1e-13, gradients: 1e-11 },
} as const

function openCpu(dtype: DType): CpuBackend {
  const backend = openCpuBackend({ dtype, threads: 2 })
  onTestFinished(() => backend.dispose())
  return backend
}

/** A training step of `cell` over a ragged batch. */
function trained(cell: Cell, size: readonly [number, number, number, number], backend?: CpuBackend) {
  const [time, batch, inputSize, units] = size
  const { dtype } = cell
  const tensor = (formula: readonly [number, number, number], shape: readonly number[]) => {
    const values = fill(elementCount(shape), formula)
    return dtype === 'float32' ? float32(values, shape) : float64(values, shape)
  }
  cell.build(inputSize, { seed: 3 })
  const state = (): LSTMStateTuple => ({
    c: tensor([3, 8, 3], [batch, units]),
    h: tensor([2, 5, 2], [batch, units]),
  })
  const inputs = tensor([5, 9, 4], [time, batch, inputSize])
  const sequenceLength = Array.from({ length: batch }, (_, b) => (b === 1 ? 0 : time - b))
  // Padding of any value affects nothing.
  if (batch > 2)
    inputs.data.fill(Number.NaN, ((time - 1) * batch + 2) * inputSize, ((time - 1) * batch + 3) * inputSize)
  const result = dynamicRnn(cell, inputs, { timeMajor: true, initialState: state(), sequenceLength, backend })
  const outputs = tensor([7, 11, 5], [time, batch, units])
  return { result, gradients: result.tape.gradients({ outputs, state: state() }) }
}

describe.each(Object.entries(CELLS))('%s on the kernel of the cpu executor', (_, make) => {
  describe.each(['float32', 'float64'] as const)('%s', (dtype) => {
    test.each(SIZES)('has the numbers of TypeScript: T %i, B %i, I %i, H %i', (...size) => {
      const units = size[3]
      const own = trained(make(units, dtype), size, openCpu(dtype))
      const expected = trained(make(units, dtype), size)
      const { forward, gradients } = TOLERANCES[dtype]
      expectClose(own.result.outputs.data, expected.result.outputs.data, forward, 'outputs')
      expectClose(own.result.state.c.data, expected.result.state.c.data, forward, 'c')
      expectClose(own.result.state.h.data, expected.result.state.h.data, forward, 'h')
      expectClose(own.gradients.inputs.data, expected.gradients.inputs.data, gradients, 'dx')
      expectClose(own.gradients.state.c.data, expected.gradients.state.c.data, gradients, 'dc')
      expectClose(own.gradients.state.h.data, expected.gradients.state.h.data, gradients, 'dh')
      for (const [name, { data }] of expected.gradients.variables) {
        expectClose(own.gradients.variables.get(name)!.data, data, gradients, name)
      }
    })
  })
})

test('a kernel of equal columns normalizes to beta, and not to rounding times 1/√ε', () => {
  const cell = new LayerNormBasicLSTMCell(37)
  cell.build(2)
  cell.setVariables({ kernel: float32(new Float32Array(39 * 148).fill(0.3), [39, 148]) })
  const inputs = float32(fill(3 * 1 * 2, [5, 9, 4]), [3, 1, 2])
  const { outputs } = dynamicRnn(cell, inputs, { timeMajor: true, backend: openCpu('float32') })
  expect([...outputs.data].every((value) => value === 0)).toBe(true)
})

test('LSTMBlockFusedCell and stacks use the kernel', () => {
  const backend = openCpu('float32')
  const inputs = float32(fill(6 * 2 * 3, [5, 9, 4]), [6, 2, 3])
  const layer = new LSTMBlockFusedCell(20)
  const forward = vi.spyOn(backend.lstm!, 'forward')
  const fused = layer.call(inputs, { backend })
  expect(forward).toHaveBeenCalledTimes(1)
  expectClose(fused.outputs.data, layer.call(inputs).outputs.data, 1e-6, 'LSTMBlockFusedCell')
  const stack = new MultiRNNCell([new LayerNormBasicLSTMCell(16), new LSTMCell(8)])
  const options = { timeMajor: true } as const
  const stacked = dynamicRnn(stack, inputs, { ...options, backend })
  expectClose(stacked.outputs.data, dynamicRnn(stack, inputs, options).outputs.data, 1e-5, 'MultiRNNCell')
})

test('a disposed executor refuses the backward of a tape', () => {
  const backend = openCpuBackend({ dtype: 'float32', threads: 1 })
  const cell = new LayerNormBasicLSTMCell(8)
  const { tape } = dynamicRnn(cell, float32(fill(6, [5, 9, 4]), [3, 1, 2]), { timeMajor: true, backend })
  backend.dispose()
  expect(() => tape.gradients({})).toThrowError(coded('ERR_BACKEND_DISPOSED'))
})

test('the kernel refuses norms with other gates than sigmoids', () => {
  using backend = openCpuBackend({ threads: 1 })
  const norm = new Float32Array(5)
  const operands = {
    ...{ time: 1, batch: 1, units: 1, lengths: null, kernel: new Float32Array(4), kernelBegin: 0 },
    ...({ gateActivation: 'hardSigmoid', forgetBias: 0, dropout: null } as const),
    ...{ gates: new Float32Array(4), hidden: new Float32Array(2), cells: new Float32Array(2) },
  }
  const norms = { gamma: norm, beta: norm, epsilon: 0 }
  expect(() => backend.lstm?.forward({ ...operands, norms })).toThrow(coded('ERR_INVALID_OPTION'))
  backend.lstm?.forward({ ...operands, norms: null })
  expect(operands.gates).toEqual(Float32Array.of(0.5, 0, 0.5, 0.5))
})

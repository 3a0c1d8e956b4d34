import { createRnnDescriptor, type FloatArray } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, Lifetime, type StreamKernel } from '../../../src/executor/index.js'
import { checkStream, HostStepper } from '../../../src/executor/host/host_stepper.js'
import { zeros } from '../stub_tensor.js'

/** Records its calls; its state is all ones. */
class NotingKernel implements StreamKernel {
  readonly steps: number[] = []
  readonly stepped: number[][] = []
  readonly reset: number[] = []
  restored: FloatArray[] = []
  moved: (number[] | null)[] = []

  step(_input: FloatArray, output: FloatArray, steps: number): void {
    this.steps.push(steps)
    output.fill(steps)
  }

  stepRows(rows: Int32Array, count: number, _input: FloatArray, output: FloatArray): void {
    this.stepped.push([...rows.slice(0, count)])
    output.fill(count)
  }

  resetRow(row: number): void {
    this.reset.push(row)
  }

  moveState(h: FloatArray, c: FloatArray | null, restoring: boolean, rows: Int32Array | null, count: number): void {
    this.moved.push(rows && [...rows.slice(0, count)])
    const parts = c === null ? [h] : [h, c]
    if (restoring) this.restored = parts
    else for (const part of parts) part.fill(1)
  }
}

type Opened = ReturnType<typeof open>

/** Three streams of two layers. */
function open(cellMode: 'lstm' | 'gru' = 'lstm') {
  const memory = new HostMemory('float32')
  const kernel = new NotingKernel()
  const numProj = cellMode === 'lstm' ? { numProj: 3 } : {}
  const descriptor = createRnnDescriptor({ cellMode, numLayers: 2, numUnits: 4, inputSize: 2, ...numProj })
  const life = new Lifetime('rnn', memory.life)
  const params = memory.zeros([8])
  const stepper = new HostStepper({ memory, life, descriptor, params }, 3, kernel)
  return { memory, kernel, life, params, stepper }
}

describe('checkStream', () => {
  it('refuses bidirectional networks and impossible batches', () => {
    const network = { cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 2 } as const
    const both = createRnnDescriptor({ ...network, direction: 'bidirectional' })
    expect(() => checkStream(both, 1)).toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
    for (const batch of [0, 1.5, Number.NaN]) {
      expect(() => checkStream(createRnnDescriptor(network), batch)).toThrow(coded('ERR_INVALID_OPTION'))
    }
  })
})

describe('HostStepper', () => {
  it('steps once by an input of rank 2, T times by one of rank 3, into out if it is given', () => {
    const { kernel, stepper } = open()
    expect(stepper.stepSync(zeros(3, 2))).toEqual({ data: new Float32Array(9).fill(1), shape: [3, 3] })
    const out = zeros(5, 3, 3)
    expect(stepper.stepSync(zeros(5, 3, 2), out)).toBe(out)
    expect(out.data.every((value) => value === 5)).toBe(true)
    expect(kernel.steps).toEqual([1, 5])
  })

  it('rejects mismatched arguments before its kernel is called', () => {
    const { kernel, stepper } = open()
    expect(() => stepper.stepSync(zeros(2, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepSync({ data: new Float64Array(6), shape: [3, 2] })).toThrow(coded('ERR_DTYPE'))
    expect(() => stepper.stepSync(zeros(3, 2), zeros(3, 4))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepSync(zeros(1, 3, 2), zeros(3, 3))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.reset([0, 3])).toThrow(coded('ERR_STREAM_ROW'))
    const { h } = stepper.state()
    expect(() => stepper.restore({ h, c: undefined })).toThrow(coded('ERR_NOT_A_TENSOR'))
    expect(() => stepper.restore({ h, c: zeros(2, 3, 3) })).toThrow(coded('ERR_SHAPE'))
    expect(kernel).toMatchObject({ steps: [], reset: [], restored: [] })
  })

  it('steps the rows named alone, into out if it is given', () => {
    const { kernel, stepper } = open()
    expect(stepper.stepRowsSync([2, 0], zeros(2, 2))).toEqual({ data: new Float32Array(6).fill(2), shape: [2, 3] })
    const out = zeros(1, 3)
    expect(stepper.stepRowsSync(Int32Array.of(1), zeros(1, 2), out)).toBe(out)
    expect(out.data).toEqual(new Float32Array(3).fill(1))
    expect(stepper.stepRowsSync([], zeros(0, 2)).shape).toEqual([0, 3])
    expect(kernel.stepped).toEqual([[2, 0], [1]])
  })

  it('refuses rows that are not distinct rows of the batch, and tensors that do not fit them', () => {
    const { kernel, stepper } = open()
    for (const rows of [[0, 0], [3], [-1], [0.5], ['0'], [0, 1, 2, 0], 1, null, 'ab', new Float32Array(1)]) {
      expect(() => stepper.stepRowsSync(rows as never, zeros(1, 2))).toThrow(coded('ERR_STREAM_ROW'))
      if (rows !== null) expect(() => stepper.state(rows as never)).toThrow(coded('ERR_STREAM_ROW'))
    }
    expect(() => stepper.stepRowsSync([0, 1], zeros(1, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepRowsSync([0], zeros(1, 1, 2))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepRowsSync([0], zeros(1, 2), zeros(1, 4))).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepRowsSync([0], null as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    const { h, c } = stepper.state([1])
    expect(() => stepper.restore({ h, c }, [0, 1])).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.restore({ h, c }, [3])).toThrow(coded('ERR_STREAM_ROW'))
    expect(kernel).toMatchObject({ stepped: [], restored: [] })
    // A refusal leaves no mark on the rows it named.
    expect(stepper.stepRowsSync([0, 1, 2], zeros(3, 2)).shape).toEqual([3, 3])
  })

  it('copies the states of the rows named [L,R,·]', () => {
    const { kernel, stepper } = open()
    const state = stepper.state([2, 1])
    expect(state.h.shape).toEqual([2, 2, 3])
    expect(state.c?.shape).toEqual([2, 2, 4])
    stepper.restore(state, [0, 2])
    stepper.restore(stepper.state())
    expect(kernel.moved).toEqual([[2, 1], [0, 2], null, null])
  })

  it('resets the rows named, or all', () => {
    const { kernel, stepper } = open()
    stepper.reset([2, 0])
    stepper.reset()
    expect(kernel.reset).toEqual([2, 0, 0, 1, 2])
  })

  it('copies h [L,B,P or H] and, for LSTM alone, c [L,B,H]', () => {
    const lstm = open()
    const state = lstm.stepper.state()
    expect(state.h).toEqual({ data: new Float32Array(18).fill(1), shape: [2, 3, 3] })
    expect(state.c).toEqual({ data: new Float32Array(24).fill(1), shape: [2, 3, 4] })
    lstm.stepper.restore(state)
    expect(lstm.kernel.restored).toEqual([state.h.data, state.c?.data])
    const gru = open('gru').stepper.state()
    expect(gru).toEqual({ h: { data: new Float32Array(24).fill(1), shape: [2, 3, 4] }, c: undefined })
  })

  it('is counted until it is disposed, and refuses everything afterwards', () => {
    const { memory, stepper } = open()
    expect(memory.ledger.snapshot().steppers).toBe(1)
    stepper.dispose()
    stepper.dispose()
    expect(memory.ledger.snapshot().steppers).toBe(0)
    expect(() => stepper.stepSync(zeros(3, 2))).toThrow(coded('ERR_STREAM_DISPOSED'))
    memory.dispose()
    expect(() => stepper.state()).toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('does not step once its network, its parameters or its executor have ended', () => {
    for (const [end, code] of [
      [({ life }: Opened) => life.end(), 'ERR_RNN_DISPOSED'],
      [({ params }: Opened) => params.dispose(), 'ERR_TENSOR_DISPOSED'],
      [({ memory }: Opened) => memory.dispose(), 'ERR_BACKEND_DISPOSED'],
    ] as const) {
      const opened = open()
      end(opened)
      expect(() => opened.stepper.stepSync(zeros(3, 2))).toThrow(coded(code))
      expect(opened.kernel.steps).toEqual([])
    }
  })
})

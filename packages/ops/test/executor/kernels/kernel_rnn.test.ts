import { createRnnDescriptor, elementCount, flatLayout, layoutKey, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { KERNEL_OPERATIONS } from '../../../src/executor/index.js'
import { zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

const [T, B, I, H] = [3, 2, 5, 4] as const

function open(options: Partial<RnnOptions> = {}, executor: Parameters<typeof openNotingExecutor>[0] = {}) {
  const opened = openNotingExecutor(executor)
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: H, inputSize: I, ...options })
  const rnn = opened.backend.rnn(descriptor)
  const params = opened.memory.zeros([rnn.paramsSize], layoutKey(descriptor))
  const inputs = { input: zeros(T, B, I), inputH: null, inputC: null, params, sequenceLengths: null, training: true }
  return { ...opened, descriptor, rnn, params, inputs }
}

describe('KernelRnn.forward', () => {
  it('queues one operation, whose results are read when it is done', async () => {
    const { rnn, params, inputs, jobs, waited } = open({ direction: 'bidirectional' })
    const states = { inputH: zeros(4, B, H), inputC: zeros(4, B, H) }
    const result = await rnn.forward({ ...inputs, ...states, sequenceLengths: [3, 1] })
    const { name, job } = jobs[0]
    expect([name, jobs.length]).toEqual(['forward', 1])
    expect(job).toMatchObject({ time: T, batch: B, lengths: Int32Array.of(3, 1), dropoutPosition: 0, quantized: null })
    expect(job.params).toBe(params.live)
    expect([result.output.shape, result.outputH.shape, result.outputC?.shape]).toEqual([
      [T, B, 2 * H],
      [4, B, H],
      [4, B, H],
    ])
    job.hFinal.fill(5)
    expect((await result.outputH.read()).data[0]).toBe(5)
    expect(waited).toEqual([1])
  })

  it('reads its arguments before it returns', async () => {
    const { rnn, inputs, jobs } = open()
    const [input, inputH] = [zeros(T, B, I), zeros(2, B, H)]
    const pending = rnn.forward({ ...inputs, input, inputH })
    input.data.fill(9)
    inputH.data.fill(9)
    await pending
    expect(jobs[0].job).toMatchObject({ input: new Float32Array(T * B * I), h: new Float32Array(2 * B * H), c: null })
  })

  it('has no cell state for GRU, and no tape for inference', async () => {
    const { rnn, inputs, jobs, backend } = open({ cellMode: 'gru' })
    const result = await rnn.forward({ ...inputs, training: false })
    expect([result.outputC, result.tape, jobs[0].job.cFinal, jobs[0].job.tape]).toEqual([
      undefined,
      undefined,
      null,
      null,
    ])
    expect(backend.stats().tapes).toBe(0)
  })

  it('draws the masks of dropout from where the last training pass ended', async () => {
    const { rnn, inputs, jobs } = open({ dropout: 0.5, numLayers: 3, direction: 'bidirectional' })
    await rnn.forward(inputs)
    await rnn.forward({ ...inputs, training: false })
    await rnn.forward({ ...inputs, input: zeros(1, B, I) })
    await rnn.forward(inputs)
    // Two masks of T·B·2H, then two of B·2H; inference draws none.
    const whole = 2 * T * B * 2 * H
    expect(jobs.map(({ job }) => job.dropoutPosition)).toEqual([0, whole, whole, whole + 2 * B * 2 * H])
  })

  it('draws nothing without dropout', async () => {
    const { rnn, inputs, jobs } = open({ dropout: 0, numLayers: 3 })
    await rnn.forward(inputs)
    await rnn.forward(inputs)
    expect(jobs[1].job.dropoutPosition).toBe(0)
  })

  it('changes nothing when the kernels refuse', async () => {
    const { rnn, inputs, jobs, state, backend } = open({ dropout: 0.5 })
    const before = backend.stats()
    state.failure = new Error('the queue is closed')
    await expect(rnn.forward(inputs)).rejects.toBe(state.failure)
    expect(backend.stats()).toEqual(before)
    state.failure = undefined
    await rnn.forward(inputs)
    expect(jobs[0].job.dropoutPosition).toBe(0)
  })

  it('releases the memory of a tape whose forward was refused', async () => {
    const { rnn, inputs, state, released } = open()
    state.failure = new Error('the queue is closed')
    await expect(rnn.forward(inputs)).rejects.toBe(state.failure)
    expect(released).toHaveLength(1)
  })

  it('gives the version of parameters that it counts, and none of a host tensor', async () => {
    const { rnn, inputs, params, jobs, backend } = open()
    await rnn.forward(inputs)
    backend.ops.assign(params, zeros(rnn.paramsSize))
    await rnn.forward(inputs)
    await rnn.forward({ ...inputs, params: zeros(rnn.paramsSize) })
    const versions = jobs.filter(({ name }) => name === 'forward').map(({ job }) => job.paramsVersion)
    expect(versions).toEqual([0, 1, undefined])
  })
})

describe('KernelRnn.backward', () => {
  it('reads the arrays of the forward, and consumes the tape', async () => {
    const { rnn, inputs, jobs, released, backend } = open()
    const { output, tape } = await rnn.forward(inputs)
    expect(backend.stats().tapes).toBe(1)
    const gradients = await rnn.backward(tape!, { output: zeros(T, B, H) })
    const [forward, { name, job }] = [jobs[0].job, jobs[1]]
    expect(name).toBe('backward')
    expect([job.tape, job.input, job.params]).toEqual([forward.tape, forward.input, forward.params])
    expect([job.dhFinal, job.dcFinal, job.dOutput.length]).toEqual([null, null, elementCount(output.shape)])
    expect([gradients.input.shape, gradients.inputH.shape, gradients.inputC?.shape]).toEqual([
      [T, B, I],
      [2, B, H],
      [2, B, H],
    ])
    expect([gradients.params.shape, gradients.params.layout]).toEqual([[rnn.paramsSize], layoutKey(rnn.descriptor)])
    expect([tape?.state, released.length, backend.stats().tapes]).toEqual(['consumed', 1, 0])
    await expect(rnn.backward(tape!, {})).rejects.toThrow(coded('ERR_TAPE_CONSUMED'))
  })

  it('keeps the tape open when its arguments or the kernels are refused', async () => {
    const { rnn, inputs, state, released, backend } = open({ cellMode: 'gru' })
    const { tape } = await rnn.forward(inputs)
    const before = backend.stats()
    await expect(rnn.backward(tape!, { output: zeros(T, B, H + 1) })).rejects.toThrow(coded('ERR_SHAPE'))
    await expect(rnn.backward(tape!, { outputC: zeros(2, B, H) })).rejects.toThrow(coded('ERR_NO_CELL_STATE'))
    state.failure = new Error('the queue is closed')
    await expect(rnn.backward(tape!, {})).rejects.toBe(state.failure)
    expect([tape?.state, released.length, backend.stats()]).toEqual(['open', 0, before])
    state.failure = undefined
    expect((await rnn.backward(tape!, {})).inputC).toBeUndefined()
  })

  it('refuses the tape of another network, none, and one whose operands were overwritten', async () => {
    const { rnn, inputs, backend, params, jobs } = open()
    const { tape } = await rnn.forward(inputs)
    const other = backend.rnn(rnn.descriptor)
    await expect(other.backward(tape!, {})).rejects.toThrow(coded('ERR_TAPE_FOREIGN'))
    await expect(rnn.backward(undefined as never, {})).rejects.toThrow(coded('ERR_NO_TAPE'))
    await expect(rnn.backward({ state: 'open' } as never, {})).rejects.toThrow(coded('ERR_TAPE_FOREIGN'))
    backend.ops.assign(params, zeros(rnn.paramsSize))
    await expect(rnn.backward(tape!, {})).rejects.toThrow(coded('ERR_TAPE_STALE', { argument: 'params' }))
    expect(jobs.map(({ name }) => name)).toEqual(['forward', 'run'])
    tape?.dispose()
    await expect(rnn.backward(tape!, {})).rejects.toThrow(coded('ERR_TAPE_DISPOSED'))
  })
})

describe('KernelRnn', () => {
  it('copies opaque parameters in the order of the queue before it unpacks them', async () => {
    const { rnn, params, jobs, moves, waited } = open()
    const pending = rnn.paramsToCanonical(params)
    const [{ name, job }] = jobs
    expect([name, KERNEL_OPERATIONS[job.op], job.operands[1]]).toEqual(['run', 'assign', params.live])
    expect(moves).toEqual([])
    await pending
    expect(waited).toEqual([1])
    expect(moves).toMatchObject([{ into: false }])
    expect(moves[0].params).toBe(job.operands[0])
  })

  it('makes parameters of its layout', () => {
    const { rnn, descriptor, moves } = open()
    const { weights, biases } = flatLayout(descriptor)
    const tensors = (regions: readonly { readonly shape: readonly number[] }[]) =>
      regions.map(({ shape }) => zeros(...shape))
    const params = rnn.canonicalToParams({ weights: tensors(weights), biases: tensors(biases) })
    expect([params.shape, params.layout]).toEqual([[rnn.paramsSize], layoutKey(descriptor)])
    expect(moves).toMatchObject([{ into: true }])
  })

  it('restores the position of its dropout', async () => {
    const { rnn, inputs, jobs } = open({ dropout: 0.5 })
    const begin = await rnn.dropoutState()
    await rnn.forward(inputs)
    const after = await rnn.dropoutState()
    rnn.restoreDropoutState(begin)
    await rnn.forward(inputs)
    expect(await rnn.dropoutState()).toEqual(after)
    expect(() => rnn.restoreDropoutState(new Uint8Array(3))).toThrow(coded('ERR_DROPOUT_STATE'))
    expect(await rnn.dropoutState()).toEqual(after)
    expect(jobs.map(({ job }) => job.dropoutPosition)).toEqual([0, 0])
  })

  it('is counted until it is disposed, and refuses everything afterwards', async () => {
    const { rnn, params, inputs, backend } = open()
    const { tape } = await rnn.forward(inputs)
    expect(String(rnn)).toContain('state: "live"')
    expect(backend.stats().rnns).toBe(1)
    {
      using disposed = rnn
      disposed.dispose()
    }
    expect(backend.stats().rnns).toBe(0)
    expect(String(rnn)).toContain('state: "disposed"')
    const refusal = coded('ERR_RNN_DISPOSED')
    await expect(rnn.forward(inputs)).rejects.toThrow(refusal)
    await expect(rnn.backward(tape!, {})).rejects.toThrow(refusal)
    await expect(rnn.paramsToCanonical(params)).rejects.toThrow(refusal)
    await expect(rnn.dropoutState()).rejects.toThrow(refusal)
    expect(() => rnn.restoreDropoutState(new Uint8Array(8))).toThrow(refusal)
    expect(() => rnn.canonicalToParams({ weights: [], biases: [] })).toThrow(refusal)
    expect(() => rnn.stepper(params, 1)).toThrow(refusal)
  })

  it('opens no stream where the network or the batch allows none', () => {
    const both = open({ direction: 'bidirectional' })
    expect(() => both.rnn.stepper(both.params, 1)).toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
    const { rnn, params, backend } = open()
    expect(() => rnn.stepper(params, 0)).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => rnn.stepper(zeros(rnn.paramsSize + 1), 1)).toThrow(coded('ERR_SHAPE'))
    expect(backend.stats().steppers).toBe(0)
  })
})

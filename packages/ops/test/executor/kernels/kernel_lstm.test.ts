import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import type { HostLstmOperands } from '../../../src/executor/kernels/kernel_lstm.js'
import { openNotingExecutor } from './noting_executor.js'

const [T, B, H] = [3, 2, 4] as const

const operands = (): HostLstmOperands => ({
  ...{ time: T, batch: B, units: H, lengths: null, kernelBegin: 8, gateActivation: 'sigmoid', forgetBias: 1 },
  kernel: new Float32Array(8 + H * 4 * H),
  ...{ dropout: null, norms: null },
  gates: new Float32Array(T * B * 4 * H),
  hidden: new Float32Array((T + 1) * B * H),
  cells: new Float32Array((T + 1) * B * H),
})
const norms = () => ({ gamma: new Float32Array(5 * H), beta: new Float32Array(5 * H), epsilon: 1e-5 })
const gradients = () => ({
  outputs: new Float32Array(T * B * H),
  h: new Float32Array(B * H),
  c: new Float32Array(B * H),
  gamma: null,
  beta: null,
})

describe('kernelLstm', () => {
  it('gives the kernels the arrays of its caller, in both passes', () => {
    const { backend, jobs } = openNotingExecutor()
    const given = operands()
    const pass = backend.lstm!.forward(given)
    const arriving = gradients()
    pass.backward(arriving)
    expect(jobs.map(({ name }) => name)).toEqual(['lstmForward', 'lstmBackward'])
    for (const { job } of jobs) {
      for (const name of ['kernel', 'gates', 'hidden', 'cells'] as const) expect(job[name]).toBe(given[name])
      expect(job).toMatchObject({ time: T, batch: B, units: H, kernelBegin: 8, forgetBias: 1, hardSigmoid: false })
      expect(job).toMatchObject({ gamma: null, beta: null, normalizedCells: null, inverses: null, epsilon: 0 })
    }
    const { dOutputs, dh, dc, dGamma, dBeta } = jobs[1].job
    expect([dOutputs, dh, dc]).toEqual([arriving.outputs, arriving.h, arriving.c])
    expect([dGamma, dBeta]).toEqual([null, null])
  })

  it('keeps the normalized cells and five inverse deviations of each row for the backward', () => {
    const { backend, jobs } = openNotingExecutor()
    const given = { ...operands(), norms: norms() }
    const pass = backend.lstm!.forward(given)
    const [dGamma, dBeta] = [new Float32Array(5 * H), new Float32Array(5 * H)]
    pass.backward({ ...gradients(), gamma: dGamma, beta: dBeta })
    const [forward, backward] = jobs.map(({ job }) => job)
    expect(forward.normalizedCells).toHaveLength(T * B * H)
    expect(forward.inverses).toHaveLength(T * B * 5)
    expect(backward.normalizedCells).toBe(forward.normalizedCells)
    expect(backward.inverses).toBe(forward.inverses)
    expect([forward.gamma, forward.beta, forward.epsilon]).toEqual([given.norms.gamma, given.norms.beta, 1e-5])
    expect([backward.dGamma, backward.dBeta]).toEqual([dGamma, dBeta])
  })

  it('has hard gates on request, but not beside norms', () => {
    const { backend, jobs } = openNotingExecutor()
    const hard = { ...operands(), gateActivation: 'hardSigmoid' as const }
    backend.lstm!.forward(hard)
    expect(jobs[0].job.hardSigmoid).toBe(true)
    expect(() => backend.lstm!.forward({ ...hard, norms: norms() })).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'gateActivation', value: 'hardSigmoid' }),
    )
    expect(jobs).toHaveLength(1)
  })

  it('refuses both passes once the executor was disposed', () => {
    const { backend, jobs } = openNotingExecutor()
    const pass = backend.lstm!.forward(operands())
    backend.dispose()
    expect(() => backend.lstm!.forward(operands())).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(() => pass.backward(gradients())).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(jobs).toHaveLength(1)
  })
})

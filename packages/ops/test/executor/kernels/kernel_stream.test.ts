import { createRnnDescriptor, layoutKey } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

const [B, I, H] = [3, 2, 4] as const

function open(options: Parameters<typeof openNotingExecutor>[0] = {}, inputSize: number = I) {
  const opened = openNotingExecutor(options)
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: H, inputSize })
  const rnn = opened.backend.rnn(descriptor)
  const variable = opened.memory.zeros([rnn.paramsSize], layoutKey(descriptor))
  return { ...opened, rnn, variable }
}

const ones = (...shape: number[]) => {
  const tensor = zeros(...shape)
  tensor.data.fill(1)
  return tensor
}

describe('KernelStream', () => {
  it('binds a single step once, and computes it between two arrays of the stream', () => {
    const { rnn, variable, calls } = open()
    const stepper = rnn.stepper(variable, B)
    expect(stepper.stepSync(ones(B, I))).toEqual(ones(B, H))
    const [input, out] = [zeros(B, I), zeros(B, H)]
    input.data.fill(2)
    expect(stepper.stepSync(input, out)).toBe(out)
    expect([...out.data]).toEqual(new Array(B * H).fill(2))
    expect(calls).toEqual([['follow', 0], ['bind', B * I, B * H], ['bound'], ['follow', 0], ['bound']])
  })

  it.each([
    ['of several time steps', {}, I, [2, B, I]],
    ['of a kernel that binds none', { binds: false }, I, [B, I]],
    ['of more than 2048 elements', {}, 680, [B, 680]],
    ['whose weights are quantized', { weightFormat: 'int8' } as const, I, [B, I]],
  ] as const)('steps unbound %s', (_, options, inputSize, shape) => {
    const { rnn, variable, calls } = open(options, inputSize)
    const stepper = rnn.stepper(variable, B)
    const steps = shape.length === 3 ? shape[0] : 1
    for (let call = 0; call < 2; call++) stepper.stepSync(zeros(...shape))
    const stepped = calls.filter(([name]) => !['follow', 'wait'].includes(name))
    expect(stepped.map(([name, count]) => [name, count])).toEqual([
      ['step', steps],
      ['step', steps],
    ])
  })

  it('binds a step of up to 2048 elements', () => {
    const inputSize = Math.floor(2048 / B) - H
    const { rnn, variable, calls } = open({}, inputSize)
    rnn.stepper(variable, B).stepSync(zeros(B, inputSize))
    expect(calls.at(-1)).toEqual(['bound'])
  })

  it('waits for the operation that writes its parameters, and follows their version', () => {
    const { rnn, variable, calls, backend } = open()
    const stepper = rnn.stepper(variable, B)
    backend.ops.accumulate(variable, zeros(rnn.paramsSize))
    stepper.stepSync(zeros(2, B, I))
    stepper.stepRowsSync([2, 0], zeros(2, I))
    expect(calls).toEqual([
      ['wait', 1],
      ['follow', 1],
      ['step', 2],
      ['wait', 1],
      ['follow', 1],
      ['stepRows', [2, 0]],
    ])
  })

  it('follows no version of a host array, which its owner may write at any time', () => {
    const { rnn, calls } = open()
    const params = zeros(rnn.paramsSize)
    rnn.stepper(params, B).stepSync(zeros(2, B, I))
    expect(calls).toEqual([
      ['follow', undefined],
      ['step', 2],
    ])
  })

  it('does not step by parameters that were transferred', () => {
    const { rnn, calls } = open()
    const params = zeros(rnn.paramsSize)
    const stepper = rnn.stepper(params, B)
    stepper.stepSync(zeros(B, I))
    structuredClone(params.data, { transfer: [params.data.buffer as ArrayBuffer] })
    const before = calls.length
    expect(() => stepper.stepSync(zeros(B, I))).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
    expect(calls.length).toBe(before)
  })

  it('reads quantized weights, made once for a version of the parameters', () => {
    const { rnn, variable, calls, jobs, backend } = open({ weightFormat: 'bfloat16' })
    const stepper = rnn.stepper(variable, B)
    stepper.stepSync(zeros(B, I))
    stepper.stepRowsSync([1], zeros(1, I))
    expect(jobs.map(({ name }) => name)).toEqual(['quantize'])
    backend.ops.assign(variable, zeros(rnn.paramsSize))
    stepper.stepSync(zeros(B, I))
    expect(jobs.map(({ name }) => name)).toEqual(['quantize', 'run', 'quantize'])
    const read = calls.filter(([name]) => name.startsWith('step')).map((call) => call[2])
    expect(read).toEqual([{ number: 1 }, { number: 1 }, { number: 2 }])
    // Each step waits for the operation that fills the weights it reads.
    expect(calls.filter(([name]) => name === 'wait').map(([, job]) => job)).toEqual([1, 1, 3])
  })

  it('resets and moves states by the stepper, all rows if none are named', () => {
    const { rnn, variable, calls } = open()
    const stepper = rnn.stepper(variable, B)
    stepper.reset([1])
    const state = stepper.state()
    stepper.restore({ h: zeros(1, 1, H), c: zeros(1, 1, H) }, [2])
    expect(state.h.shape).toEqual([1, B, H])
    expect(calls).toEqual([
      ['reset', 1],
      ['move', false, null, B, B],
      ['move', true, expect.arrayContaining([2]), 1, B],
    ])
  })
})

import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { zeros } from '../stub_tensor.js'
import { openNotingExecutor } from './noting_executor.js'

describe('openKernelBackend', () => {
  it('presents the executor by the labels given', () => {
    const { backend } = openNotingExecutor()
    expect(backend).toMatchObject({ name: 'noting', reason: 'a test', implementation: 'none', dtype: 'float32' })
    expect(String(backend)).toBe('Backend { name: "noting", dtype: "float32", tensors: 0, bytes: 0, state: "live" }')
  })

  it('refuses an invalid descriptor, and any after dispose()', () => {
    const { backend } = openNotingExecutor()
    expect(() => backend.rnn({ cellMode: 'lstm' } as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    backend.dispose()
    expect(() => backend.rnn({ cellMode: 'lstm' } as never)).toThrow(coded('ERR_BACKEND_DISPOSED'))
  })

  it('gives arrays to write when all operations before are done, also those that only read them', async () => {
    const { backend, memory, jobs, waited } = openNotingExecutor()
    const [first, second] = [memory.zeros([2]), memory.zeros([3])]
    backend.ops.accumulate(first, zeros(2))
    backend.ops.globalNorm([second])
    const arrays = await backend.arraysToWrite('reduce gradients', [first, second])
    expect(arrays).toEqual([first.live, second.live])
    expect(jobs.at(-1)).toMatchObject({ name: 'run', job: { operands: [new Float32Array(0), new Float32Array(0)] } })
    expect(waited).toContain(jobs.length)
    expect([first.version, second.version]).toEqual([2, 1])
  })
})

import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { inspectBackends, openBackend } from '../src/index.js'

// Tests must not depend on the machine: here no native addon can be found. With an addon, packages/cpu runs
// the whole conformance suite.
beforeEach(() => {
  vi.stubEnv('CUDNN_RNN_CPU_ADDON', '/no/such/addon.node')
  return () => vi.unstubAllEnvs()
})

describe('openBackend', () => {
  it('takes the best executor there is and reports why not a better one', async () => {
    using backend = await openBackend()
    expect(backend.name).toBe('wasm')
    expect(backend.reason).toMatch(/^wasm: [^(]*.*; no cpu: (.*addon\.node|see doctor)|no cudnn, cpu: see doctor/)
    expect(backend.reason.length).toBeLessThanOrEqual(160)
  })

  it('prefers the native CPU executor to WebAssembly where its addon is built', async () => {
    vi.unstubAllEnvs()
    const cpu = (await inspectBackends()).find(({ name }) => name === 'cpu')!
    using backend = await openBackend()
    expect(backend.name).toBe(cpu.available ? 'cpu' : 'wasm')
    expect(backend.reason).toContain(cpu.available ? 'thread' : 'cpu: ')
    expect(backend.reason.length).toBeLessThanOrEqual(160)
  })

  it('opens an executor by name, with its options', async () => {
    using backend = await openBackend('reference', { dtype: 'float64' })
    expect(backend).toMatchObject({ name: 'reference', dtype: 'float64' })
    expect(backend.reason).not.toContain('cudnn')
  })

  it.each(['cudnn', 'cpu'] as const)('lists the attempts and a remedy if %s cannot work', async (name) => {
    const error = await openBackend(name).catch((error: unknown) => error)
    expect(error instanceof BackendUnavailableError).toBe(true)
    expect(error).toMatchObject({
      code: 'ERR_BACKEND_UNAVAILABLE',
      backend: name,
      attempts: expect.arrayContaining([{ name, reason: expect.stringMatching(/.{10}/) }]),
      message: expect.stringMatching(/\. Or use "wasm", which works here and is the choice of "auto";/),
    })
  })

  it('refuses unknown names, options and dtypes', async () => {
    await expect(openBackend('gpu' as never)).rejects.toThrow(
      coded('ERR_UNKNOWN_BACKEND', {
        backend: 'gpu',
        message: expect.stringMatching(/"cudnn" computes on NVIDIA GPUs/),
      }),
    )
    await expect(openBackend('auto', { dtypes: 'float32' } as never)).rejects.toThrow(
      coded('ERR_UNKNOWN_OPTION', { suggestion: 'dtype' }),
    )
    await expect(openBackend('auto', { dtype: 'int8' } as never)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })
})

it('inspectBackends reports every executor, best first, with advice where one is missing', async () => {
  const reports = await inspectBackends()
  expect(reports.map(({ name, available }) => [name, available])).toEqual([
    ['cudnn', false],
    ['cpu', false],
    ['wasm', true],
    ['reference', true],
  ])
  for (const { available, reason, advice } of reports) {
    expect(reason).not.toBe('')
    expect(advice === '').toBe(available)
  }
})

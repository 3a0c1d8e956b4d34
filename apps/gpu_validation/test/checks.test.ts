import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAddon } from '@cudnn-rnn/cudnn/validation'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CheckContext } from '../src/check.js'
import { fallbacks } from '../src/checks/algorithms.js'
import { busyThread } from '../src/checks/busy_thread.js'
import { comparison } from '../src/checks/comparison.js'
import { gradients } from '../src/checks/gradients.js'
import { layout } from '../src/checks/layout.js'
import { parity } from '../src/checks/parity.js'
import { persistentPair } from '../src/checks/soak.js'
import type { Outcome } from '../src/outcome.js'
import { sections } from '../src/sections.js'
import { TorchBaseline } from '../src/torch_baseline.js'

const emulator = openCudaEmulator()
const problem =
  loadAddon().addon === undefined ? 'the cuDNN addon is not built: npm run build:native' : emulator.problem

describe.skipIf(problem !== undefined)(`checks of the validation (${problem ?? 'CUDA emulator'})`, () => {
  if (emulator.problem !== undefined) return
  const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  beforeEach(() => emulator.configure('reset'))
  afterEach(() => {
    vi.restoreAllMocks()
  })
  afterAll(() => rmSync(cacheDir, { recursive: true }))

  const calls = (name: string) => emulator.report().calls[name] ?? 0
  const asked = async (
    check: (context: CheckContext) => Promise<void>,
    context: Partial<CheckContext> = {},
  ): Promise<readonly Outcome[]> => {
    const outcomes: Outcome[] = []
    await check({
      ...{ options: { libraryDir: emulator.folder, cacheDir }, isQuick: true, argument: '', folder: cacheDir },
      ...{ deadline: Number.POSITIVE_INFINITY, report: (outcome) => void outcomes.push(outcome) },
      once: async (_, run) => run(),
      ...context,
    })
    return outcomes
  }

  it.each([
    ['busyThread', busyThread],
    ['fallbacks', fallbacks],
  ] as const)('%s ends at its deadline, and reports that it was cut short', async (_, check) => {
    const outcomes = await asked(check, { deadline: performance.now() })
    expect(outcomes.length).toBeGreaterThan(0)
    expect(outcomes.map(({ verdict }) => verdict)).not.toContain('fail')
    // Whole rounds would make hundreds.
    expect(calls('cudnnRNNBackwardWeights_v8')).toBe(0)
  })

  it('comparison warms the device up before it times anything', async () => {
    const before: { products: number; passes: number }[] = []
    await asked(comparison, {
      once: async (_, run) => {
        before.push({ products: calls('cublasGemmEx'), passes: calls('cudnnRNNForward') })
        if (before.length === 1) await run()
      },
    })
    expect(before[0].products).toBeGreaterThanOrEqual(10)
    expect(before[0].passes).toBe(0)
    expect(calls('cudnnRNNForward')).toBeGreaterThan(0)
  })

  it('memory kept for reuse is back on the device whenever PyTorch runs', async () => {
    const kept: [string, number][] = []
    const ask = async ({ action }: { readonly action: string }) => {
      kept.push([action, emulator.report().live['pool bytes'] ?? 0])
      return { error: 'no device' }
    }
    const baseline = { ask, close() {} } as unknown as TorchBaseline
    vi.spyOn(TorchBaseline, 'start').mockResolvedValue({ baseline, hello: {} })
    for (const check of [comparison, parity]) await asked(check)
    expect(new Set(kept.map(([action]) => action))).toEqual(new Set(['passes', 'parity']))
    expect(kept.filter(([, bytes]) => bytes > 0)).toEqual([])
  })

  it('what one release does undocumented is noted, not judged', async () => {
    const verdicts = async (settings: string) => {
      emulator.configure(`reset; ${settings}`)
      const outcomes = [...(await asked(layout)), ...(await asked(gradients))]
      expect(outcomes.filter(({ verdict }) => verdict === 'fail')).toEqual([])
      return outcomes
        .filter(({ id }) => id === '3.2' || id === '8.1')
        .map(({ what, verdict, measured }) => [what, verdict, typeof measured === 'string' ? measured : ''])
    }
    const refused = 'CUDNN_STATUS_NOT_SUPPORTED'
    const known = await verdicts('other_release=0')
    const other = await verdicts('other_release=1')
    expect(known[0]).toEqual(['reserve spaces: the closed form', 'noted', ''])
    expect(other[0]).toEqual(['reserve spaces: not the closed form', 'noted', ''])
    expect(new Set(known.slice(1).map(([, ...rest]) => rest.join()))).toEqual(new Set([`noted,${refused}`]))
    expect(new Set(other.slice(1).map(([, ...rest]) => rest.join()))).toEqual(new Set(['noted,accepted']))
  })

  it('conformance of the standard algorithm comes first, that of measured ones in a later process', () => {
    const names = sections('').map(({ name }) => name)
    expect(names.indexOf('conformance')).toBe(1)
    expect(names.indexOf('conformance of measured algorithms')).toBeGreaterThan(names.indexOf('threads'))
  })

  it('two persistent executors run at the same time, last before the timings, in a separate process', async () => {
    const names = sections('').map(({ name }) => name)
    expect(names.slice(-2)).toEqual(['two persistent executors', 'timing'])
    const outcomes = await asked(persistentPair)
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['noted', 'noted'])
    for (const { measured } of outcomes) {
      const { alone, both } = measured as { readonly alone: number; readonly both: readonly number[] }
      expect(both).toEqual([alone, alone])
    }
  })
})

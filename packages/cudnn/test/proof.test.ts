import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleGpuProof } from '../../../scripts/bundle_gpu_proof.mjs'
import { loadAddon } from '../src/load_addon.js'
import { openFakeGpu } from './fake_gpu.js'

const gpu = openFakeGpu()
const TIMEOUT = { timeout: 120_000 }

/** Chapters whose answers an imitated GPU knows. */
const CHAPTERS = 'layout,padding,gradients,limits,capture,algorithms,fallbacks,determinism,threads,host pointer,soak'

describe.skipIf(gpu.problem !== undefined)(`the proof on a GPU (${gpu.problem ?? 'imitated GPU'})`, () => {
  if (gpu.problem !== undefined) return
  const loaded = loadAddon()
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-proof-'))
  /** Runs the bundle in an environment that holds nothing but the imitation. */
  const prove = (out: string, only: string, settings = '') =>
    spawnSync(
      process.execPath,
      [join(folder, 'gpu_proof.mjs'), out, '--quick', '--python', 'none', '--limit', '0', '--only', only],
      {
        encoding: 'utf8',
        env: {
          CUDNN_RNN_CUDNN_ADDON: 'file' in loaded ? loaded.file : '',
          CUDNN_RNN_LIBRARY_DIR: gpu.libraries.folder,
          CUDNN_RNN_CACHE_DIR: gpu.cacheDir,
          CUDNN_RNN_FAKE_GPU: '1',
          CUDNN_RNN_FAKE_GPU_SETTINGS: settings,
        },
      },
    )
  const outcomes = (out: string): Record<string, unknown>[] =>
    readFileSync(join(out, 'checklist.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  beforeAll(() => bundleGpuProof(folder))

  it('answers every chapter over the imitation, and writes a report', TIMEOUT, () => {
    const out = join(folder, 'all')
    const { status, stdout, stderr } = prove(out, CHAPTERS)
    expect(status, stdout + stderr).toBe(0)
    const made = outcomes(out)
    expect(new Set(made.map(({ section }) => section))).toEqual(new Set(CHAPTERS.split(',')))
    for (const outcome of made) {
      expect(Object.keys(outcome)).toEqual(expect.arrayContaining(['id', 'what', 'expected', 'verdict']))
      expect(outcome['verdict'], String(outcome['what'])).not.toBe('fail')
    }
    expect(readdirSync(out).filter((name) => name.endsWith('.md'))).toHaveLength(1)
  })

  it('goes on where one chapter loses the device, and says what failed', TIMEOUT, () => {
    const out = join(folder, 'lost')
    const { status } = prove(out, 'gradients,reserve twice', 'sticky=10')
    expect(status).toBe(1)
    const made = outcomes(out)
    expect(new Set(made.map(({ section }) => section))).toEqual(new Set(['gradients', 'reserve twice']))
    expect(made.some(({ verdict }) => verdict === 'fail')).toBe(true)
  })
})

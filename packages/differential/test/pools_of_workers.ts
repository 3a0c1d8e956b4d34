import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Backend } from '@cudnn-rnn/ops'

export const SIZES = { numLayers: 2, numUnits: 20, inputSize: 3 }
export const program = join(mkdtempSync(join(tmpdir(), 'cudnn-rnn-program-')), 'stream_worker.mjs')
export const frame = (start: number) => ({
  data: Float32Array.from({ length: 3 }, (_, k) => Math.sin(start + k)),
  shape: [3],
})
export const crash = (kind: 1000 | 2000) => ({ data: Float32Array.of(kind, 0, 0), shape: [3] })

/** The place at which this repository's addon was built; the bundled program is elsewhere. */
export function cpuAddon(): string {
  const folder = fileURLToPath(new URL('../../../native/cpu/prebuilds/', import.meta.url))
  const built = existsSync(folder) ? readdirSync(folder) : []
  const triple = built.find((name) => name.startsWith(`${process.platform}-${process.arch}`))
  return triple === undefined ? '' : join(folder, triple, 'cudnn_rnn_cpu.node')
}

export const env = { CUDNN_RNN_CPU_ADDON: cpuAddon(), ...process.env }

export interface ExecutorCase {
  readonly name: 'cpu' | 'reference'
  readonly weights?: 'int8'
  open(): Backend
}

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INSTRUCTION_SETS, openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { type Backend, BackendUnavailableError } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import type { Program } from './program.js'

/** An executor that is to agree with the reference. */
export interface TestedExecutor {
  readonly name: string
  /** Whether its dropout draws the masks of the reference. */
  readonly sharesMasks: boolean
  readonly open: (program: Program) => Promise<Backend>
  /** Waits until the executor is closed; throws if it left something on the device or broke its rules. */
  readonly inspect?: (backend: Backend) => Promise<void>
}

export function openReference({ dtype }: Program): Backend {
  return openReferenceBackend({ dtype })
}

/** Every executor of this machine except the reference: each instruction set of the CPU, WebAssembly, and cuDNN 9 and 8 on the CUDA emulator. */
export function testedExecutors(): { readonly found: readonly TestedExecutor[]; readonly missing: readonly string[] } {
  const found: TestedExecutor[] = []
  const missing: string[] = []
  for (const instructionSet of INSTRUCTION_SETS) {
    try {
      openCpuBackend({ instructionSet, threads: 1 }).dispose()
    } catch (error) {
      if (error instanceof BackendUnavailableError) missing.push(`cpu ${instructionSet}: ${error.message}`)
      continue
    }
    const open = async ({ dtype, threads }: Program) => openCpuBackend({ dtype, threads, instructionSet })
    found.push({ name: `cpu ${instructionSet}`, sharesMasks: true, open })
  }
  const openWasm = async ({ dtype, threads }: Program) => openWasmBackend({ dtype, threads })
  found.push({ name: 'wasm', sharesMasks: true, open: openWasm })
  for (const version of [9, 8] as const) {
    const emulated = emulatedCudnn(version)
    if (typeof emulated === 'string') missing.push(`cudnn ${version}: ${emulated}`)
    else found.push(emulated)
  }
  return { found, missing }
}

function emulatedCudnn(version: 8 | 9): TestedExecutor | string {
  const libraries = openCudaEmulator(version)
  if (libraries.problem !== undefined) return libraries.problem
  // Kernels of an imaginary GPU must not be found by a real one.
  const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  return {
    name: `cudnn ${version}`,
    sharesMasks: false,
    async open({ dtype }) {
      libraries.configure('reset')
      return openCudnnBackend({ dtype, cacheDir, libraryDir: libraries.folder })
    },
    async inspect(backend) {
      await (backend as Awaited<ReturnType<typeof openCudnnBackend>>).close()
      const { live, violations } = libraries.report()
      const left = Object.entries(live).filter(([, count]) => count !== 0)
      if (violations.length > 0) throw new Error(`rules of cuDNN were broken: ${violations.join('; ')}`)
      if (left.length > 0) throw new Error(`left on the device: ${left.join('; ')}`)
    },
  }
}

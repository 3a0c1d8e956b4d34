import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WasmExports } from '../src/wasm_exports.js'
import { startThreads } from '../src/wasm_threads.js'

const [module, memory] = [{} as WebAssembly.Module, {} as WebAssembly.Memory]
/** Stacks at 0x1000, and from there on. */
const exportsOf = (addresses: readonly number[]) => {
  const left = [...addresses]
  return { allocate: vi.fn((_bytes: number) => left.shift() ?? 0) } as unknown as WasmExports
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

describe('startThreads in a page', () => {
  /** A Web worker that runs no program. */
  class StubWebWorker {
    static readonly all: StubWebWorker[] = []
    onmessage: (() => void) | undefined
    onerror: ((event: object) => void) | undefined
    isTerminated = false

    constructor(
      readonly url: string,
      readonly options: object,
    ) {
      StubWebWorker.all.push(this)
    }

    postMessage() {}

    terminate() {
      this.isTerminated = true
    }
  }

  const { all: pageWorkers } = StubWebWorker
  const revoked: string[] = []

  beforeEach(() => {
    pageWorkers.length = revoked.length = 0
    vi.stubGlobal('crossOriginIsolated', true)
    vi.stubGlobal('Worker', StubWebWorker)
    vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:program')
    vi.spyOn(URL, 'revokeObjectURL').mockImplementation((url) => void revoked.push(url))
  })

  it('keeps the program of a worker until it is ready', async () => {
    const starting = startThreads(module, memory, exportsOf([64]), 1)
    expect(revoked).toEqual([])
    expect(pageWorkers[0]).toMatchObject({ url: 'blob:program', options: { name: 'cudnn-rnn wasm' } })
    pageWorkers[0]!.onmessage?.()
    const threads = await starting
    expect(revoked).toEqual(['blob:program'])
    threads.stop()
    expect(pageWorkers[0]!.isTerminated).toBe(true)
  })

  it.each([
    ['the message of a failure', 'out of stack', 'out of stack'],
    [
      'the directive of a policy, of which a page sees no message',
      '',
      'the page may not start a worker from a blob: URL (worker-src)',
    ],
  ])('rejects with %s, and the page reports no other error', async (_, message, expected) => {
    const starting = startThreads(module, memory, exportsOf([64]), 1)
    const preventDefault = vi.fn()
    pageWorkers[0]!.onerror?.({ message, preventDefault })
    await expect(starting).rejects.toThrow(expected)
    expect(preventDefault).toHaveBeenCalledOnce()
    expect(revoked).toEqual(['blob:program'])
    expect(pageWorkers[0]!.isTerminated).toBe(true)
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WasmExports } from '../src/wasm_exports.js'
import { defaultThreads, startThreads, threadsRefused } from '../src/wasm_threads.js'

const STACK_BYTES = 2 ** 18

/** Calls a thread, as an executor sees it. */
interface Listeners {
  ready: () => void
  fail: (error: Error) => void
  end: () => void
}

/** A worker of Node.js that runs no program. */
class StubWorker {
  static readonly all: StubWorker[] = []
  readonly calls: string[] = []
  readonly messages: unknown[] = []
  readonly listeners: Partial<Listeners> = {}

  constructor(
    readonly program: string,
    readonly options: object,
  ) {
    StubWorker.all.push(this)
  }

  on(_event: 'error', listener: (error: Error) => void) {
    this.listeners.fail = listener
  }

  once(event: 'message' | 'exit', listener: () => void) {
    this.listeners[event === 'message' ? 'ready' : 'end'] = listener
  }

  postMessage(message: unknown) {
    this.messages.push(message)
  }

  unref() {
    this.calls.push('unref')
  }

  async terminate() {
    this.calls.push('terminate')
  }
}

const { all: workers } = StubWorker

/** A platform that has these modules, and no others. */
const platformOf = (modules: Readonly<Record<string, unknown>>) =>
  vi.spyOn(process, 'getBuiltinModule').mockImplementation((name) => modules[name] as never)

const [module, memory] = [{} as WebAssembly.Module, {} as WebAssembly.Memory]
/** Stacks at 0x1000, and from there on. */
const exportsOf = (addresses: readonly number[]) => {
  const left = [...addresses]
  return { allocate: vi.fn((_bytes: number) => left.shift() ?? 0) } as unknown as WasmExports
}

beforeEach(() => {
  workers.length = 0
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

describe('defaultThreads', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [7, 4],
    [8, 4],
    [256, 4],
  ])('of %d processors are %d: half of them, at most four', (processors, threads) => {
    platformOf({ 'node:os': { availableParallelism: () => processors } })
    expect(defaultThreads()).toBe(threads)
  })

  it('are half of those that a page may know', () => {
    platformOf({})
    vi.stubGlobal('navigator', { hardwareConcurrency: 6 })
    expect(defaultThreads()).toBe(3)
  })

  it('are one where no number is known', () => {
    platformOf({ 'node:os': {} })
    vi.stubGlobal('navigator', undefined)
    expect(defaultThreads()).toBe(1)
  })
})

describe('threadsRefused', () => {
  it.each<[string, unknown, boolean | undefined, string]>([
    ['Node.js', { Worker: StubWorker }, undefined, ''],
    ['a platform without worker threads', undefined, undefined, 'this platform has no worker threads'],
    ['a platform whose module lacks workers', {}, undefined, 'this platform has no worker threads'],
    ['an isolated page', undefined, true, ''],
    ['a page that is not isolated', undefined, false, 'the page is not cross-origin isolated'],
    ['a shell around a page, which has both', { Worker: StubWorker }, false, 'the page is not cross-origin isolated'],
  ])('is the reason of %s', (_, threads, isolated, reason) => {
    platformOf({ 'node:worker_threads': threads })
    vi.stubGlobal('crossOriginIsolated', isolated)
    expect(threadsRefused()).toBe(reason)
  })
})

describe('startThreads on Node.js', () => {
  beforeEach(() => {
    platformOf({ 'node:worker_threads': { Worker: StubWorker } })
  })

  it('gives each worker its number and the top of a separate stack, and resolves when all are ready', async () => {
    const exports = exportsOf([0x1000, 0x9000])
    let isStarted = false
    const starting = startThreads(module, memory, exports, 2).then((threads) => {
      isStarted = true
      return threads
    })
    expect(workers.flatMap(({ messages }) => messages)).toEqual([
      { module, memory, index: 0, stack: 0x1000 + STACK_BYTES },
      { module, memory, index: 1, stack: 0x9000 + STACK_BYTES },
    ])
    expect(vi.mocked(exports.allocate).mock.calls).toEqual([[STACK_BYTES], [STACK_BYTES]])
    workers[0]!.listeners.ready?.()
    await new Promise(setImmediate)
    expect(isStarted).toBe(false)
    workers[1]!.listeners.ready?.()
    const threads = await starting
    // From now on they keep no process alive.
    expect(workers.map(({ calls }) => calls)).toEqual([['unref'], ['unref']])
    threads.stop()
    threads.stop()
    expect(workers.map(({ calls }) => calls)).toEqual([
      ['unref', 'terminate'],
      ['unref', 'terminate'],
    ])
  })

  it('starts none if none is requested', async () => {
    const threads = await startThreads(module, memory, exportsOf([]), 0)
    threads.stop()
    expect(workers).toHaveLength(0)
  })

  it('takes addresses above 2 GiB, which come as negative numbers', async () => {
    const starting = startThreads(module, memory, exportsOf([-4096]), 1)
    workers[0]!.listeners.ready?.()
    await starting
    expect(workers[0]!.messages).toMatchObject([{ stack: 2 ** 32 - 4096 + STACK_BYTES }])
  })

  it('gives a worker no loaders of the process, and a name', async () => {
    const starting = startThreads(module, memory, exportsOf([64]), 1)
    workers[0]!.listeners.ready?.()
    await starting
    expect(workers[0]!.options).toEqual({ eval: true, execArgv: [], name: 'cudnn-rnn wasm' })
  })

  it.each<[string, readonly number[], (worker: StubWorker) => void, string]>([
    ['there is no memory for a stack', [0x1000, 0], () => {}, 'out of memory'],
    ['one fails', [0x1000, 0x9000], ({ listeners }) => listeners.fail?.(new Error('no program')), 'no program'],
    ['one ends before it is ready', [0x1000, 0x9000], ({ listeners }) => listeners.end?.(), 'the worker has ended'],
  ])('ends all workers where %s', async (_, stacks, act, message) => {
    const starting = startThreads(module, memory, exportsOf(stacks), 2)
    workers[0]!.listeners.ready?.()
    act(workers[1]!)
    await expect(starting).rejects.toThrow(message)
    expect(workers.map(({ calls }) => calls)).toEqual([['terminate'], ['terminate']])
  })

  it('ends all workers where one reports nothing for 20 seconds', async () => {
    vi.useFakeTimers()
    const starting = startThreads(module, memory, exportsOf([0x1000, 0x9000]), 2)
    const refused = expect(starting).rejects.toThrow('none is ready after 20 s')
    workers[0]!.listeners.ready?.()
    await vi.advanceTimersByTimeAsync(19_999)
    expect(workers.map(({ calls }) => calls)).toEqual([[], []])
    await vi.advanceTimersByTimeAsync(1)
    await refused
    expect(workers.map(({ calls }) => calls)).toEqual([['terminate'], ['terminate']])
  })

  it('leaves no timer behind', async () => {
    vi.useFakeTimers()
    const starting = startThreads(module, memory, exportsOf([0x1000]), 1)
    expect(vi.getTimerCount()).toBe(1)
    workers[0]!.listeners.ready?.()
    await starting
    expect(vi.getTimerCount()).toBe(0)
  })
})

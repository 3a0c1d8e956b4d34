import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import { flatLayout } from '@cudnn-rnn/canonical'
import {
  HostMemory,
  type KernelExecutor,
  type KernelNetwork,
  type KernelOperations,
  type KernelQuantizedWeights,
  type KernelStepper,
  type KernelTapeMemory,
  type MatrixFormat,
  type OperationQueue,
  openKernelBackend,
  type Products,
  type RegionMove,
  type Walk,
} from '../../../src/executor/index.js'

/** An operation that was queued: its name and its arguments. */
export interface NotedJob {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: each has other arguments
  readonly job: any
}

const FORWARD_ARGUMENTS = [
  ...['network', 'time', 'batch', 'input', 'h', 'c', 'params', 'quantized', 'lengths', 'dropoutPosition'],
  ...['output', 'hFinal', 'cFinal', 'tape', 'rounds', 'paramsVersion'],
]

/** Calls of a stepper, in their order. */
export type NotedCall = readonly [string, ...unknown[]]

/**
 * An executor over kernels that compute nothing: its operations are numbered from 1 and kept in `jobs`, and the jobs that were
 * waited for in `waited`. An operation throws `failure` if it is set.
 */
export function openNotingExecutor({
  weightFormat = 'float32',
  binds = true,
  leavesSmall = false,
}: {
  readonly weightFormat?: MatrixFormat
  readonly binds?: boolean
  readonly leavesSmall?: boolean
} = {}) {
  const jobs: NotedJob[] = []
  const waited: number[] = []
  const calls: NotedCall[] = []
  const moves: { readonly params: Float32Array; readonly moves: readonly RegionMove[]; readonly into: boolean }[] = []
  const released: KernelTapeMemory[] = []
  const quantizedKeys: (string | undefined)[] = []
  const state: { failure?: Error | undefined } = {}
  const queue: OperationQueue = {
    failureCode: 'ERR_OWN_OPERATION',
    done: async (job) => void waited.push(job),
    pin: () => {},
    close: () => {},
  }
  const memory = new HostMemory('float32', queue)
  const queued = (name: string) => (job: unknown) => {
    if (state.failure) throw state.failure
    return jobs.push({ name, job })
  }
  const names = ['backward', 'quantize', 'addProduct', 'lstmForward', 'lstmBackward', 'ctcLoss', 'norm', 'run']
  const operations = {
    ...Object.fromEntries(names.map((name) => [name, queued(name)])),
    // By their names.
    forward: (...values: readonly unknown[]) =>
      queued('forward')(Object.fromEntries(FORWARD_ARGUMENTS.map((name, k) => [name, values[k]]))),
    wait: (job: number) => void calls.push(['wait', job]),
  } as unknown as KernelOperations
  const tensorKernels = {
    elements: (name: string, walk: Walk, y: FloatArray, operands: readonly FloatArray[]) =>
      queued('elements')({ name, walk, operands: [y, ...operands] }),
    reduce: (name: string, outer: Walk, inner: Walk, y: FloatArray, x: FloatArray) =>
      queued('reduce')({ name, outer, inner, operands: [y, x] }),
    products: (products: Products, c: FloatArray, a: FloatArray, b: FloatArray) =>
      queued('products')({ products, operands: [c, a, b] }),
  }
  const makeStepper = (_: KernelNetwork, batch: number): KernelStepper => ({
    followParams: (version) => void calls.push(['follow', version]),
    step: (_params, _input, output, steps, ...quantized) => {
      output.fill(steps)
      calls.push(['step', steps, ...quantized])
    },
    stepRows: (_params, rows, count, _input, output, ...quantized) => {
      output.fill(count)
      calls.push(['stepRows', [...rows.slice(0, count)], ...quantized])
    },
    bind: binds
      ? (_params, input, output) => {
          calls.push(['bind', input.length, output.length])
          return () => {
            output.fill(input[0])
            calls.push(['bound'])
          }
        }
      : undefined,
    resetRow: (row) => void calls.push(['reset', row]),
    moveState: (_h, _c, into, rows, count) => void calls.push(['move', into, rows && [...rows], count, batch]),
  })
  const executor: KernelExecutor = {
    memory,
    operations,
    tensorKernels,
    weightFormat,
    leavesSmall,
    allocateResult: (length) => new Float32Array(length),
    makeNetwork: (descriptor: RnnDescriptor) => ({ paramsSize: () => flatLayout(descriptor).size }),
    makeTape: () => {
      const tape: KernelTapeMemory = { bytes: 64, release: () => void released.push(tape) }
      return tape
    },
    makeStepper,
    moveRegions: (_network, params, given, into) =>
      void moves.push({ params: params as Float32Array, moves: given, into }),
    makeQuantizedWeights: (key): KernelQuantizedWeights => ({ number: quantizedKeys.push(key) }),
  }
  const labels = { name: 'noting', reason: 'a test', implementation: 'none' }
  const backend = openKernelBackend(executor, labels)
  return { backend, executor, memory, jobs, waited, calls, moves, released, quantizedKeys, state }
}

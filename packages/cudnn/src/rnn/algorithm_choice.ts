import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { bfloat16ToNumber, float16ToNumber } from '@cudnn-rnn/checkpoint/files'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { DeviceSession } from '../device/device_session.js'
import type { GraphPolicy } from '../device/graph_cache.js'
import type { Arithmetic } from '../device/precision.js'
import type { Algorithm } from '../sys/cudnn_enums.js'
import type { DropoutGenerator } from './dropout_states.js'
import type { PersistentPass } from './persistent_pass.js'
import { type ScratchOptions, ScratchPass } from './scratch_pass.js'

/** The first pass loads kernels, the second fills caches. */
const WARM_UPS = 2
/** The minimum of these counts, as disturbances only add time: one that falls into the only sample of an algorithm loses it. */
const SAMPLES = 3
const REPETITIONS = 3
/** Milliseconds of a sample of which a disturbance is a small part: it is the only one. */
const LONG_SAMPLE = 20

/** A network and a shape for which an algorithm is to be chosen. */
export interface Trial extends Omit<ScratchOptions, 'algorithm' | 'dropout'> {
  readonly dropout: DropoutGenerator | undefined
  /** Whether passes of this shape are replayed as graphs. */
  readonly graphs: GraphPolicy
}

/** Tries algorithms on scratch memory, in an exclusive section. */
export class AlgorithmTrials {
  readonly #session: DeviceSession
  readonly #queue: CommandQueue
  readonly #trial: Trial

  constructor(session: DeviceSession, queue: CommandQueue, trial: Trial) {
    this.#session = session
    this.#queue = queue
    this.#trial = trial
  }

  /**
   * The fastest of `algorithms`, measured in the form in which it will run: a pass forward, and backward in training; as
   * calls, as a graph, or as the faster of both.
   *
   * An algorithm that cuDNN refuses at any stage, the backward included, is out: persistent kernels may be refused as late
   * as there. The answer is `standard` if nothing can be measured, as memory for a trial is short.
   */
  async fastest(algorithms: readonly Algorithm[]): Promise<Algorithm> {
    let best: Algorithm = 'standard'
    let bestMilliseconds = Number.POSITIVE_INFINITY
    let isRefused = false
    for (const algorithm of algorithms) {
      // A trial includes the backward in training, as an algorithm that is fastest forward need not be fastest in a
      // step.
      const measure = () => this.#tried(algorithm, (pass) => this.#milliseconds(pass))
      let time = await measure()
      // Note [Stale errors]. After a refused persistent kernel cuDNN's own CUDA runtime may hold an error that the next
      // call reports, for any call; cudaGetLastError of ours does not clear it.
      if (time === undefined && isRefused) time = await measure()
      isRefused = time === undefined
      if (time === undefined || time >= bestMilliseconds) continue
      best = algorithm
      bestMilliseconds = time
    }
    if (isRefused) await this.#takeStaleError()
    return best
  }

  /**
   * Milliseconds of `algorithm`, or of `persistent` kernels in its place; undefined if they are refused, or disagree with
   * the standard algorithm.
   */
  async time(algorithm: Algorithm, persistent?: PersistentPass): Promise<number | undefined> {
    if (persistent === undefined) return this.#tried(algorithm, (pass) => this.#milliseconds(pass))
    const expected = await this.#tried('standard', (pass) => pass.results())
    const measure = async (pass: ScratchPass) => {
      const results = [await pass.results(), await pass.results()]
      const isRight = expected !== undefined && results.every((one) => agrees(this.#trial.arithmetic, one, expected))
      const isRepeated = results[0].every((bytes, k) => Buffer.compare(bytes, results[1][k]) === 0)
      return isRight && isRepeated ? this.#milliseconds(pass) : undefined
    }
    return this.#tried('standard', measure, persistent)
  }

  /** Whether cuDNN takes `algorithm` at every stage. */
  async accepts(algorithm: Algorithm): Promise<boolean> {
    if (await this.#runs(algorithm)) return true
    await this.#takeStaleError()
    return false
  }

  /** A standard pass that may report the error of a refused one, see Note [Stale errors]. */
  async #takeStaleError(): Promise<void> {
    await this.#runs('standard')
  }

  /** Runs a whole pass and waits for it: an asynchronous error of a persistent kernel appears only then. */
  async #runs(algorithm: Algorithm): Promise<boolean> {
    const run = async (pass: ScratchPass) => {
      await this.#queue.time(this.#list('try an algorithm', (list) => pass.whole(list)))
      return true
    }
    return (await this.#tried(algorithm, run)) ?? false
  }

  /**
   * The result of `use` on a pass with `algorithm`; undefined if cuDNN refuses it. The state of the dropout generator is
   * saved before and restored after, so a trial does not change the masks of the caller's passes.
   */
  async #tried<Result>(
    algorithm: Algorithm,
    use: (pass: ScratchPass) => Promise<Result>,
    persistent?: PersistentPass,
  ): Promise<Result | undefined> {
    const { dropout } = this.#trial
    const states = dropout?.states
    let pass: ScratchPass | undefined
    let saved: { readonly states: DeviceBuffer; readonly copy: DeviceBuffer } | undefined
    try {
      const options = { ...this.#trial, algorithm, dropout: dropout?.descriptor ?? null, persistent }
      pass = await ScratchPass.make(this.#session, this.#queue, options)
      if (states !== undefined) {
        const list = this.#session.list('save the dropout state')
        const copy = list.allocate(states.bytes)
        list.copy(copy, states)
        await this.#queue.run(list)
        saved = { states, copy }
      }
      return await use(pass)
    } catch (error) {
      if (isRefusal(error) || (persistent !== undefined && hasErrorCode(error, 'ERR_CUDA'))) return undefined
      throw error
    } finally {
      pass?.release()
      // Only the caller's passes may end the session.
      if (persistent !== undefined)
        await this.#queue.run(this.#list('end a trial', (list) => list.add('clearWatch', {})))
      if (saved !== undefined) {
        const { states, copy } = saved
        await this.#queue.run(this.#list('restore the dropout state', (list) => list.copy(states, copy)))
        this.#queue.releaseNow([copy.discard()])
      }
    }
  }

  /** Milliseconds of one pass, in its faster form. */
  async #milliseconds(pass: ScratchPass): Promise<number> {
    const { graphs } = this.#trial
    const ofCalls = await this.#fastest((list) => pass.whole(list))
    if (graphs === 'never') return ofCalls
    try {
      const exec = await pass.captured((list) => pass.whole(list))
      const ofGraph = await this.#fastest((list) => list.add('launchGraph', { exec }))
      return graphs === 'always' ? ofGraph : Math.min(ofCalls, ofGraph)
    } catch (error) {
      // It will run as calls.
      if (isRefusal(error) || hasErrorCode(error, 'ERR_CUDA')) return ofCalls
      throw error
    }
  }

  /** Milliseconds of one repetition in the fastest sample, by events of the device around a list of repetitions. */
  async #fastest(add: (list: CommandList) => void): Promise<number> {
    const repeated = (action: string, count: number) =>
      this.#list(action, (list) => {
        for (let n = 0; n < count; n++) add(list)
      })
    await this.#queue.run(repeated('warm up a trial', WARM_UPS))
    let best = Number.POSITIVE_INFINITY
    for (let sample = 0; sample < SAMPLES; sample++) {
      const milliseconds = await this.#queue.time(repeated('time a trial', REPETITIONS))
      best = Math.min(best, milliseconds)
      if (milliseconds > LONG_SAMPLE) break
    }
    return best / REPETITIONS
  }

  #list(action: string, add: (list: CommandList) => void): CommandList {
    const list = this.#session.list(action)
    add(list)
    return list
  }
}

/** True for the failures that rule an algorithm out; a lost device is not one of them. */
function isRefusal(error: unknown): boolean {
  return hasErrorCode(error, 'ERR_CUDNN_NOT_SUPPORTED', 'ERR_CUDNN_BAD_PARAM', 'ERR_CUDNN', 'ERR_OUT_OF_DEVICE_MEMORY')
}

/**
 * The largest difference from cuDNN's result, as a part of the largest number of that result. Both round every step in
 * another order: sums of a thousand products in float32, and operands of 11, 8 and 11 bits of mantissa in the others.
 */
const LIMITS: Readonly<Record<Arithmetic['precision'], number>> = {
  float32: 1e-5,
  tf32x3: 1e-5,
  tf32: 5e-3,
  float16: 5e-3,
  bfloat16: 2e-2,
  float64: 0,
}

/** Whether each of `results` is near the one of `expected`; no result with a NaN is. */
export function agrees(
  arithmetic: Arithmetic,
  results: readonly Uint8Array[],
  expected: readonly Uint8Array[],
): boolean {
  const limit = LIMITS[arithmetic.precision]
  return results.every((bytes, k) => {
    const [a, b] = [valuesOf(arithmetic, bytes), valuesOf(arithmetic, expected[k])]
    let difference = 0
    let largest = 0
    for (let n = 0; n < a.length; n++) {
      // Math.max of a NaN is NaN, which is not below the limit.
      difference = Math.max(difference, Math.abs(a[n] - b[n]))
      largest = Math.max(largest, Math.abs(b[n]))
    }
    return difference <= limit * largest
  })
}

/** The numbers of an array of the device. */
function valuesOf({ half }: Arithmetic, { buffer, byteOffset, byteLength }: Uint8Array): Float32Array {
  if (half === undefined) return new Float32Array(buffer, byteOffset, byteLength / 4)
  const bits = new Uint16Array(buffer, byteOffset, byteLength / 2)
  return Float32Array.from(bits, half === 'bfloat16' ? bfloat16ToNumber : float16ToNumber)
}

import { describeValue } from '@cudnn-rnn/canonical'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { codedRangeError } from './coded_error.js'

/** A layer that steps: its state carries over from call to call. */
export interface LayerStream {
  /** Steps [T,B,…] in their order; takes an input of the executor or of the host. */
  step(input: TensorLike): Promise<TensorLike>
  /** Zeroes the states of all rows, or of those named. */
  reset(rows?: readonly number[]): void
  /** The carried states, as host copies; null if the layer has none. */
  state(): Promise<unknown>
  restore(state: unknown): void
  dispose(): void
}

/** The stream of a layer whose steps do not depend on each other. */
export function statelessStream(step: (input: TensorLike) => Promise<BackendTensor>): LayerStream {
  return { step, reset() {}, state: async () => null, restore() {}, dispose() {} }
}

/** A stream for each part; if one cannot be opened, the others are disposed. */
export function openStreams<Part>(parts: readonly Part[], open: (part: Part) => LayerStream): LayerStream[] {
  const streams: LayerStream[] = []
  try {
    for (const part of parts) streams.push(open(part))
    return streams
  } catch (error) {
    for (const stream of streams) stream.dispose()
    throw error
  }
}

/** Streams as one, with the steps of `step`; a state of it is the list of their states. */
export function combinedStream(streams: readonly LayerStream[], step: LayerStream['step']): LayerStream {
  return {
    step,
    reset: (rows) => {
      for (const stream of streams) stream.reset(rows)
    },
    state: () => Promise.all(streams.map((stream) => stream.state())),
    restore: (state) => {
      const states = checkStateList('restore the state of a stream', state, streams.length)
      for (const [index, stream] of streams.entries()) stream.restore(states[index])
    },
    dispose: () => {
      for (const stream of streams) stream.dispose()
    },
  }
}

/** A saved state, which must be the list of `count` states that `state()` returned. Throws RangeError `ERR_LAYER_STATES`. */
export function checkStateList(action: string, saved: unknown, count: number): readonly unknown[] {
  if (Array.isArray(saved) && saved.length === count) return saved
  const current = Array.isArray(saved) ? `a list of ${saved.length}` : describeValue(saved)
  throw codedRangeError(
    'ERR_LAYER_STATES',
    `Cannot ${action} as it must be a list of ${count}, which state() returned: current value is ${current}`,
    { expected: count },
  )
}

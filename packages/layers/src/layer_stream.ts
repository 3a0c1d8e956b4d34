import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, FloatDType, TensorLike } from '@cudnn-rnn/ops'
import { checkTensor, HostStates, type RowNumbers } from '@cudnn-rnn/ops/executor'

/** A layer that steps: its state carries over from call to call. */
export interface LayerStream {
  /**
   * Steps [T,B,…] in their order, or one step [1,R,…] of R rows alone; takes an input of the executor or of the host. A layer
   * whose step fails keeps its state; the layers before it in a model have already moved on.
   */
  step(input: TensorLike, rows?: RowNumbers): Promise<TensorLike>
  /** Zeroes the states of all rows, or of those named. */
  reset(rows?: RowNumbers): void
  /** The carried states of all rows, or of those named, as host copies; null if the layer has none. */
  state(rows?: RowNumbers): Promise<unknown>
  /**
   * A copy of a result of `state` of all rows, or of `count`, that `restore` takes: a state is checked whole before a part of it is restored.
   */
  checkedState(state: unknown, count?: number): unknown
  /** Takes over a result of `checkedState`. */
  restore(state: unknown, rows?: RowNumbers): void
  dispose(): void
}

/** The stream of a layer whose steps do not depend on each other. */
export function statelessStream(step: (input: TensorLike) => Promise<BackendTensor>): LayerStream {
  return {
    ...{ step: (input) => step(input), reset() {}, restore() {}, dispose() {} },
    state: async () => null,
    checkedState: () => null,
  }
}

/** Tensors [B,E] or [T,B,E] that a layer carries from step to step. */
export interface StateForm {
  /** The layer's. */
  readonly name: string
  readonly dtype: FloatDType
  readonly shapes: readonly (readonly number[])[]
}

type HostState = readonly Tensor<FloatArray>[]

/**
 * A stream whose state is in host memory; it begins as zeros.
 *
 * @param step the output and the next state, for an input and a state that it may change
 */
export function hostStream(
  form: StateForm,
  step: (input: TensorLike, state: HostState) => Promise<readonly [output: TensorLike, next: HostState]>,
): LayerStream {
  const states = new HostStates(form.dtype, form.shapes)
  return {
    async step(input, rows) {
      const [output, next] = await step(input, states.copy(rows))
      states.put(next, rows)
      return output
    },
    reset: (rows) => states.reset(rows),
    state: async (rows) => states.copy(rows),
    checkedState: (saved, count) =>
      checkedStates(form, saved, count).map(({ data, shape }) => ({ data: data.slice(), shape })),
    restore: (saved, rows) => states.put(saved as HostState, rows),
    dispose() {},
  }
}

/** A saved state of a layer. Throws RangeError `ERR_LAYER_STATES`, `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`. */
function checkedStates({ name, dtype, shapes }: StateForm, saved: unknown, count?: number): HostState {
  const action = `restore the state of ${name}`
  const states = checkStateList(action, saved, shapes.length) as readonly Tensor[]
  return shapes.map((all, index) => {
    const shape = count === undefined ? all : [...all.slice(0, -2), count, ...all.slice(-1)]
    return checkTensor(action, `state[${index}]`, states[index], { dtype, shape }) as Tensor<FloatArray>
  })
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
    state: (rows) => Promise.all(streams.map((stream) => stream.state(rows))),
    checkedState: (state, count) => {
      const states = checkStateList('restore the state of a stream', state, streams.length)
      return streams.map((stream, index) => stream.checkedState(states[index], count))
    },
    restore: (state, rows) => {
      for (const [index, stream] of streams.entries()) stream.restore((state as readonly unknown[])[index], rows)
    },
    dispose: () => {
      for (const stream of streams) stream.dispose()
    },
  }
}

/** A saved state, which must be the list of `count` states that `state()` returned. Throws RangeError `ERR_LAYER_STATES`. */
function checkStateList(action: string, saved: unknown, count: number): readonly unknown[] {
  let current = describeValue(saved)
  let cause: unknown
  try {
    if (Array.isArray(saved) && saved.length === count) return [...saved]
    if (Array.isArray(saved)) current = `a list of ${saved.length}`
  } catch (error) {
    cause = error
  }
  throw codedRangeError(
    'ERR_LAYER_STATES',
    `Cannot ${action} as it must be a list of ${count}, which state() returned: current value is ${current}`,
    { expected: count, cause },
  )
}

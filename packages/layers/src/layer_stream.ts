import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, DTYPES, type FloatDType, type TensorLike } from '@cudnn-rnn/ops'
import { checkTensor } from '@cudnn-rnn/ops/executor'

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
  const { dtype, shapes } = form
  let state: HostState = shapes.map((shape) => ({ data: new DTYPES[dtype].array(elementCount(shape)), shape }))
  const copied = (tensors: HostState) => tensors.map(({ data, shape }) => ({ data: data.slice() as FloatArray, shape }))
  return {
    async step(input) {
      const [output, next] = await step(input, state)
      state = next
      return output
    },
    reset(rows) {
      for (const { data, shape } of state) {
        const [batch, columns] = shape.slice(-2)
        for (const row of rows ?? Array(batch).keys())
          for (let begin = row * columns; begin < data.length; begin += batch * columns)
            data.fill(0, begin, begin + columns)
      }
    },
    state: async () => copied(state),
    restore(saved) {
      state = copied(checkedStates(form, saved))
    },
    dispose() {},
  }
}

/** A saved state of a layer. Throws RangeError `ERR_LAYER_STATES`, `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`. */
export function checkedStates({ name, dtype, shapes }: StateForm, saved: unknown): HostState {
  const action = `restore the state of ${name}`
  const states = checkStateList(action, saved, shapes.length) as readonly Tensor[]
  return shapes.map((shape, index) => {
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
function checkStateList(action: string, saved: unknown, count: number): readonly unknown[] {
  if (Array.isArray(saved) && saved.length === count) return saved
  const current = Array.isArray(saved) ? `a list of ${saved.length}` : describeValue(saved)
  throw codedRangeError(
    'ERR_LAYER_STATES',
    `Cannot ${action} as it must be a list of ${count}, which state() returned: current value is ${current}`,
    { expected: count },
  )
}

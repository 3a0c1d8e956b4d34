import type { FloatDType, RnnForwardInputs, RnnOutputGradients, TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, layoutKey, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { type PassShapes, passShapes } from './pass_shapes.js'
import { checkSequenceLengths } from './sequence_lengths.js'
import { checkTensor } from './tensor_arguments.js'

/** cuDNN refuses longer sequences; every executor does, so that a model runs on all of them. */
export const MAX_TIME_STEPS = 65_535

/** Sizes of one pass. */
export interface RnnPassSizes {
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  readonly sequenceLengths: Int32Array | null
}

/**
 * Checks the arguments of `Rnn.forward` against the descriptor, before anything is queued or written.
 *
 * @param paramsSize elements of this executor's opaque buffer.
 * @throws as `checkTensor` and `checkSequenceLengths`; RangeError `ERR_TIME_STEPS` for T > 65,535,
 *   `ERR_EMPTY_BATCH` for T or B of 0, `ERR_NO_CELL_STATE` for inputC given to another cell than LSTM
 */
export function checkForwardArguments(
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  paramsSize: number,
  inputs: RnnForwardInputs,
): RnnPassSizes {
  const action = 'run forward'
  checkTensor(action, 'input', inputs.input, {
    dtype,
    shape: [undefined, undefined, descriptor.inputSize],
  })
  const [time, batch] = inputs.input.shape as [number, number, number]
  if (time === 0 || batch === 0) {
    throw codedRangeError(
      'ERR_EMPTY_BATCH',
      `Cannot run forward as input [T,B,I] must have at least one time step and one row: current shape is [${inputs.input.shape.join(',')}]`,
      { time, batch },
    )
  }
  if (time > MAX_TIME_STEPS) {
    throw codedRangeError(
      'ERR_TIME_STEPS',
      `Cannot run forward as a sequence has at most ${MAX_TIME_STEPS} time steps: current value is ${time}. Split it and carry the state.`,
      { time },
    )
  }
  checkParams(action, descriptor, dtype, paramsSize, inputs.params)
  const { inputH, inputC } = inputs
  checkStates(action, descriptor, dtype, passShapes(descriptor, { time, batch }), { inputH, inputC })
  return {
    time,
    batch,
    sequenceLengths: checkSequenceLengths(action, inputs.sequenceLengths, time, batch),
  }
}

/** Checks an opaque buffer, or a gradient or slot of the same layout. Throws as `checkTensor`. */
export function checkParams(
  action: string,
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  paramsSize: number,
  params: TensorLike,
): void {
  checkTensor(action, 'params', params, { dtype, shape: [paramsSize], layout: layoutKey(descriptor) })
}

/** Checks the arguments of `Rnn.backward` against the sizes of the forward. Throws as {@link checkForwardArguments}. */
export function checkBackwardArguments(
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  sizes: RnnPassSizes,
  { output, outputH, outputC }: RnnOutputGradients,
): void {
  const action = 'run backward'
  const shapes = passShapes(descriptor, sizes)
  if (output !== undefined) checkTensor(action, 'output', output, { dtype, shape: shapes.output })
  checkStates(action, descriptor, dtype, shapes, { outputH, outputC })
}

/** Checks an h and a c [L·D,B,·] given under these names; absent ones pass. */
function checkStates(
  action: string,
  { cellMode }: RnnDescriptor,
  dtype: FloatDType,
  { h, c }: PassShapes,
  states: Readonly<Record<string, TensorLike | null | undefined>>,
): void {
  for (const [name, state] of Object.entries(states)) {
    if (state === null || state === undefined) continue
    const shape = name.endsWith('C') ? c : h
    if (shape === undefined) {
      throw codedRangeError(
        'ERR_NO_CELL_STATE',
        `Cannot ${action} as ${name} exists for lstm only: current cellMode is ${cellMode}`,
        { argument: name },
      )
    }
    checkTensor(action, name, state, { dtype, shape })
  }
}

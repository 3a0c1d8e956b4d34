import {
  codedRangeError,
  hiddenColumns,
  layoutKey,
  numPseudoLayers,
  outputSize,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { TensorLike } from './backend_tensor.js'
import type { FloatDType } from './dtype.js'
import type { RnnForwardInputs, RnnOutputGradients } from './rnn.js'
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
  const rule = { dtype, shape: [paramsSize], layout: layoutKey(descriptor) }
  checkTensor(action, 'params', inputs.params, rule)
  checkStates(action, descriptor, dtype, batch, {
    inputH: inputs.inputH,
    inputC: inputs.inputC,
  })
  return {
    time,
    batch,
    sequenceLengths: checkSequenceLengths(action, inputs.sequenceLengths, time, batch),
  }
}

/** Checks the arguments of `Rnn.backward` against the sizes of the forward. Throws as {@link checkForwardArguments}. */
export function checkBackwardArguments(
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  { time, batch }: RnnPassSizes,
  gradients: RnnOutputGradients,
): void {
  const action = 'run backward'
  if (gradients.output !== undefined) {
    checkTensor(action, 'output', gradients.output, {
      dtype,
      shape: [time, batch, outputSize(descriptor)],
    })
  }
  checkStates(action, descriptor, dtype, batch, {
    outputH: gradients.outputH,
    outputC: gradients.outputC,
  })
}

/** Checks an h and a c [L·D,B,·] given under these names; absent ones pass. */
function checkStates(
  action: string,
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  batch: number,
  states: Readonly<Record<string, TensorLike | null | undefined>>,
): void {
  const layers = numPseudoLayers(descriptor)
  for (const [name, state] of Object.entries(states)) {
    if (state === null || state === undefined) continue
    const isCellState = name.endsWith('C')
    if (isCellState && descriptor.cellMode !== 'lstm') {
      throw codedRangeError(
        'ERR_NO_CELL_STATE',
        `Cannot ${action} as ${name} exists for lstm only: current cellMode is ${descriptor.cellMode}`,
        { argument: name },
      )
    }
    const columns = isCellState ? descriptor.numUnits : hiddenColumns(descriptor)
    checkTensor(action, name, state, {
      dtype,
      shape: [layers, batch, columns],
    })
  }
}

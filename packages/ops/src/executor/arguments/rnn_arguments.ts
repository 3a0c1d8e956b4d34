import { layoutKey, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { checkIsObject, codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType, Rnn, TensorLike } from '@cudnn-rnn/ops'
import { type ArgumentOwner, checkOwnTensors } from '../memory/executor_memory.js'
import { type PassShapes, passShapes } from './pass_shapes.js'
import { checkSequenceLengths } from './sequence_lengths.js'
import { checkTensor } from './tensor_arguments.js'

/** cuDNN refuses longer sequences; every executor does, so that a model runs on all of them. */
export const MAX_TIME_STEPS = 65_535

export type RnnForwardInputs = Parameters<Rnn['forward']>[0]

export type RnnOutputGradients = Parameters<Rnn['backward']>[1]

export interface RnnPassSizes {
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  readonly sequenceLengths: Int32Array | null
}

/** The tensors of a forward, as they were when they were checked. */
export type RnnForwardOperands = Pick<RnnForwardInputs, 'input' | 'inputH' | 'inputC' | 'params'>

/** The arguments of a forward, each read from its caller once. */
export interface CheckedForward {
  readonly sizes: RnnPassSizes
  readonly shapes: PassShapes
  readonly operands: RnnForwardOperands
  readonly training: boolean
}

/**
 * Checks the arguments of `Rnn.forward` against the descriptor, before anything is queued or written.
 *
 * @param executor its memory: backend tensors must be its own.
 * @param paramsSize elements of this executor's opaque buffer.
 * @throws as `checkTensor` and `checkSequenceLengths`; RangeError `ERR_TIME_STEPS` for T > 65,535,
 *   `ERR_EMPTY_BATCH` for T or B of 0, `ERR_NO_CELL_STATE` for inputC given to another cell than LSTM
 */
export function checkForwardArguments(
  executor: ArgumentOwner,
  descriptor: RnnDescriptor,
  paramsSize: number,
  inputs: RnnForwardInputs,
): CheckedForward {
  const action = 'run forward'
  checkIsObject(action, 'inputs', inputs)
  const { input: givenInput, inputH = null, inputC = null, params: givenParams, sequenceLengths, training } = inputs
  checkOwnTensors(executor, action, { input: givenInput, inputH, inputC, params: givenParams })
  const { dtype } = executor
  const input = checkTensor(action, 'input', givenInput, { dtype, shape: ['T', 'B', descriptor.inputSize] })
  const [time, batch] = input.shape as [number, number, number]
  if (time === 0 || batch === 0) {
    throw codedRangeError(
      'ERR_EMPTY_BATCH',
      `Cannot run forward as input [T,B,I] must have at least one time step and one row: current shape is [${input.shape.join(',')}]`,
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
  const params = checkParams(action, executor, descriptor, paramsSize, givenParams)
  const shapes = passShapes(descriptor, { time, batch })
  const { h, c } = shapes
  const operands = {
    input,
    inputH: checkState(action, 'inputH', inputH, dtype, h),
    inputC: checkState(action, 'inputC', inputC, dtype, cellShape(action, 'inputC', inputC, descriptor, c)),
    params,
  }
  return {
    sizes: { time, batch, sequenceLengths: checkSequenceLengths(action, sequenceLengths ?? null, time, batch) },
    shapes,
    operands,
    training: Boolean(training),
  }
}

/** Checks an opaque buffer, or a gradient or slot of the same layout; returns it and throws as `checkTensor`. */
export function checkParams(
  action: string,
  executor: ArgumentOwner,
  descriptor: RnnDescriptor,
  paramsSize: number,
  params: TensorLike,
): TensorLike {
  checkOwnTensors(executor, action, { params })
  return checkTensor(action, 'params', params, {
    dtype: executor.dtype,
    shape: [paramsSize],
    layout: layoutKey(descriptor),
  })
}

/** The gradients given to a backward, as they were when they were checked; null for absent ones. */
export type CheckedGradients = { readonly [Name in keyof RnnOutputGradients]-?: TensorLike | null }

/**
 * Checks the arguments of `Rnn.backward` against the sizes of the forward. Throws as {@link checkForwardArguments}.
 */
export function checkBackwardArguments(
  executor: ArgumentOwner,
  descriptor: RnnDescriptor,
  sizes: RnnPassSizes,
  gradients: RnnOutputGradients,
): CheckedGradients {
  const action = 'run backward'
  checkIsObject(action, 'gradients', gradients)
  const { output, outputH, outputC } = gradients
  checkOwnTensors(executor, action, { output, outputH, outputC })
  const { dtype } = executor
  const shapes = passShapes(descriptor, sizes)
  return {
    output: checkState(action, 'output', output, dtype, shapes.output),
    outputH: checkState(action, 'outputH', outputH, dtype, shapes.h),
    outputC: checkState(action, 'outputC', outputC, dtype, cellShape(action, 'outputC', outputC, descriptor, shapes.c)),
  }
}

function checkState(
  action: string,
  name: string,
  state: TensorLike | null | undefined,
  dtype: FloatDType,
  shape: readonly number[],
): TensorLike | null {
  return state === null || state === undefined ? null : checkTensor(action, name, state, { dtype, shape })
}

/** The shape of a cell state; throws as {@link checkCellState}. */
function cellShape(
  action: string,
  name: string,
  state: TensorLike | null | undefined,
  descriptor: RnnDescriptor,
  shape: PassShapes['c'],
): readonly number[] {
  checkCellState(action, name, state, descriptor)
  return shape ?? []
}

/** Throws RangeError `ERR_NO_CELL_STATE` if a cell state is given to a cell that has none. */
export function checkCellState(
  action: string,
  name: string,
  state: TensorLike | null | undefined,
  { cellMode }: RnnDescriptor,
): void {
  if (cellMode === 'lstm' || state === null || state === undefined) return
  throw codedRangeError(
    'ERR_NO_CELL_STATE',
    `Cannot ${action} as ${name} exists for lstm only: current cellMode is ${cellMode}`,
    { argument: name },
  )
}

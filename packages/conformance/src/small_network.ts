import type { Backend, BackendTensor, Rnn, RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import {
  createRnnDescriptor,
  type FloatArray,
  hiddenColumns,
  numPseudoLayers,
  outputSize,
  type RnnOptions,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { filled, filledCanonical } from './fills.js'
import { type TrainingResult, trainingForward } from './training_forward.js'

/** A network small enough to differentiate numerically, with everything a pass needs. */
export interface SmallNetwork {
  readonly rnn: Rnn
  readonly params: BackendTensor
  readonly inputs: {
    readonly input: Tensor<FloatArray>
    readonly inputH: Tensor<FloatArray>
    readonly inputC: Tensor<FloatArray> | null
  }
  readonly outputGradients: Readonly<Record<'output' | 'outputH', Tensor>> & { readonly outputC?: Tensor }
  readonly sequenceLengths: readonly number[] | null
  forward(training: true, replaced?: Readonly<Record<string, TensorLike>>): Promise<TrainingResult>
  forward(training: boolean, replaced?: Readonly<Record<string, TensorLike>>): Promise<RnnForwardResult>
  backward(result: RnnForwardResult): Promise<RnnInputGradients>
}

export const SMALL_TIME = 5
export const SMALL_BATCH = 3

/** Builds {@link SmallNetwork}; `options` override 2 layers of 3 units over inputs of 2. */
export function smallNetwork(
  backend: Backend,
  options: Partial<RnnOptions> & Pick<RnnOptions, 'cellMode'>,
  sequenceLengths: readonly number[] | null = null,
): SmallNetwork {
  const descriptor = createRnnDescriptor({
    numLayers: 2,
    numUnits: 3,
    inputSize: 2,
    inputMode: 'linear_input',
    ...options,
  })
  const isLstm = descriptor.cellMode === 'lstm'
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, backend.dtype))
  const hShape = [numPseudoLayers(descriptor), SMALL_BATCH, hiddenColumns(descriptor)]
  const cShape = [numPseudoLayers(descriptor), SMALL_BATCH, descriptor.numUnits]
  const make = (name: Parameters<typeof filled>[0], shape: readonly number[]) => filled(name, shape, backend.dtype)
  const inputs = {
    input: make('x', [SMALL_TIME, SMALL_BATCH, descriptor.inputSize]),
    inputH: make('h0', hShape),
    inputC: isLstm ? make('c0', cShape) : null,
  }
  const outputGradients = {
    output: make('dOutput', [SMALL_TIME, SMALL_BATCH, outputSize(descriptor)]),
    outputH: make('dOutputH', hShape),
    ...(isLstm && { outputC: make('dOutputC', cShape) }),
  }
  function forward(training: true, replaced?: Readonly<Record<string, TensorLike>>): Promise<TrainingResult>
  function forward(training: boolean, replaced?: Readonly<Record<string, TensorLike>>): Promise<RnnForwardResult>
  function forward(training: boolean, replaced = {}) {
    const given = { ...inputs, params, sequenceLengths, ...replaced }
    return training ? trainingForward(rnn, given) : rnn.forward({ ...given, training })
  }
  return {
    rnn,
    params,
    inputs,
    outputGradients,
    sequenceLengths,
    forward,
    // The executor refuses a result without a tape.
    backward: ({ tape }) => rnn.backward(tape as Tape, outputGradients),
  }
}

/** The elements of every tensor of a result, by name; undefined parts and the tape are left out. */
export async function readAll(result: object): Promise<Record<string, number[]>> {
  const values: Record<string, number[]> = {}
  for (const [name, tensor] of Object.entries(result) as [string, BackendTensor | undefined][]) {
    if (tensor === undefined || !('read' in tensor)) continue
    values[name] = Array.from((await tensor.read()).data)
  }
  return values
}

/** Σ results · their gradients: the loss whose gradient a backward returns. */
export async function lossOf(network: SmallNetwork, result: RnnForwardResult): Promise<number> {
  let loss = 0
  const values = await readAll(result)
  for (const [name, gradient] of Object.entries(network.outputGradients)) {
    for (const [index, value] of (values[name] ?? []).entries()) loss += value * gradient.data[index]
  }
  return loss
}

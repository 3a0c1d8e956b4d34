import { required } from '@cudnn-rnn/canonical/rules'
import { createRnnDescriptor, flatLayout, packCanonical, type Tensor, unpackCanonical } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import type { RawOptions, Values } from './raw_network.js'

/** The reference's float64 results of a padded pass, forward and backward, by cuDNN's names. */
export async function referencePass(options: RawOptions, given: Values): Promise<Values> {
  const { cellMode, numLayers, numUnits, inputSize, inputMode = 'linear_input', direction, numProj, biasMode } = options
  const sizes = { cellMode, numLayers, numUnits, inputSize, inputMode, direction, numProj, biasMode }
  const descriptor = createRnnDescriptor({ ...sizes, cellClip: options.cellClip })
  using backend = openReferenceBackend({ dtype: 'float64' })
  const rnn = backend.rnn(descriptor)
  const layout = flatLayout(descriptor)
  const params = rnn.canonicalToParams(unpackCanonical(layout, given['params']))
  const { time, batch } = options
  const rows = numLayers * (direction === 'bidirectional' ? 2 : 1)
  const outputs = (numProj ?? numUnits) * (direction === 'bidirectional' ? 2 : 1)
  const tensor = (name: string, shape: readonly number[]): Tensor | null =>
    given[name] === undefined ? null : { data: given[name], shape }
  const states = { h: [rows, batch, numProj ?? numUnits], c: [rows, batch, numUnits] }
  const run = await trainingForward(rnn, {
    input: required(tensor('x', [time, batch, inputSize]), 'every pass has an input'),
    inputH: tensor('hx', states.h),
    inputC: tensor('cx', states.c),
    params,
    sequenceLengths: options.lengths ?? null,
  })
  const gradients = await rnn.backward(run.tape, {
    output: tensor('dy', [time, batch, outputs]) ?? undefined,
    outputH: tensor('dhy', states.h) ?? undefined,
    outputC: tensor('dcy', states.c) ?? undefined,
  })
  const dw = packCanonical(layout, await rnn.paramsToCanonical(gradients.params), new Float64Array(layout.size))
  const read = async (from: typeof run.output | undefined) => Float64Array.from((await from?.read())?.data ?? [])
  return {
    y: await read(run.output),
    hy: await read(run.outputH),
    cy: await read(run.outputC),
    dx: await read(gradients.input),
    dhx: await read(gradients.inputH),
    dcx: await read(gradients.inputC),
    dw: Float64Array.from(dw),
  }
}

import { type Backend, type BackendTensor, DTYPES, type Tape } from '@cudnn-rnn/ops'
import { createRnnDescriptor, type FloatArray, layoutKey } from '@cudnn-rnn/canonical'
import { filledCanonical } from './fills.js'

const UNITS = 4

/** Row `row` of the data of {@link raggedReplica}: 1 to 6 steps. */
const timeOf = (row: number) => 1 + ((row * 5) % 6)
const featureOf = (row: number, step: number) => Math.sin(row + step / 2)

interface ReplicaResult {
  readonly loss: BackendTensor
  readonly gradients: readonly BackendTensor[]
  /** Steps of all rows: the mean gives every step the same weight. */
  readonly weight: number
}

/** A model on one executor: a GRU and a dense head over sequences of unequal length, given by the numbers of rows. */
export interface RaggedReplica extends Disposable {
  readonly variables: readonly { readonly name: string; readonly value: BackendTensor }[]
  readonly batchGradients: (rows: readonly number[]) => Promise<ReplicaResult>
}

/** Every replica begins with the same values. @param first changes the first value of the head's bias */
export function raggedReplica(backend: Backend, first = 0): RaggedReplica {
  const { ops, dtype } = backend
  const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 2, numUnits: UNITS, inputSize: 1 })
  const rnn = backend.rnn(descriptor)
  const array = (length: number, elementOf: (index: number) => number): FloatArray =>
    DTYPES[dtype].array.from(Array.from({ length }, (_, k) => elementOf(k)))
  const params = backend.zeros([rnn.paramsSize], { layout: layoutKey(descriptor) })
  {
    using initial = rnn.canonicalToParams(filledCanonical(descriptor, dtype))
    ops.assign(params, initial)
  }
  const kernel = backend.tensor({ data: array(UNITS, (k) => Math.cos(k)), shape: [UNITS, 1] })
  const bias = backend.tensor({ data: array(1, () => first), shape: [1] })
  return {
    variables: [
      { name: 'gru', value: params },
      { name: 'kernel', value: kernel },
      { name: 'bias', value: bias },
    ],
    async batchGradients(rows) {
      const sequenceLengths = rows.map(timeOf)
      const [time, batch] = [Math.max(...sequenceLengths), rows.length]
      const steps = (elementOf: (row: number, step: number) => number) =>
        array(time * batch, (k) => {
          const [step, index] = [Math.floor(k / batch), k % batch]
          return step < (sequenceLengths[index] as number) ? elementOf(rows[index] as number, step) : 0
        })
      const input = { data: steps(featureOf), shape: [time, batch, 1] }
      const targets = { data: steps((row, step) => Math.cos(row * step)), shape: [time, batch, 1] }
      const weights = { data: steps(() => 1), shape: [time, batch] }
      const states = { inputH: null, inputC: null }
      const forward = await rnn.forward({ input, ...states, params, sequenceLengths, training: true })
      using output = forward.output
      using predictions = ops.linear(output, kernel, bias)
      const { loss, gradient } = ops.elementLoss(predictions, targets, 'squared_error', weights)
      const top = ops.linearGradients(output, kernel, gradient)
      // A training forward has a tape.
      const bottom = await rnn.backward(forward.tape as Tape, { output: top.input })
      for (const tensor of [forward.outputH, gradient, top.input, bottom.input, bottom.inputH]) tensor.dispose()
      const weight = sequenceLengths.reduce((sum, length) => sum + length, 0)
      return { loss, gradients: [bottom.params, top.kernel, top.bias], weight }
    },
    [Symbol.dispose]() {
      for (const tensor of [params, kernel, bias]) tensor.dispose()
      rnn.dispose()
    },
  }
}

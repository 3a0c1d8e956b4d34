import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import type { CudnnBackend } from '@cudnn-rnn/cudnn'
import { wave } from './check.js'
import { timed } from './timing.js'

/** Sizes of a character model: embedding, LSTM layers, softmax over the vocabulary; clipping and Adam. */
export interface CharacterSizes {
  readonly vocabulary: number
  readonly embedding: number
  readonly units: number
  readonly layers: number
  readonly batch: number
  readonly time: number
}

/** Milliseconds of one whole training step; the loss is not read, as PyTorch's is not. */
export async function timeCharacterStep(
  backend: CudnnBackend,
  sizes: CharacterSizes,
  seconds: number,
): Promise<number> {
  const { vocabulary, embedding, units, layers, batch, time } = sizes
  const { ops } = backend
  const rnn = backend.rnn(
    createRnnDescriptor({
      ...{ cellMode: 'lstm', numLayers: layers, numUnits: units },
      ...{ inputSize: embedding, inputMode: 'linear_input' },
    }),
  )
  const filled = (shape: readonly number[]) => {
    const count = elementCount(shape)
    return backend.tensor({ data: Float32Array.from(wave(count, 0.1)), shape })
  }
  const shapes = [[vocabulary, embedding], [rnn.paramsSize], [units, vocabulary], [vocabulary]]
  const variables = shapes.map(filled)
  const [table, params, kernel, bias] = variables as [(typeof variables)[0], ...typeof variables]
  const moments = shapes.map((shape) => [backend.zeros(shape), backend.zeros(shape)] as const)
  const ids = backend.tensor({
    data: Int32Array.from({ length: time * batch }, (_, k) => k % vocabulary),
    shape: [time, batch],
  })
  let count = 0
  const step = async () => {
    const x = ops.embedding(table, ids)
    const run = await trainingForward(rnn, {
      ...{ input: x, inputH: null, inputC: null, params: params },
      ...{ sequenceLengths: null },
    })
    const logits = ops.linear(run.output, kernel, bias)
    const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, ids)
    const top = ops.linearGradients(run.output, kernel, logitsGradient)
    const bottom = await rnn.backward(run.tape, { output: top.input })
    const gradients = [ops.embeddingGradient(vocabulary, ids, bottom.input), bottom.params, top.kernel, top.bias]
    const norm = ops.clipByGlobalNorm(gradients, 5)
    count++
    for (const [index, variable] of variables.entries()) {
      ops.update('adam', variable, moments[index], gradients[index], { learningRate: 1e-3, step: count })
    }
    const made = [x, logits, loss, logitsGradient, norm, top.input, ...gradients]
    for (const tensor of [...made, ...Object.values(run), bottom.input, bottom.inputH, bottom.inputC]) tensor?.dispose()
  }
  return timed(backend, () => backend.steps.run(step), seconds)
}

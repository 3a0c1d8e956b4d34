import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import type { Backend } from '@cudnn-rnn/ops'

const [TIME, BATCH, VOCABULARY, COLUMNS, UNITS] = [4, 2, 7, 4, 8]

/** Embedding → LSTM → linear → cross-entropy, clipped and updated by Adam: the calls of one step as `fit` makes them. */
export function characterModel(backend: Backend) {
  const { ops } = backend
  const steps = backend.steps!
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: UNITS, inputSize: COLUMNS }))
  const shapes = [[VOCABULARY, COLUMNS], [rnn.paramsSize], [UNITS, VOCABULARY], [VOCABULARY]]
  const variables = shapes.map((shape) => backend.zeros(shape))
  const [table, params, kernel, bias] = variables as [(typeof variables)[0], ...typeof variables]
  const moments = shapes.map((shape) => [backend.zeros(shape), backend.zeros(shape)] as const)
  const ids = { data: new Int32Array(TIME * BATCH), shape: [TIME, BATCH] }
  const count = backend.zeros([])
  const one = backend.tensor({ data: Float32Array.of(1), shape: [] })
  const input = backend.zeros([TIME, BATCH, COLUMNS])

  async function inference(): Promise<void> {
    const { output, outputH, outputC } = await rnn.forward({
      ...{ input, inputH: null, inputC: null, params: params, sequenceLengths: null, training: false },
    })
    for (const tensor of [output, outputH, outputC]) tensor?.dispose()
  }

  /** One step of a character model, as `fit` queues it. */
  async function step(): Promise<void> {
    await steps.run(async () => {
      const x = ops.embedding(table, ids)
      const states = { inputH: null, inputC: null, sequenceLengths: null }
      const run = await rnn.forward({ input: x, params: params, training: true, ...states })
      const logits = ops.linear(run.output, kernel, bias)
      const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, ids)
      const top = ops.linearGradients(run.output, kernel, logitsGradient)
      const bottom = await rnn.backward(run.tape!, { output: top.input })
      const gradients = [ops.embeddingGradient(VOCABULARY, ids, bottom.input), bottom.params, top.kernel, top.bias]
      const norm = ops.clipByGlobalNorm(gradients, 5)
      steps.whereFinite([loss, norm], () => {
        ops.accumulate(count, one)
        for (const [index, variable] of variables.entries()) {
          ops.update('adam', variable, moments[index], gradients[index], { learningRate: 1e-3, step: count })
        }
      })
      const made = [x, run.output, run.outputH, run.outputC, logits, loss, logitsGradient, norm, top.input]
      for (const tensor of [...made, ...gradients, bottom.input, bottom.inputH, bottom.inputC]) tensor?.dispose()
    })
  }

  return { inference, step, count }
}

import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { createRnnDescriptor, elementCount, layoutKey } from '@cudnn-rnn/canonical'

const VOCABULARY = 7
const COLUMNS = 4
const UNITS = 6

export interface CharModelOptions {
  readonly dropout?: number
  readonly optimizer?: 'adam' | 'sgd'
  /** The loss is read before the backward, which divides the step. */
  readonly readsEarly?: boolean
  readonly sequenceLengths?: (step: number) => readonly number[] | null
}

/** Embedding → two-layer LSTM → two-layer GRU → linear → cross-entropy, with everything that training it needs. */
export function smallCharModel(backend: Backend, options: CharModelOptions = {}) {
  const { dropout = 0, optimizer = 'adam', readsEarly = false, sequenceLengths = () => null } = options
  const { ops, steps } = backend
  const layer = (cellMode: 'lstm' | 'gru', inputSize: number) =>
    createRnnDescriptor({ cellMode, numLayers: 2, numUnits: UNITS, inputSize, dropout, seed: 5 })
  const [lstmLayer, gruLayer] = [layer('lstm', COLUMNS), layer('gru', UNITS)]
  const [lstm, gru] = [backend.rnn(lstmLayer), backend.rnn(gruLayer)]
  const filled = (shape: readonly number[], layout?: string) => {
    const data = Float32Array.from({ length: elementCount(shape) }, (_, k) => 0.4 * Math.sin(3 * k + 1))
    const tensor = backend.zeros(shape, { layout })
    ops.accumulate(tensor, { data, shape })
    return tensor
  }
  const variables: BackendTensor[] = [
    filled([VOCABULARY, COLUMNS]),
    filled([lstm.paramsSize], layoutKey(lstmLayer)),
    filled([gru.paramsSize], layoutKey(gruLayer)),
    filled([UNITS, VOCABULARY]),
    filled([VOCABULARY]),
  ]
  const slots = variables.map(({ shape, layout }) => [0, 1].map(() => backend.zeros(shape, { layout })))
  let done = 0

  const ids = (step: number, batch: number, time: number) => ({
    data: Int32Array.from({ length: batch * time }, (_, k) => (k * 5 + 3 * step) % VOCABULARY),
    shape: [time, batch],
  })

  return {
    backend,
    lstm,
    gru,
    /** The saved state of a dropout generator, for tests that restore it. */
    kept: undefined as Uint8Array | undefined,
    variables,
    slots,
    losses: [] as number[],
    /** The LSTM's state for the next step; a new tensor after every step, as models keep it. */
    state: null as BackendTensor | null,
    /** One step: forward, backward, clipping, update; the loss and the norm are read at its end. */
    async step({ batch = 3, time = 5, learningRate = 0.05 } = {}): Promise<void> {
      const { inputs, labels } = { inputs: ids(done, batch, time), labels: ids(done + 1, batch, time) }
      const lengths = sequenceLengths(done)
      const before = this.state?.shape[1] === batch ? this.state : null
      const count = ++done
      const result = await steps!.run(async () => {
        const made: (BackendTensor | undefined)[] = []
        const x = ops.embedding(variables[0], inputs)
        const common = { sequenceLengths: lengths, training: true }
        const low = await lstm.forward({ input: x, inputH: before, inputC: null, params: variables[1], ...common })
        const states = { inputH: null, inputC: null }
        const high = await gru.forward({ input: low.output, ...states, params: variables[2], ...common })
        const logits = ops.linear(high.output, variables[3], variables[4])
        const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, labels)
        if (readsEarly) await loss.read()
        const top = ops.linearGradients(high.output, variables[3], logitsGradient)
        const middle = await gru.backward(high.tape!, { output: top.input })
        const bottom = await lstm.backward(low.tape!, { output: middle.input })
        const embedding = ops.embeddingGradient(VOCABULARY, inputs, bottom.input)
        const gradients = [embedding, bottom.params, middle.params, top.kernel, top.bias]
        const norm = ops.clipByGlobalNorm(gradients, 0.5)
        steps!.whereFinite([loss, norm], () => {
          for (const [k, gradient] of gradients.entries()) {
            const [first, second] = slots[k]
            if (optimizer === 'sgd') ops.update('sgd', variables[k], [], gradient, { learningRate })
            else ops.update('adam', variables[k], [first, second], gradient, { learningRate, step: count })
          }
        })
        made.push(x, low.output, low.outputC, high.output, high.outputH, logits, logitsGradient, top.input)
        made.push(middle.input, middle.inputH, bottom.input, bottom.inputH, bottom.inputC, ...gradients)
        for (const tensor of made) tensor?.dispose()
        return { loss, norm, state: low.outputH }
      })
      this.state?.dispose()
      this.state = result.state
      this.losses.push((await result.loss.read()).data[0], (await result.norm.read()).data[0])
      result.loss.dispose()
      result.norm.dispose()
    },
    /** Every loss, norm and variable, to be compared bit by bit. */
    async outcome(): Promise<number[][]> {
      const values: number[][] = [this.losses]
      for (const tensor of [...variables, ...slots.flat()]) values.push(Array.from((await tensor.read()).data))
      return values
    },
    dispose(): void {
      for (const tensor of [...variables, ...slots.flat(), this.state]) tensor?.dispose()
      lstm.dispose()
      gru.dispose()
    },
  }
}

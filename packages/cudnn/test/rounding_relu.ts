import type { Rnn, RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import { type CanonicalParams, createRnnDescriptor, numDirections, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { NetworkMaker } from '@cudnn-rnn/conformance'
import type { RnnForwardInputs, RnnOutputGradients } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** Numbers as the type under test stores them. */
type Round = (values: ArrayLike<number>) => Float64Array

/**
 * Relu networks of the reference in float64, taken one step of one layer at a time, so that `round` applies if cuDNN
 * stores numbers in its element type: to parameters, inputs, and every state on its way to the next step and layer.
 */
export function roundingRelu(round: Round): NetworkMaker {
  return { dtype: 'float64', rnn: (descriptor) => new RoundingRelu(descriptor, round) }
}

const reference = openReferenceBackend({ dtype: 'float64' })

/** One layer in one direction, with the outputs of its steps. */
interface PseudoLayer {
  readonly cell: Rnn
  readonly params: TensorLike
  readonly gradient: Float64Array
  /** By time step. */
  readonly tapes: Tape[]
}

class RoundingRelu implements ReturnType<NetworkMaker['rnn']> {
  readonly #network: RnnDescriptor
  readonly #directions: number
  readonly #round: Round
  #layers: readonly PseudoLayer[] = []

  constructor(network: RnnDescriptor, round: Round) {
    this.#network = network
    this.#directions = numDirections(network)
    this.#round = round
  }

  /** Keeps the parameters in this object; the returned tensor is a placeholder. */
  canonicalToParams({ weights, biases }: CanonicalParams) {
    const { numLayers, numUnits, inputSize, inputMode } = this.#network
    const pair = (tensors: CanonicalParams['weights'], k: number) =>
      tensors.slice(2 * k, 2 * k + 2).map(({ data, shape }) => ({ data: this.#round(data), shape }))
    this.#layers = Array.from({ length: numLayers * this.#directions }, (_, k) => {
      const below =
        k < this.#directions
          ? { inputSize, inputMode }
          : { inputSize: numUnits * this.#directions, inputMode: 'linear_input' as const }
      const cell = reference.rnn(createRnnDescriptor({ cellMode: 'rnn_relu', numLayers: 1, numUnits, ...below }))
      const params = cell.canonicalToParams({ weights: pair(weights, k), biases: pair(biases, k) })
      return { cell, params, gradient: new Float64Array(cell.paramsSize), tapes: [] }
    })
    return reference.zeros([0])
  }

  /** The gradient, for any arguments. */
  async paramsToCanonical(): Promise<CanonicalParams> {
    const parts = this.#layers.map(({ cell, gradient }) =>
      cell.paramsToCanonical({ data: gradient, shape: [cell.paramsSize] }),
    )
    const all = await Promise.all(parts)
    return { weights: all.flatMap(({ weights }) => weights), biases: all.flatMap(({ biases }) => biases) }
  }

  async forward({ input, inputH }: RnnForwardInputs): Promise<RnnForwardResult> {
    const [time = 0, batch = 0] = input.shape
    const { numUnits } = this.#network
    const firstStates = rows(this.#round(host(inputH!)), this.#layers.length)
    let x = rows(this.#round(host(input)), time)
    for (let first = 0; first < this.#layers.length; first += this.#directions) {
      const sides: Float64Array[][] = []
      for (const [direction, { cell, params, tapes }] of this.#layers
        .slice(first, first + this.#directions)
        .entries()) {
        const side: Float64Array[] = []
        let h = firstStates[first + direction]
        for (const t of timeOrder(time, direction)) {
          const step = { data: x[t], shape: [1, batch, x[t].length / batch] }
          const inputs = { input: step, inputH: { data: h, shape: [1, batch, numUnits] }, inputC: null, params }
          const { outputH, tape } = await cell.forward({ ...inputs, sequenceLengths: null, training: true })
          h = this.#round((await outputH.read()).data)
          side[t] = h
          tapes[t] = tape!
        }
        firstStates[first + direction] = h
        sides.push(side)
      }
      x = x.map((_, t) =>
        sideBySide(
          sides.map((side) => side[t]),
          batch,
        ),
      )
    }
    return {
      output: reference.tensor({ data: joined(x), shape: [time, batch, numUnits * this.#directions] }),
      outputH: reference.tensor({ data: joined(firstStates), shape: [this.#layers.length, batch, numUnits] }),
      outputC: undefined,
      // Stands for all of them.
      tape: this.#layers[0].tapes[0],
    }
  }

  async backward(_: Tape, { output, outputH }: RnnOutputGradients): Promise<RnnInputGradients> {
    const [time = 0, batch = 0] = output!.shape
    const { numUnits, inputSize } = this.#network
    const states = rows(host(outputH!), this.#layers.length)
    let above = rows(host(output!), time)
    for (let first = this.#layers.length - this.#directions; first >= 0; first -= this.#directions) {
      const below: Float64Array[] = above.map(() => new Float64Array(0))
      for (const [direction, layer] of this.#layers.slice(first, first + this.#directions).entries()) {
        let dh = states[first + direction]
        for (const t of timeOrder(time, direction).reverse()) {
          const dy = columns(above[t], batch, direction, this.#directions)
          const gradients = await layer.cell.backward(layer.tapes[t], {
            output: { data: dy, shape: [1, batch, numUnits] },
            outputH: { data: dh, shape: [1, batch, numUnits] },
          })
          dh = Float64Array.from((await gradients.inputH.read()).data)
          below[t] = sum(below[t], (await gradients.input.read()).data)
          layer.gradient.set(sum(layer.gradient, (await gradients.params.read()).data))
        }
        states[first + direction] = dh
      }
      above = below
    }
    return {
      input: reference.tensor({ data: joined(above), shape: [time, batch, inputSize] }),
      inputH: reference.tensor({ data: joined(states), shape: [this.#layers.length, batch, numUnits] }),
      inputC: undefined,
      params: reference.zeros([0]),
    }
  }
}

/** The steps in the order in which a direction takes them. */
function timeOrder(time: number, direction: number): number[] {
  const steps = Array.from({ length: time }, (_, t) => t)
  return direction === 0 ? steps : steps.reverse()
}

function host(tensor: TensorLike): Float64Array {
  return (tensor as { readonly data: Float64Array }).data
}

function rows(values: Float64Array, count: number): Float64Array[] {
  const size = values.length / count
  return Array.from({ length: count }, (_, k) => values.slice(k * size, (k + 1) * size))
}

function joined(parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => Array.from(part)))
}

/** Matrices of `batch` rows as one: [B,H] each to [B,D·H]. */
function sideBySide(parts: readonly Float64Array[], batch: number): Float64Array {
  const split = parts.map((part) => rows(part, batch))
  return joined(Array.from({ length: batch }, (_, b) => joined(split.map((part) => part[b]))))
}

/** The columns of one direction, [B,H] of [B,D·H]. */
function columns(matrix: Float64Array, batch: number, direction: number, directions: number): Float64Array {
  return joined(rows(matrix, batch).map((row) => rows(row, directions)[direction]))
}

function sum(a: Float64Array, b: ArrayLike<number>): Float64Array {
  return Float64Array.from(b, (value, k) => value + (a[k] ?? 0))
}

import type { FloatArray } from '@cudnn-rnn/canonical'
import { ACTIVATIONS, type ActivationFunction, SIGMOID } from './activation.js'
import type { GraphValue, StepGraph } from './step_graph.js'

/** f(x) of every element. */
export function activate(graph: StepGraph, x: GraphValue, { apply, slope }: ActivationFunction): GraphValue {
  const { data } = x
  const y = graph.newArray(data.length)
  for (let k = 0; k < y.length; k++) y[k] = apply(data[k])
  return graph.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += dy[k] * slope(y[k])
  })
}

/** σ(x + shift) */
export function sigmoid(graph: StepGraph, x: GraphValue, shift = 0): GraphValue {
  return activate(graph, shift === 0 ? x : affine(graph, x, 1, shift), SIGMOID)
}

export function tanh(graph: StepGraph, x: GraphValue): GraphValue {
  return activate(graph, x, ACTIVATIONS.tanh)
}

export function relu(graph: StepGraph, x: GraphValue): GraphValue {
  return activate(graph, x, ACTIVATIONS.relu)
}

/** scale·x + shift */
function affine(graph: StepGraph, x: GraphValue, scale: number, shift: number): GraphValue {
  const y = graph.newArray(x.data.length)
  for (let k = 0; k < y.length; k++) y[k] = scale * x.data[k] + shift
  return graph.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += scale * dy[k]
  })
}

/** a + b */
export function add(graph: StepGraph, a: GraphValue, b: GraphValue): GraphValue {
  const y = graph.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = a.data[k] + b.data[k]
  return graph.result(y, a.shape, (dy) => {
    addTo(a.gradient, dy)
    addTo(b.gradient, dy)
  })
}

/** a∘b */
export function multiply(graph: StepGraph, a: GraphValue, b: GraphValue): GraphValue {
  const y = graph.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = a.data[k] * b.data[k]
  return graph.result(y, a.shape, (dy) => {
    const da = a.gradient
    const db = b.gradient
    for (let k = 0; k < y.length; k++) {
      da[k] += dy[k] * b.data[k]
      db[k] += dy[k] * a.data[k]
    }
  })
}

/** g∘a + (1-g)∘b */
export function mix(graph: StepGraph, g: GraphValue, a: GraphValue, b: GraphValue): GraphValue {
  const y = graph.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = g.data[k] * a.data[k] + (1 - g.data[k]) * b.data[k]
  return graph.result(y, a.shape, (dy) => {
    const dg = g.gradient
    const da = a.gradient
    const db = b.gradient
    for (let k = 0; k < y.length; k++) {
      dg[k] += dy[k] * (a.data[k] - b.data[k])
      da[k] += dy[k] * g.data[k]
      db[k] += dy[k] * (1 - g.data[k])
    }
  })
}

/** x∘m with constants m, as many as x has elements, or one row of them for all rows. */
export function masked(graph: StepGraph, x: GraphValue, mask: FloatArray): GraphValue {
  const y = graph.newArray(x.data.length)
  for (let k = 0; k < y.length; k++) y[k] = x.data[k] * mask[k % mask.length]
  return graph.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += dy[k] * mask[k % mask.length]
  })
}

function addTo(target: FloatArray, source: FloatArray): void {
  for (let k = 0; k < target.length; k++) target[k] += source[k]
}

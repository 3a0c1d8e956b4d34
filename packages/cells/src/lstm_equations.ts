import type { LSTMStateTuple } from './cell_state.js'
import type { LSTMRule } from './lstm_rule.js'
import type { GraphStep, GraphValue, StepGraph } from './step_graph.js'

/**
 * A step of TensorFlow's LSTM cells as operations, which keep it on a device; the equations are those of `lstmGatesForward`.
 */
export function lstmEquations<Value extends GraphValue>(
  { forgetBias, cellClip, clipGradient, usePeepholes, numProj, projClip, ...rule }: LSTMRule,
  graph: StepGraph<Value>,
  x: Value,
  { c, h }: LSTMStateTuple<Value>,
): GraphStep<Value> {
  const peephole = (z: Value, cell: Value, name: string) => (usePeepholes ? graph.add(z, graph.scaled(cell, name)) : z)
  const { activation, recurrentActivation, stateActivation, preactivationClip } = rule
  const gate = (z: Value, shift = 0) => graph.activate(z, recurrentActivation, shift, preactivationClip)
  const [zi, zg, zf, zo] = graph.split(graph.linear([x, h], 'kernel', 'bias'), 4)
  const i = gate(peephole(zi, c, 'w_i_diag'))
  const f = gate(peephole(zf, c, 'w_f_diag'), forgetBias)
  const g = graph.activate(zg, activation, 0, preactivationClip)
  const next = graph.clip(graph.add(graph.multiply(f, c), graph.multiply(i, g)), cellClip, clipGradient)
  const o = gate(peephole(zo, next, 'w_o_diag'))
  const m = graph.multiply(o, graph.activate(next, stateActivation))
  const output = numProj === null ? m : graph.clip(graph.linear([m], 'projection/kernel'), projClip, 'zero_outside')
  return { output, state: { c: next, h: output } }
}

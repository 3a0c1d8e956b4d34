import type { KerasLayer } from './keras_layers.js'

export interface Added {
  readonly layer: KerasLayer
  /** Default: the place of its variables. */
  readonly name: string | undefined
  readonly calls: Call[]
}

/** A call of a layer; an input has one without sources. */
interface Call {
  readonly added: Added
  readonly sources: readonly Tensor[]
  /** Initial states. */
  readonly states: readonly Tensor[]
}

/** The first or a later tensor that a call gives. */
export type Tensor = readonly [call: Call, tensor: number]

export function called(added: Added, sources: readonly Tensor[], states: readonly Tensor[] = []): Tensor {
  const call = { added, sources, states }
  added.calls.push(call)
  return [call, 0]
}

/**
 * The layers, and the calls of each, on which outputs depend, and the inputs behind them in `ends`. They are in the order of Keras'
 * functional models, by which it finds variables in a file: by their distance from the outputs, and then as a search in depth meets
 * them.
 */
export function inKerasOrder(all: readonly Added[], ends: readonly Tensor[]): Added[] {
  const met = new Set<Added>()
  const seen = new Set<Call>()
  const done: Call[] = []
  /** Calls with the tensors before them that are not visited yet. */
  const open: { readonly call: Call; readonly rest: Iterator<Tensor> }[] = []
  const enter = ([call]: Tensor) => {
    if (seen.has(call)) return
    seen.add(call)
    met.add(call.added)
    open.push({ call, rest: [...call.sources, ...call.states].values() })
  }
  for (const end of ends) {
    enter(end)
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const { done: isDone, value } = last.rest.next()
      if (isDone === true) {
        done.push(last.call)
        open.pop()
      } else enter(value)
    }
  }
  const ofCalls = new Map<Call, number>()
  const ofLayers = new Map<Added, number>()
  for (const call of done.reverse()) {
    const distance = Math.max(ofCalls.get(call) ?? 0, ofLayers.get(call.added) ?? 0)
    ofLayers.set(call.added, distance)
    for (const [before] of [...call.sources, ...call.states]) {
      ofCalls.set(before, Math.max(distance + 1, ofCalls.get(before) ?? 0))
    }
  }
  for (const { calls } of all) calls.splice(0, calls.length, ...calls.filter((call) => seen.has(call)))
  // In the order in which they were met; a sort keeps it among equals.
  return [...met].sort((a, b) => (ofLayers.get(b) ?? 0) - (ofLayers.get(a) ?? 0))
}

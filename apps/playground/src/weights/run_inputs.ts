import type { WeightsRequest } from './weights_messages.js'

/** How the input of a run is made. */
export type Run = Omit<Extract<WeightsRequest, { kind: 'run' }>, 'kind' | 'network'>

/** A number for each step: the codes of a text, which has at least one, and otherwise zeros. */
export function symbolsOf({ input, text, steps }: Run): readonly number[] {
  if (input !== 'text') return Array<number>(steps).fill(0)
  const codes = [...text].map((symbol) => symbol.codePointAt(0) ?? 0)
  return codes.length === 0 ? [0] : codes
}

/** Numbers [T,I]. */
export function valuesOf(run: Run, length: number, size: number): Float32Array {
  const data = new Float32Array(length * size)
  if (run.input === 'random') return data.map(normal)
  if (run.input === 'impulse') return data.fill(1, 0, size)
  for (const [t, symbol] of symbolsOf(run).slice(0, length).entries()) data[t * size + (symbol % size)] = 1
  return data
}

/** A standard normal value, by Box and Muller. */
function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
}

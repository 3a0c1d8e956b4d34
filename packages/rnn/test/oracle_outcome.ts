import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { type ImportedCell, type ImportedNetwork, type ImportedWeights, importWeights } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { hasErrorCode, modelFromNetwork } from '../src/index.js'
import type { NetworkRunOptions } from '../src/model_from_network.js'
import type { OracleCall, OracleCase, Pack } from './oracle_pack.js'

/**
 * Outcome of a case: `agreed` and `refused` are right; in the others the library computed something else, or nothing,
 * without a word.
 */
export type OracleOutcome =
  | { readonly kind: 'agreed'; readonly worst: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'differs' | 'accepted' | 'missing' | 'misnamed' | 'unnoted' | 'misrefused'; readonly what: string }

type Floats = Tensor<FloatArray>
export type Found = ImportedNetwork | ImportedCell

/** float32 arithmetic of the frameworks against float64 here. */
export const TOLERANCE = 1e-5

/** Imports a case and, if it is not refused, compares every recorded call. */
export async function outcomeOf(pack: Pack, oracle: OracleCase): Promise<OracleOutcome> {
  const inputs = Object.entries(oracle.inputs ?? {}).map(([name, packed]) => [name, pack.array(packed)] as const)
  let imported: ImportedWeights
  try {
    imported = await importWeights(pack.file(oracle), {
      ...oracle.options,
      ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs) }),
    })
  } catch (error) {
    if (!hasErrorCode(error)) throw error
    if (oracle.expect === 'agree') return { kind: 'misrefused', what: error.message }
    const isReason = new RegExp(oracle.because!, 's').test(error.message)
    return isReason ? { kind: 'refused' } : { kind: 'misrefused', what: error.message }
  }
  if (oracle.expect === 'refuse') return { kind: 'accepted', what: `${imported.networks.length} networks` }
  return compared(pack, oracle, imported)
}

async function compared(
  pack: Pack,
  { calls = [], order, notes }: OracleCase,
  { networks, cells }: ImportedWeights,
): Promise<OracleOutcome> {
  const found: readonly Found[] = [...networks, ...cells]
  let worst = 0
  for (const call of calls) {
    const parts = (call.chain ?? [call.network!]).map((name) => partsOf(found, name))
    const missing = parts.findIndex((part) => part.length === 0)
    if (missing !== -1) {
      return { kind: 'missing', what: `${(call.chain ?? [call.network!])[missing]}: ${found.map(({ name }) => name)}` }
    }
    const difference = await differenceOf(pack, call, parts)
    if (!(difference <= TOLERANCE)) return { kind: 'differs', what: `${call.network} by ${difference}` }
    worst = Math.max(worst, difference)
    const said = parts.flat().flatMap((part) => part.notes)
    if (notes !== undefined && !said.some((note) => new RegExp(notes).test(note))) {
      return { kind: 'unnoted', what: `${notes}: ${said}` }
    }
  }
  const names = [networks.map(({ name }) => name), cells.map(({ name }) => name.replace(/\/(?:forward|backward)$/, ''))]
  for (const list of names) {
    const unique = [...new Set(list)]
    const inOrder = order === undefined ? unique : order.filter((name) => unique.includes(name))
    if (String(unique) !== String(inOrder)) return { kind: 'misnamed', what: `${unique} for ${inOrder}` }
  }
  return { kind: 'agreed', worst }
}

/** The network of that name, or the cells of its two directions. */
function partsOf(found: readonly Found[], name: string): Found[] {
  const whole = found.find((network) => network.name === name)
  if (whole !== undefined) return [whole]
  return found.filter((network) => network.name === `${name}/forward` || network.name === `${name}/backward`)
}

/** The largest difference of anything that was recorded; infinite for another shape. */
export async function differenceOf(
  pack: Pack,
  call: OracleCall,
  layers: readonly (readonly Found[])[],
): Promise<number> {
  const { lengths } = call
  const recorded = (key: 'initialH' | 'initialC') => (call[key] === undefined ? undefined : pack.array(call[key]))
  const [initialH, initialC] = [recorded('initialH'), recorded('initialC')]
  let x: Floats = pack.array(call.input)
  let result = { output: x, outputH: x, outputC: undefined as Floats | undefined }
  for (const directions of layers) {
    const sides = []
    for (const [side, network] of directions.entries()) {
      const own = (state: Floats | undefined) => (directions.length === 1 ? state : state && sideOf(state, side))
      const options = {
        ...(lengths && { sequenceLengths: lengths }),
        ...(initialH && { inputH: own(initialH) }),
        ...(initialC && { inputC: own(initialC) }),
      }
      sides.push(await run(network, x, options))
    }
    result = sides.length === 1 ? sides[0]! : joined(sides)
    x = result.output
  }
  const isReading = layers.at(-1)!.some((network) => network.outputReversed)
  return Math.max(
    distance(call.output && pack.array(call.output), result.output, isReading ? undefined : lengths),
    distance(call.last && pack.array(call.last), columnsOf(result.outputH)),
    distance(call.finalH && pack.array(call.finalH), result.outputH),
    distance(call.finalC && pack.array(call.finalC), result.outputC),
  )
}

async function run(network: Found, x: Floats, options: NetworkRunOptions) {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const { output, outputH, outputC } = await modelFromNetwork(backend, network).run(x, options)
  return { output, outputH, outputC }
}

function sideOf({ data, shape }: Floats, side: number): Floats {
  const size = data.length / 2
  return { data: data.slice(side * size, (side + 1) * size), shape: [1, ...shape.slice(1)] }
}

/** Both directions of a layer, as a bidirectional network gives them. */
function joined(sides: readonly Awaited<ReturnType<typeof run>>[]) {
  const [one, other] = [sides[0]!, sides[1]!]
  const [T, B, H] = one.output.shape as [number, number, number]
  const data = new Float64Array(2 * T * B * H)
  for (let row = 0; row < T * B; row++) {
    for (const [side, { output }] of [one, other].entries()) {
      data.set(output.data.subarray(row * H, (row + 1) * H), (2 * row + side) * H)
    }
  }
  const both = (a: Floats, b: Floats) => ({
    data: Float64Array.of(...a.data, ...b.data),
    shape: [2, ...a.shape.slice(1)],
  })
  const outputC = one.outputC && other.outputC && both(one.outputC, other.outputC)
  return { output: { data, shape: [T, B, 2 * H] }, outputH: both(one.outputH, other.outputH), outputC }
}

/** [D,B,H] as [B,D·H]: the last output of each direction side by side. */
function columnsOf({ data, shape }: Floats): Floats {
  const [D, B, H] = shape as [number, number, number]
  const columns = data.slice()
  for (let d = 0; d < D; d++) {
    for (let b = 0; b < B; b++) columns.set(data.subarray((d * B + b) * H, (d * B + b + 1) * H), (b * D + d) * H)
  }
  return { data: columns, shape: [B, D * H] }
}

/**
 * The largest difference within `lengths`, where padding is the framework's own affair, over the largest element if that
 * exceeds 1: outputs of unbounded activations have no more digits than others.
 */
export function distance(
  expected: Floats | undefined,
  actual: Floats | undefined,
  lengths?: readonly number[],
): number {
  if (expected === undefined) return 0
  if (actual === undefined || String(actual.shape) !== String(expected.shape)) return Number.POSITIVE_INFINITY
  const [, B, N] = expected.shape as [number, number, number]
  let [largest, scale] = [0, 1]
  for (const [index, value] of expected.data.entries()) {
    const [t, b] = [Math.floor(index / (B * N)), Math.floor(index / N) % B]
    if (lengths !== undefined && t >= lengths[b]!) continue
    const difference = Math.abs(value - actual.data[index]!)
    largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(largest, difference)
    scale = Math.max(scale, Math.abs(value))
  }
  return largest / scale
}

import { required } from '@cudnn-rnn/canonical/rules'
import { gatesOf } from '@cudnn-rnn/canonical'
import type { DeviceSession } from '@cudnn-rnn/cudnn/validation'
import { type CheckGroup, distance, wave, withSession } from '../check.js'
import { judged, nameOf, noted } from '../outcome.js'
import { RawNetwork, type RawOptions, type Values } from '../raw_network.js'
import { referencePass } from '../reference_pass.js'

const BASE = { numLayers: 2, numUnits: 8, inputSize: 5, time: 7, batch: 3, lengths: [7, 3, 5] } as const
const RESULTS = ['y', 'hy', 'cy', 'dx', 'dhx', 'dcx', 'dw'] as const
const TOLERANCE = 1e-5
/** A value that no kernel writes. */
const UNTOUCHED = 123

/** Section 6: what cuDNN does with rows of unequal length, measured without the executor's corrections. */
export const padding: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { report } = context
    for (const cellMode of ['lstm', 'gru', 'rnn_tanh'] as const) {
      for (const direction of ['unidirectional', 'bidirectional'] as const) {
        const name = `${cellMode} ${direction}`
        const options = { ...BASE, cellMode, direction }
        const attempt = async (id: string, what: string, check: () => Promise<void>) => {
          try {
            await check()
          } catch (error) {
            report({ id, what: `${name}: ${what}`, expected: 'an answer', measured: nameOf(error), verdict: 'fail' })
          }
        }
        const values = inputs(options)
        const expected = await referencePass(options, values)

        for (const fill of [0, 7, null]) {
          await attempt('6.1', `fill ${fill}`, async () => {
            const results = await pass(session, { ...options, fill }, values)
            const past = pastTheEnd(results['y'], options)
            const what = `${name}: y past a row's end with fill ${fill}`
            if (fill === null) report(noted('6.1', what, range(past)))
            else
              report(
                judged(
                  '6.1',
                  what,
                  `${fill} everywhere`,
                  range(past),
                  past.every((v) => v === fill),
                ),
              )
            const dx = pastTheEnd(results['dx'], options)
            report(noted('6.2', `${name}: dx past a row's end with fill ${fill}`, range(dx)))
          })
        }
        await attempt('6.3', 'dy of NaN past the end', async () => {
          const dy = values['dy'].map((value, k) => (isPast(k, values['dy'].length, options) ? Number.NaN : value))
          const [spoilt, clean] = [
            await pass(session, options, { ...values, dy }),
            await pass(session, options, values),
          ]
          const worst = worstOf(spoilt, clean, options, ['dx', 'dhx', 'dcx', 'dw'])
          const what = `${name}: gradients with dy NaN past a row's end`
          report(judged('6.3', what, 'as with any other dy there', worst, worst === 0))
        })
        await attempt('6.6', 'against the reference', async () => {
          const worst = worstOf(await pass(session, options, values), expected, options, RESULTS)
          const what = `${name}: every result of rows 7, 3 and 5 within them, hy at each row's own last step`
          report(judged('6.6', what, `within ${TOLERANCE} of the reference`, worst, worst <= TOLERANCE))
        })
        await attempt('6.7', 'packed', () => packed(session, options, `${name}: `, report))
      }
    }
  })

/** Rows and device lengths that nothing is promised of; `argument` of the group names one. */
const ODD = {
  'rows of length 0': { lengths: [7, 0, 5] },
  'only rows of length 0': { lengths: [0, 0, 0] },
  'no device lengths': { shownLengths: null },
  // In a range that kernels which read them can take.
  'wrong device lengths': { shownLengths: [1, 1, 1] },
} as const
export const ODD_ROWS = Object.keys(ODD)

/** Section 6, last: inputs that may end the process, each kind in a separate process. */
export const oddRows: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const id = `6.${8 + ODD_ROWS.indexOf(context.argument)}`
    for (const cellMode of ['lstm', 'gru', 'rnn_tanh'] as const) {
      for (const direction of ['unidirectional', 'bidirectional'] as const) {
        const options = { ...BASE, cellMode, direction, ...ODD[context.argument as keyof typeof ODD] }
        const values = inputs(options)
        const what = `${cellMode} ${direction}: ${context.argument}`
        try {
          const [results, expected] = [await pass(session, options, values), await referencePass(options, values)]
          const wrong = RESULTS.filter((name) => !(worstOf(results, expected, options, [name]) <= TOLERANCE))
          context.report(noted(id, what, wrong.length === 0 ? 'as the reference' : `other ${wrong.join(', ')}`))
        } catch (error) {
          context.report(noted(id, what, nameOf(error)))
        }
      }
    }
  })

/** The same rows, packed and padded, longest first as packing needs. */
async function packed(
  session: DeviceSession,
  options: RawOptions,
  name: string,
  report: Parameters<CheckGroup>[0]['report'],
) {
  const sorted = { ...options, lengths: [7, 5, 3] }
  const values = inputs(sorted)
  const within = (array: Float64Array) => array.filter((_, k) => !isPast(k, array.length, sorted))
  const padded = await pass(session, sorted, values)
  const given = { ...values, x: within(values['x']), dy: within(values['dy']) }
  const results = await pass(session, { ...sorted, layout: 'packed' }, given)
  const worst = Math.max(
    ...(['y', 'dx'] as const).map((key) => distance(results[key], within(padded[key]))),
    ...(['hy', 'dhx', 'dw'] as const).map((key) => distance(results[key], padded[key])),
  )
  report(judged('6.7', `${name}packed and padded rows`, `within ${TOLERANCE} of each other`, worst, worst <= TOLERANCE))
}

function inputs(options: RawOptions): Values {
  const directions = options.direction === 'bidirectional' ? 2 : 1
  const { numLayers, numUnits, inputSize, time, batch } = options
  const states = numLayers * directions * batch * numUnits
  const gates = gatesOf(options.cellMode).length
  let params = 0
  for (let layer = 0; layer < numLayers; layer++) {
    const columns = layer === 0 ? inputSize : directions * numUnits
    params += directions * gates * numUnits * (columns + numUnits + 2)
  }
  return {
    x: wave(time * batch * inputSize, 1),
    hx: wave(states, 0.5, 0.53),
    ...(options.cellMode === 'lstm' && { cx: wave(states, 0.5, 0.61), dcy: wave(states, 0.4, 0.67) }),
    params: wave(params, 0.4, 0.77),
    dy: wave(time * batch * directions * numUnits, 0.7, 0.43),
    dhy: wave(states, 0.6, 0.57),
  }
}

/** Forward and both backwards; y and dx hold {@link UNTOUCHED} before. */
async function pass(session: DeviceSession, options: RawOptions, values: Values): Promise<Values> {
  using network = await RawNetwork.make(session, options)
  const { sizes } = network
  await network.set({
    ...values,
    y: new Float64Array(sizes.y).fill(UNTOUCHED),
    dx: new Float64Array(sizes.x).fill(UNTOUCHED),
  })
  await network.run((list) => network.forward(list))
  await network.run((list) => network.backwardData(list))
  await network.run((list) => network.backwardWeights(list))
  return network.get(...RESULTS)
}

/** The largest difference over `names`; of sequences, over the steps within each row's length only. */
function worstOf(actual: Values, expected: Values, options: RawOptions, names: readonly string[]): number {
  let worst = 0
  for (const name of names) {
    if (actual[name] === undefined || expected[name].length === 0) continue
    const isSequence = name === 'y' || name === 'dx'
    const within = (array: Float64Array) =>
      isSequence ? array.filter((_, k) => !isPast(k, array.length, options)) : array
    const found = distance(within(actual[name]), within(expected[name]))
    if (Number.isNaN(found)) return found
    worst = Math.max(worst, found)
  }
  return worst
}

/** True for element `k` of a padded sequence of `elements` past its row's end. */
function isPast(k: number, elements: number, { time, batch, lengths }: RawOptions): boolean {
  const columns = elements / (time * batch)
  const vector = Math.floor(k / columns)
  return Math.floor(vector / batch) >= required(lengths, 'padding is checked with given lengths')[vector % batch]
}

function pastTheEnd(array: Float64Array, options: RawOptions): number[] {
  return Array.from(array).filter((_, k) => isPast(k, array.length, options))
}

function range(values: readonly number[]): string {
  if (values.some(Number.isNaN)) return 'NaN among them'
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const untouched = low === UNTOUCHED && high === UNTOUCHED ? ' (not written)' : ''
  return low === high ? `${low}${untouched}` : `${low} … ${high}`
}

import { required } from '@cudnn-rnn/canonical/rules'
import {
  CELL_MODES,
  type CellMode,
  createRnnDescriptor,
  flatLayout,
  gatesOf,
  numPseudoLayers,
  type RnnDescriptor,
  type RnnOptions,
} from '@cudnn-rnn/canonical'
import { arithmeticOf, type RnnDescriptorId, setRnnDescriptor } from '@cudnn-rnn/cudnn/validation'
import { Philox } from '@cudnn-rnn/ops/executor'
import { type CheckContext, type CheckGroup, withSession } from '../check.js'
import { judged, noted } from '../outcome.js'
import { RawNetwork, type RawOptions } from '../raw_network.js'

/** The same networks on every machine. */
function draws(seed: number) {
  const random = new Philox(seed)
  return <Item>(items: readonly Item[]): Item => items[Math.floor(random.uniform() * items.length)]
}

const MODES = Object.keys(CELL_MODES) as CellMode[]
const PRECISIONS = ['float32', 'float16', 'bfloat16', 'float64'] as const

/** Section 3: the closed forms of the weight layout and of the reserve space, against the library with a real handle. */
export const layout: CheckGroup = async (context) => {
  await weights(context)
  await reserves(context)
}

const weights = ({ options, isQuick, report, deadline }: CheckContext) =>
  withSession({ options }, async (session) => {
    const draw = draws(1)
    const count = isQuick ? 60 : 4000
    let asked = 0
    const differing: object[] = []
    for (; asked < count && performance.now() < deadline; asked++) {
      const cellMode = draw(MODES)
      const numUnits = draw([1, 3, 5, 8, 16, 17, 64, 96, 128, 192, 256, 384, 512, 1024, 1536])
      const numProj = cellMode === 'lstm' && numUnits > 8 ? draw([undefined, 3, 8]) : undefined
      const skip = draw([false, false, true])
      const shape: RnnOptions = {
        ...{ cellMode, numUnits, numProj, numLayers: draw([1, 2, 3]) },
        inputSize: skip ? numUnits : draw([1, 3, 8, 17, 64]),
        inputMode: skip ? 'skip_input' : 'linear_input',
        direction: draw(['unidirectional', 'bidirectional'] as const),
        biasMode: draw(['none', 'single_input', 'double', 'single_recurrent'] as const),
      }
      const network = createRnnDescriptor(shape)
      const precision = draw(PRECISIONS)
      const arithmetic = arithmeticOf(
        precision === 'float64' ? 'float64' : 'float32',
        precision === 'float64' ? undefined : precision,
      )
      const descriptor = session.newId<RnnDescriptorId>()
      const list = session.list('query the layout')
      setRnnDescriptor(list, descriptor, network, {
        ...{ arithmetic, algorithm: 'standard', dropout: null, hasPaddedIo: true },
      })
      const linearLayers = 2 * gatesOf(cellMode).length + (numProj === undefined ? 0 : 1)
      list.add('weightSpaceSize', { descriptor })
      const weightSpaceSize = flatLayout(network).size * arithmetic.bytes
      for (let pseudoLayer = 0; pseudoLayer < numPseudoLayers(network); pseudoLayer++) {
        for (let linLayerID = 0; linLayerID < linearLayers; linLayerID++) {
          list.add('weightParams', { descriptor, pseudoLayer, weightSpaceSize, linLayerID })
        }
      }
      const numbers = await session.run(list)
      session.destroy(descriptor)
      if (!agrees(network, numbers, linearLayers, arithmetic.bytes)) differing.push({ ...shape, precision })
    }
    const measured = { asked, differing: differing.length, examples: differing.slice(0, 5) }
    report(judged('3.1', 'weight layouts', 'the closed form', measured, differing.length === 0 && asked > 0))
  })

function agrees(network: RnnDescriptor, numbers: Float64Array, linearLayers: number, bytes: number): boolean {
  const form = flatLayout(network)
  if (numbers[0] !== form.size * bytes) return false
  return [...form.weights, ...form.biases].every(({ pseudoLayer, linLayerId, kind, size, offset }) => {
    const at = 1 + (pseudoLayer * linearLayers + linLayerId) * 6 + (kind === 'weight' ? 0 : 3)
    return numbers[at] === (size === 0 ? -1 : offset * bytes)
  })
}

const reserves = ({ options, isQuick, report, deadline }: CheckContext) =>
  withSession({ options }, async (session) => {
    const draw = draws(2)
    const counted = { asked: 0, refused: 0, differing: 0, examples: [] as object[] }
    const workspaces: object[] = []
    const count = isQuick ? 40 : 1000
    for (; counted.asked < count && performance.now() < deadline; counted.asked++) {
      const cellMode = draw(MODES)
      const numUnits = draw([32, 64, 128, 512, 1024])
      const [time, batch] = [draw([1, 7, 70]), draw([1, 8, 64])]
      const all: RawOptions = {
        ...{ cellMode, numUnits, time, batch, precision: draw(PRECISIONS), numLayers: draw([1, 2, 3]) },
        inputSize: draw([32, numUnits]),
        direction: draw(['unidirectional', 'bidirectional'] as const),
        numProj: cellMode === 'lstm' ? draw([undefined, undefined, 32]) : undefined,
        lengths: Array.from({ length: batch }, () => draw([time, time, 1, Math.ceil(time / 2)])),
      }
      const shape = all.numProj === numUnits ? { ...all, numProj: undefined } : all
      try {
        using network = await RawNetwork.make(session, shape)
        const expected = reserveBytes(shape)
        if (workspaces.length < 8) workspaces.push({ ...shape, lengths: undefined, bytes: network.workspaceBytes })
        if (network.reserveBytes === expected) continue
        counted.differing++
        if (counted.examples.length < 5) counted.examples.push({ ...shape, expected, measured: network.reserveBytes })
      } catch {
        counted.refused++
      }
    }
    const holds = counted.differing === 0 && counted.refused < counted.asked
    // Another release may need other sizes: the executor queries them.
    report(noted('3.2', holds ? 'reserve spaces: the closed form' : 'reserve spaces: not the closed form', counted))
    report(noted('3.3', 'work spaces', workspaces))
    for (const [precision, batch, work, reserve] of [
      ['float32', 1, 17_363_200, 717_056],
      ['float32', 64, 54_264_064, 45_875_456],
      ['float16', 64, 31_326_464, 22_937_856],
      ['float64', 64, 100_139_264, 91_750_656],
    ] as const) {
      const shape = { cellMode: 'lstm', numLayers: 1, numUnits: 512, inputSize: 512, time: 70, batch } as const
      using network = await RawNetwork.make(session, { ...shape, precision, layout: 'packed' })
      const measured = { work: network.workspaceBytes, reserve: network.reserveBytes }
      const what = `LSTM 512, T 70, B ${batch}, ${precision}, without padding: work ${work} and reserve ${reserve} bytes in 9.24`
      report(noted('3.4', what, measured))
    }
  })

/** S·H·bytes of everything a backward reads again, and 256; without dropout, H a multiple of 32. */
function reserveBytes({ cellMode, numUnits, numLayers, direction, lengths, numProj, precision }: RawOptions): number {
  const directions = direction === 'bidirectional' ? 2 : 1
  const bytes = { float64: 8, float32: 4, tf32: 4, tf32x3: 4, float16: 2, bfloat16: 2 }[precision ?? 'float32']
  const steps = required(lengths, 'the sizes of reserve spaces are checked with given lengths').reduce(
    (sum, n) => sum + n,
    0,
  )
  const slots = { lstm: 5, gru: 6, rnn_relu: 1, rnn_tanh: 1 }[cellMode]
  const perLayer = numProj === undefined ? slots * numUnits : 6 * numUnits + numProj
  return bytes * steps * (numLayers * directions * perLayer + (numLayers - 1) * directions * numUnits) + 256
}

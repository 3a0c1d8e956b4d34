// Compares this project's assumptions about cuDNN with a real library, on a machine that needs no GPU:
//
//     npm run build && node scripts/testing/real_libraries/descriptors.mjs FOLDER [--brief]
//
// FOLDER holds libcudnn.so.9 and its sub-libraries (pip install nvidia-cudnn-cu13: …/site-packages/nvidia/cudnn/lib).
// It prints one JSON line per check and exits with 1 when one disagrees. --brief compares the layout of every seventh network.
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { createRnnDescriptor, flatLayout, gatesOf, numPseudoLayers } from '../../../packages/canonical/dist/index.js'

const folder = process.argv[2]
if (folder === undefined) throw new Error('Usage: node descriptors.mjs FOLDER')
const prebuilds = new URL('../../../native/cudnn/prebuilds/', import.meta.url)
const [platform] = readdirSync(prebuilds)
const addon = createRequire(import.meta.url)(new URL(`${platform}/cudnn_rnn_cudnn.node`, prebuilds).pathname)
const { CommandList, messageOf } = await commandLists()

/** The executor's command lists, which this script has run without a device. */
async function commandLists() {
  const folder = new URL('../../../packages/cudnn/src/device/', import.meta.url).pathname
  const contents = "export * from './command_list.ts'; export * from './command_queue.ts'"
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: folder },
    ...{ bundle: true, format: 'esm', platform: 'node', write: false },
  })
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
}

let lastId = 0
const session = { newId: () => ++lastId }

/** Runs what `add` adds and returns what cuDNN reports. Throws its refusal. */
function run(add) {
  const list = new CommandList(session, 'describe')
  add(list)
  const { message, count } = messageOf(list, {}, [], new Float64Array(0))
  return addon.runWithoutDevice(libraries, message, count, list.sources)
}

let failed = false
const report = (check, passed, fields) => {
  console.log(JSON.stringify({ check, passed, ...fields }))
  failed ||= !passed
}

const shim = join(folder, 'libcudnn.so.9')
for (const part of ['graph', 'ops', 'adv']) {
  const { error } = addon.openLibrary(join(folder, `libcudnn_${part}.so.9`))
  if (error !== undefined) report('open', false, { part, error })
}
const { error } = addon.openLibrary(shim)
const { libraries, missing, cudnnVersion, cudnnCudart } = addon.bindLibraries({ cudnn: shim })
report('load', error === undefined && libraries !== null, { shim, missing, cudnnVersion, cudnnCudart })
report('sub-libraries are of one version', addon.versionConflict(libraries) === '', {})

const MODES = { rnn_relu: 0, rnn_tanh: 1, lstm: 2, gru: 3 }
const BIASES = { none: 0, single_input: 1, double: 2, single_recurrent: 3 }
// [dataType, mathPrecision, bytes]
const TYPES = {
  float32: [0, 0, 4],
  float64: [1, 1, 8],
  'float16/32': [2, 0, 2],
  'float16/16': [2, 2, 2],
  bfloat16: [9, 0, 2],
}

/** What `run` reports of cuDNN's descriptor of a network and `add`; or the name of the status that refused it. */
function describe(
  { algorithm: algo = 0, mode, bias = 'double', bidirectional = 0, skip = 0, type = 'float32', ...sizes },
  add = () => {},
) {
  const [dataType, mathPrec] = TYPES[type] ?? type
  const { input, hidden, projection = hidden, layers = 1, math = 0, flags = 1 } = sizes
  try {
    return run((list) => {
      const descriptor = session.newId()
      list.add('setRnnDescriptor', {
        ...{ descriptor, algo, cellMode: MODES[mode], biasMode: BIASES[bias], dirMode: bidirectional, inputMode: skip },
        ...{ dataType, mathPrec, mathType: math, inputSize: input, hiddenSize: hidden, projSize: projection },
        ...{ numLayers: layers, dropout: null, auxFlags: flags, clip: null },
      })
      add(list, descriptor)
    })
  } catch (refusal) {
    return refusal.statusName
  }
}

// ---- the layout of weights -------------------------------------------------------------------------------------------

const started = performance.now()
const stride = process.argv.includes('--brief') ? 7 : 1
let [networks, tried, accepted, differing] = [0, 0, 0, 0]
const examples = []
for (const mode of Object.keys(MODES)) {
  for (const bias of Object.keys(BIASES)) {
    for (const bidirectional of [0, 1]) {
      for (const skip of [0, 1]) {
        for (const hidden of [1, 3, 5, 8, 16, 17, 64, 96, 128, 192, 256, 384, 512, 1024, 1536]) {
          for (const input of [1, 3, 8, 17, 64]) {
            for (const projection of [hidden, 3, 8]) {
              for (const layers of [1, 2, 3])
                checkLayouts({ mode, bias, bidirectional, skip, hidden, input, projection, layers })
            }
          }
        }
      }
    }
  }
}
report('weight layout', differing === 0, {
  tried,
  accepted,
  differing,
  examples,
  seconds: (performance.now() - started) / 1000,
})

/** One network in every element type and algorithm. */
function checkLayouts(network) {
  const { mode, bias, bidirectional, skip, hidden, input, projection, layers } = network
  // cuDNN takes skip_input for any size here and refuses it in the forward; this project refuses it at creation.
  if (skip && input !== hidden) return
  if (projection > hidden || (projection < hidden && mode !== 'lstm')) return
  if (networks++ % stride > 0) return
  const descriptor = createRnnDescriptor({
    cellMode: mode,
    numLayers: layers,
    numUnits: hidden,
    inputSize: input,
    inputMode: skip ? 'skip_input' : 'linear_input',
    direction: bidirectional ? 'bidirectional' : 'unidirectional',
    numProj: projection < hidden ? projection : undefined,
    biasMode: bias,
  })
  const layout = flatLayout(descriptor)
  const linearLayers = 2 * gatesOf(mode).length + (projection < hidden ? 1 : 0)
  for (const [type, [, , bytes]] of Object.entries(TYPES)) {
    for (const algorithm of [0, 1, 2, 3]) {
      tried++
      if (typeof describe({ ...network, type, algorithm }) === 'string') continue
      accepted++
      const numbers = describe({ ...network, type, algorithm }, (list, rnn) => {
        list.add('weightSpaceSize', { descriptor: rnn })
        const weightSpaceSize = layout.size * bytes
        for (let pseudoLayer = 0; pseudoLayer < numPseudoLayers(descriptor); pseudoLayer++) {
          for (let linLayerID = 0; linLayerID < linearLayers; linLayerID++) {
            list.add('weightParams', { descriptor: rnn, pseudoLayer, weightSpaceSize, linLayerID })
          }
        }
      })
      if (typeof numbers !== 'string' && agrees(layout, numbers, linearLayers, bytes)) continue
      differing++
      if (examples.length < 5) examples.push({ ...network, type, algorithm })
    }
  }
}

function agrees(layout, numbers, linearLayers, bytes) {
  if (numbers[0] !== layout.size * bytes) return false
  return [...layout.weights, ...layout.biases].every(({ pseudoLayer, linLayerId, kind, size, offset, shape }) => {
    const at = 1 + (pseudoLayer * linearLayers + linLayerId) * 6 + (kind === 'weight' ? 0 : 3)
    if (size === 0) return numbers[at] === -1
    const [rows, columns = 1] = shape
    return numbers[at] === offset * bytes && numbers[at + 1] === rows && numbers[at + 2] === columns
  })
}

// ---- descriptors that are legal and illegal --------------------------------------------------------------------------

const base = { mode: 'lstm', input: 8, hidden: 16 }
const BAD = 'CUDNN_STATUS_BAD_PARAM'
const UNSUPPORTED = 'CUDNN_STATUS_NOT_SUPPORTED'
const DESCRIPTORS = [
  ['an LSTM', base, 'accepted'],
  ['input size 0', { ...base, input: 0 }, BAD],
  ['hidden size 0', { ...base, hidden: 0, projection: 1 }, BAD],
  ['no layers', { ...base, layers: 0 }, BAD],
  ['100000 layers', { ...base, layers: 100_000 }, 'accepted'],
  ['a projection of an LSTM', { ...base, projection: 8 }, 'accepted'],
  ['a projection larger than the state', { ...base, projection: 17 }, UNSUPPORTED],
  ['a projection of a GRU', { ...base, mode: 'gru', projection: 8 }, UNSUPPORTED],
  ['projection size 0', { ...base, projection: 0 }, BAD],
  ['flag 2', { ...base, flags: 2 }, BAD],
  ['float16 summed in float16', { ...base, type: [2, 2] }, 'accepted'],
  ['bfloat16 summed in float32', { ...base, type: [9, 0] }, 'accepted'],
  ['bfloat16 summed in bfloat16', { ...base, type: [9, 9] }, UNSUPPORTED],
  ['float32 summed in float64', { ...base, type: [0, 1] }, UNSUPPORTED],
  ['float64 summed in float32', { ...base, type: [1, 0] }, UNSUPPORTED],
  ...[1, 2, 3].flatMap((algorithm) => [
    [`algorithm ${algorithm}`, { ...base, algorithm }, 'accepted'],
    [`algorithm ${algorithm} with a projection`, { ...base, algorithm, projection: 8 }, UNSUPPORTED],
    [`algorithm ${algorithm} with a single bias`, { ...base, algorithm, bias: 'single_input' }, UNSUPPORTED],
    [`algorithm ${algorithm} in bfloat16`, { ...base, algorithm, type: 'bfloat16' }, 'accepted'],
    [
      `algorithm ${algorithm} in float64`,
      { ...base, algorithm, type: 'float64' },
      algorithm === 2 ? 'accepted' : UNSUPPORTED,
    ],
  ]),
  ['algorithm 4', { ...base, algorithm: 4 }, BAD],
]
for (const [what, network, expected] of DESCRIPTORS) {
  const result = describe(network)
  const actual = typeof result === 'string' ? result : 'accepted'
  report('descriptor', actual === expected || actual.startsWith(`${expected}_`), { what, expected, actual })
}

// ---- sequences -------------------------------------------------------------------------------------------------------

const SEQUENCES = [
  ['lengths in any order, zero among them', [0, 5, 2, [5, 0]], 'accepted'],
  ['all rows empty', [0, 5, 2, [0, 0]], 'accepted'],
  ['a length beyond the end', [0, 5, 2, [5, 6]], BAD],
  ['a negative length', [0, 5, 2, [5, -1]], BAD],
  ['65,535 steps', [0, 65_535, 1, [65_535]], 'accepted'],
  ['65,536 steps', [0, 65_536, 1, [65_536]], UNSUPPORTED],
  ['integers', [4, 5, 1, [5]], UNSUPPORTED],
]
for (const [what, [dtype, time, batch, lengths], expected] of SEQUENCES) {
  let actual = 'accepted'
  try {
    run((list) =>
      list.add('setDataDescriptor', {
        ...{ descriptor: session.newId(), dtype, layout: 0, maxSeqLength: time, batchSize: batch, vectorSize: 8 },
        ...{ seqLengthArray: Int32Array.from(lengths), paddingFill: new Uint8Array(8) },
      }),
    )
  } catch (refusal) {
    actual = refusal.statusName
  }
  report('sequence', actual === expected || actual.startsWith(`${expected}_`), { what, expected, actual })
}
process.exitCode = failed ? 1 : 0

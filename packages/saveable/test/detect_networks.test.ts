import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import {
  CudnnGRUSaveable,
  CudnnLSTMSaveable,
  CudnnRNNReluSaveable,
  CudnnRNNTanhSaveable,
  detectNetworks,
  RNNParamsSaveable,
} from '../src/index.js'
import { build, type Case, MODELS } from './small_models.js'

const CELL_SAVEABLES = {
  CudnnLSTM: CudnnLSTMSaveable,
  CudnnGRU: CudnnGRUSaveable,
  CudnnRNNRelu: CudnnRNNReluSaveable,
  CudnnRNNTanh: CudnnRNNTanhSaveable,
}

const CASES: Case[] = [
  ...(Object.keys(MODELS) as (keyof typeof MODELS)[]).flatMap((model): Case[] => [
    { model },
    { model, direction: 'bidirectional' },
    { model, numLayers: 11, numUnits: 2, inputSize: 3 },
  ]),
  { model: 'CudnnLSTM', numProj: 4, direction: 'bidirectional' },
]

const FORMS = ['default', 'tf-1.2', 'tf-1.3', 'cells'] as const

function saved(options: Case, form: (typeof FORMS)[number], name?: string) {
  const { model, params } = build(options)
  const [to, from] = [model.paramsToCanonical, model.canonicalToParams]
  const saveable =
    form === 'cells'
      ? new CELL_SAVEABLES[options.model](to, from, [params], { scope: name })
      : new RNNParamsSaveable(to, from, [params], name)
  return { descriptor: model.descriptor, tensors: saveable.tensors(form === 'cells' ? 'default' : form) }
}

describe('detectNetworks', () => {
  it.each(CASES.flatMap((options) => FORMS.map((form) => ({ form, ...options }))))(
    'finds the structure in the keys: %o',
    async ({ form, ...options }) => {
      const { descriptor, tensors } = saved(options, form, 'outer/encoder')
      const shapes = [...(await tensors)].map(([key, { shape }]) => ({ key, shape }))
      const [network, ...others] = detectNetworks([...shapes, { key: 'outer/dense/kernel', shape: [3, 4] }])
      expect(others).toEqual([])
      expect(network).toMatchObject({ name: 'outer/encoder', keys: shapes.map(({ key }) => key) })
      const { cellMode, ...sizes } = descriptor
      const twins = cellMode.startsWith('rnn_') ? ['rnn_relu', 'rnn_tanh'] : [cellMode]
      expect(network!.structures).toEqual(twins.map((mode) => ({ ...sizes, cellMode: mode })))
    },
  )

  it('gives the name that reads the keys again where no scope was written', async () => {
    for (const [form, name] of [
      ['tf-1.2', 'params_canonical'],
      ['tf-1.3', 'params_canonical'],
      ['cells', ''],
    ] as const) {
      const shapes = [...(await saved({ model: 'CudnnLSTM' }, form).tensors)].map(([key, { shape }]) => ({
        key,
        shape,
      }))
      expect(detectNetworks(shapes)).toMatchObject([{ form: form, name }])
    }
  })

  it('lists all structures of ambiguous sizes: two layers of one direction, or one layer of two', async () => {
    const { tensors } = saved({ model: 'CudnnGRU', numLayers: 2, numUnits: 4, inputSize: 4 }, 'tf-1.2')
    const [network] = detectNetworks([...(await tensors)].map(([key, { shape }]) => ({ key, shape })))
    const gru = network!.structures.filter(({ cellMode }) => cellMode === 'gru')
    expect(gru.map(({ numLayers, direction }) => [numLayers, direction])).toEqual([
      [2, 'unidirectional'],
      [1, 'bidirectional'],
    ])
  })

  it('lists no structure when a tensor is missing, and ignores optimizer slots of cells', async () => {
    const { tensors } = saved({ model: 'CudnnLSTM' }, 'cells')
    const shapes = [...(await tensors)].map(([key, { shape }]) => ({ key, shape }))
    expect(detectNetworks(shapes.slice(1))).toMatchObject([{ structures: [] }])
    const slots = shapes.map(({ key, shape }) => ({ key: `${key}/Adam`, shape }))
    expect(detectNetworks([...shapes, ...slots])).toEqual(detectNetworks(shapes))
  })
})

// Two checkpoints of Calamari OCR, trained by TensorFlow 1.x on a GPU; only their indexes are kept.
const calamari = fileURLToPath(new URL('../../../../shared/models/5_calamari_tf1_cudnnlstm_index/', import.meta.url))
const there = existsSync(calamari)

describe.skipIf(!there)(`Calamari's checkpoints${there ? '' : ` (skipped: ${calamari} is absent)`}`, () => {
  it('list exactly as Fraktur.expected.txt specifies', async () => {
    const expected = [
      ...readFileSync(`${calamari}Fraktur.expected.txt`, 'utf8').matchAll(
        /^(\S+) dtype \[1\] shape \[(.*)\] off \d+ size (\d+)$/gm,
      ),
    ].map(([, key, shape, size]) => `${key} float32 [${shape!.replaceAll(' ', '')}] ${size}`)
    const reader = await openCheckpoint(`${calamari}Fraktur.ckpt`)
    expect(expected.length).toBeGreaterThan(20)
    expect(
      reader.names().map((key) => `${key} ${reader.dtype(key)} [${reader.shape(key)}] ${reader.byteLength(key)}`),
    ).toEqual(expected)
  })

  it.each([
    ['Fraktur', 'cudnn_lstm'],
    ['18th_century_french_0', 'cnn_lstm/cudnn_lstm'],
  ])('%s holds a bidirectional CudnnLSTM as buffer and as cells in %s', async (name, scope) => {
    const reader = await openCheckpoint(`${calamari}${name}.ckpt`)
    const networks = detectNetworks(reader.names().map((key) => ({ key, shape: reader.shape(key) })))
    const structure = { cellMode: 'lstm', direction: 'bidirectional', numLayers: 1, numUnits: 200, inputSize: 720 }
    expect(networks).toMatchObject([
      { form: 'opaque', name: scope, structures: [structure] },
      { form: 'cells', name: scope, structures: [structure] },
    ])
  })
})

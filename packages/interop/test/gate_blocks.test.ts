import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type Convention, importWeights, type WeightFile } from '../src/index.js'
import { compute } from './fixture.js'

/** Element k is 0.5·sin(seed + k). */
const fill = (seed: number, ...shape: readonly number[]) => {
  const length = shape.reduce((count, size) => count * size, 1)
  return { shape, data: Array.from({ length }, (_, k) => 0.5 * Math.sin(seed + k)) }
}
type Numbers = ReturnType<typeof fill>

const turned = ({ shape: [rows, columns], data }: Numbers) => ({
  shape: [columns!, rows!],
  data: data.map((_, k) => data[(k % rows!) * columns! + Math.floor(k / rows!)]!),
})

function fileOf(format: WeightFile['format'], arrays: Readonly<Record<string, Numbers>>): WeightFile {
  const tensors = Object.entries(arrays).map(([name, { shape, data }]) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => Float32Array.from(data),
  }))
  return { format, path: 'made', tensors, close: async () => undefined }
}

async function lastStep(file: WeightFile, convention?: Convention) {
  const { networks, unusedTensors } = await importWeights(file, { convention })
  expect([networks.length, unusedTensors.length]).toEqual([1, 0])
  const { output } = await compute(networks[0]!, fill(0, 3, 1, 2))
  return [...output.data].slice(-2).map((value) => Number(value.toFixed(6)))
}

const [W, R, b] = [fill(1, 2, 8), fill(2, 2, 8), fill(3, 8)]
const lstm = { kernel: W, recurrent_kernel: R, bias: b }
// Results of the equations in float64, gates i,f,g,o and i,g,f,o.
const IFGO = [0.127498, 0.11632]
const IGFO = [-0.133783, -0.003008]

describe('importWeights of an LSTM whose matrices hold its gates', () => {
  it.each(['npz', 'pytorch', 'safetensors'] as const)(
    'requires whose names are those of Keras and Haste in %s',
    async (format) => {
      for (const prefix of ['', 'rnn.', 'net/']) {
        const file = fileOf(format, Object.fromEntries(Object.entries(lstm).map(([name, own]) => [prefix + name, own])))
        await expect(importWeights(file)).rejects.toThrow(coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['convention'] }))
        expect(await lastStep(file, 'keras')).toEqual(IFGO)
        expect(await lastStep(file, 'haste')).toEqual(IGFO)
      }
    },
  )

  it('requires the convention where a program names the tensors of PyTorch so, as g2p_en does', async () => {
    const zeros = { shape: [8], data: b.data.map(() => 0) }
    const own = { enc_w_ih: turned(W), enc_w_hh: turned(R), enc_b_ih: b, enc_b_hh: zeros }
    await expect(importWeights(fileOf('npz', own))).rejects.toThrow(
      coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['convention'] }),
    )
    expect(await lastStep(fileOf('npz', own), 'pytorch')).toEqual(IFGO)
  })

  it.each<[string, Readonly<Record<string, Numbers>>]>([
    ['Equinox', { 'c.weight_ih': turned(W), 'c.weight_hh': turned(R), 'c.bias': b }],
    ['MLX', { 'c.Wx': turned(W), 'c.Wh': turned(R), 'c.bias': b }],
    ['MLX before 0.18', { Wx: W, Wh: R, bias: b }],
    ['Flax nnx', { 'c.dense_i.kernel': W, 'c.dense_h.kernel': R, 'c.dense_h.bias': b }],
  ])('reads those of %s', async (_, arrays) => {
    expect(await lastStep(fileOf('safetensors', arrays))).toEqual(IFGO)
  })

  it('requires a convention for names of Equinox in a file of PyTorch, whose modules may have them', async () => {
    const file = fileOf('pytorch', { weight_ih: turned(W), weight_hh: turned(R), bias: b })
    await expect(importWeights(file)).rejects.toThrow(coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['convention'] }))
    expect(await lastStep(file, 'equinox')).toEqual(IFGO)
  })

  it('reads the names of nnx.LSTMCell, where `if` has a line below', async () => {
    const column = ({ shape: [rows], data }: Numbers, gate: number) => ({
      shape: [rows!, 2],
      data: data.filter((_, k) => Math.floor((k % 8) / 2) === gate),
    })
    const cell = [...'ifgo'].flatMap((letter, gate) => {
      const own = letter === 'f' ? 'if_' : `i${letter}`
      const bias = { shape: [2], data: b.data.slice(2 * gate, 2 * gate + 2) }
      return [
        [`cell.${own}.kernel`, column(W, gate)],
        [`cell.h${letter}.kernel`, column(R, gate)],
        [`cell.h${letter}.bias`, bias],
      ] as const
    })
    expect(await lastStep(fileOf('safetensors', Object.fromEntries(cell)))).toEqual(IFGO)
  })
})

describe('importWeights of a GRU whose matrices hold its gates', () => {
  const [w, r, bias, n] = [fill(1, 2, 6), fill(2, 2, 6), fill(3, 6), fill(4, 2)]
  const zeros = (length: number) => ({ shape: [length], data: new Array<number>(length).fill(0) })
  const ofNew = { shape: [6], data: [0, 0, 0, 0, ...n.data] }
  const torch = (bias_ih: Numbers, bias_hh: Numbers) =>
    fileOf('pytorch', { weight_ih_l0: turned(w), weight_hh_l0: turned(r), bias_ih_l0: bias_ih, bias_hh_l0: bias_hh })
  const keras = (second: Numbers) =>
    fileOf('npz', { kernel: w, recurrent_kernel: r, bias: { shape: [2, 6], data: [...bias.data, ...second.data] } })

  it.each<[string, WeightFile, Convention | undefined, WeightFile]>([
    [
      'Equinox',
      fileOf('npz', { weight_ih: turned(w), weight_hh: turned(r), bias, bias_n: n }),
      undefined,
      torch(bias, ofNew),
    ],
    ['MLX before 0.18', fileOf('npz', { Wx: w, Wh: r, b: bias, bhn: n }), undefined, torch(bias, ofNew)],
    ['MLX', fileOf('npz', { Wx: turned(w), Wh: turned(r), b: bias, bhn: n }), 'mlx', torch(bias, ofNew)],
    [
      'Flax nnx',
      fileOf('npz', { 'dense_i.kernel': w, 'dense_h.kernel': r, 'dense_i.bias': bias }),
      undefined,
      torch(bias, zeros(6)),
    ],
    [
      'Haste',
      fileOf('pytorch', { kernel: w, recurrent_kernel: r, bias, recurrent_bias: fill(5, 6) }),
      undefined,
      keras(fill(5, 6)),
    ],
  ])('computes with those of %s the same numbers as under other names', async (_, file, convention, same) => {
    expect(await lastStep(file, convention)).toEqual(await lastStep(same))
  })

  it('requires a convention for MLX, whose first step has no bhn without a state', async () => {
    await expect(importWeights(fileOf('npz', { Wx: turned(w), Wh: turned(r), b: bias, bhn: n }))).rejects.toThrow(
      coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['convention'] }),
    )
  })
})

describe('importWeights of weight drop', () => {
  const [ih, hh] = [turned(W), turned(R)]
  const biases = { bias_ih_l0: b, bias_hh_l0: { shape: [8], data: new Array<number>(8).fill(0) } }
  const at = (prefix: string, arrays: Readonly<Record<string, Numbers>>) =>
    Object.fromEntries(Object.entries(arrays).map(([name, own]) => [prefix + name, own]))

  it.each<[string, Readonly<Record<string, Numbers>>]>([
    ['in its module', at('rnns.0.module.', { weight_ih_l0: ih, weight_hh_l0_raw: hh, ...biases })],
    [
      'around its module, where a copy with dropped elements is',
      {
        'rnns.0.weight_hh_l0_raw': hh,
        ...at('rnns.0.module.', { weight_ih_l0: ih, weight_hh_l0: fill(9, 8, 2), ...biases }),
      },
    ],
  ])('takes the raw matrix %s', async (_, arrays) => {
    expect(await lastStep(fileOf('pytorch', arrays))).toEqual(IFGO)
  })
})

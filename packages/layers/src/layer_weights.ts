import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  codedRangeError,
  FUNCTION,
  fields,
  integerFrom,
  listOf,
  oneOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import type { StoredTensor, WeightFile } from '@cudnn-rnn/interop'
import { columnFactors, diagonal } from './kinds/column_factors.js'
import { transpose } from './kinds/transpose.js'

type Floats = Tensor<FloatArray>

/** Options of layers with the tensors of a file, by the kind of its layer. */
interface LayerWeights {
  /** Options of {@link dense}: a linear layer. */
  readonly dense: { readonly units: number; readonly kernelInitializer: Floats; readonly biasInitializer: Floats | 0 }
  /** Options of {@link dense}: the inference of a batch normalization, a factor and an offset of each column. */
  readonly batchNorm: LayerWeights['dense']
  /** Options of {@link embedding}. */
  readonly embedding: { readonly size: number; readonly units: number; readonly initializer: Floats }
  /** Options of {@link conv1d}: strides and padding are not in a file. */
  readonly conv1d: {
    readonly filters: number
    readonly kernelSize: number
    readonly kernelInitializer: Floats
    readonly biasInitializer: Floats | 0
  }
  /** Options of {@link layerNorm}; `epsilon` is the default of the file's framework. */
  readonly layerNorm: {
    readonly epsilon: number
    readonly gammaInitializer: Floats
    readonly betaInitializer: Floats | 0
  }
  /** Options of {@link multiHeadAttention}: `heads` and `keySize`, the columns of a head, are not in a file. */
  readonly multiHeadAttention: { readonly initializers: Readonly<Record<string, Floats>> }
}

type LayerKind = keyof LayerWeights

/** The names of a framework's tensors, in the order in which `make` takes them; the axes of the first in the order of TensorFlow. */
interface Names {
  readonly names: readonly string[]
  readonly axes?: readonly number[]
  readonly epsilon?: number
}

interface Kind<Options> {
  /** Axes of the first tensor, which must be there. */
  readonly rank: number
  readonly frameworks: readonly Names[]
  /** Undefined for tensors that the layer does not compute. */
  readonly make: (tensors: readonly (Floats | undefined)[], epsilon: number) => Options | undefined
}

const orZero = (tensor: Floats | undefined) => tensor ?? (0 as const)
const sizesOf = ({ shape }: Floats) => shape as readonly [number, number, number]

/** By names of PyTorch, of TensorFlow and Flax, and of the places in files of Keras 3. */
const KINDS: { readonly [Name in LayerKind]: Kind<LayerWeights[Name]> } = {
  dense: {
    rank: 2,
    frameworks: [
      { names: ['.weight', '.bias'], axes: [1, 0] },
      { names: ['/kernel', '/bias'] },
      { names: ['/vars/0', '/vars/1'] },
    ],
    make: ([kernel, bias]) => denseOf(kernel as Floats, bias),
  },
  embedding: {
    rank: 2,
    frameworks: [{ names: ['.weight'] }, { names: ['/embedding'] }, { names: ['/embeddings'] }, { names: ['/vars/0'] }],
    make: ([table]) => {
      const [size, units] = sizesOf(table as Floats)
      return { size, units, initializer: table as Floats }
    },
  },
  conv1d: {
    rank: 3,
    frameworks: [
      { names: ['.weight', '.bias'], axes: [2, 1, 0] },
      { names: ['/kernel', '/bias'] },
      { names: ['/vars/0', '/vars/1'] },
    ],
    make: ([kernel, bias]) => {
      const [kernelSize, , filters] = sizesOf(kernel as Floats)
      return { filters, kernelSize, kernelInitializer: kernel as Floats, biasInitializer: orZero(bias) }
    },
  },
  layerNorm: {
    rank: 1,
    frameworks: [
      { names: ['.weight', '.bias'], epsilon: 1e-5 },
      { names: ['/scale', '/bias'], epsilon: 1e-6 },
      { names: ['/gamma', '/beta'], epsilon: 1e-3 },
      { names: ['/vars/0', '/vars/1'], epsilon: 1e-3 },
    ],
    make: ([gamma, beta], epsilon) => {
      return { epsilon, gammaInitializer: gamma as Floats, betaInitializer: orZero(beta) }
    },
  },
  batchNorm: {
    rank: 1,
    frameworks: [
      { names: ['.running_mean', '.running_var', '.weight', '.bias'], epsilon: 1e-5 },
      { names: ['/moving_mean', '/moving_variance', '/gamma', '/beta'], epsilon: 1e-3 },
    ],
    make: ([mean, variance, gamma, beta], epsilon) => {
      const { factors, offsets } = columnFactors({ mean, variance, gamma, beta }, (mean as Floats).data.length, epsilon)
      return denseOf(diagonal([factors]), { data: offsets, shape: [offsets.length] })
    },
  },
  multiHeadAttention: {
    rank: 2,
    frameworks: [
      { names: ['.in_proj_weight', '.in_proj_bias', '.out_proj.weight', '.out_proj.bias', '.bias_k', '.bias_v'] },
    ],
    make: ([kernel, bias, output, outputBias, ...added]) => {
      // add_bias_kv: a key and a value that belong to no step.
      if (output === undefined || added.some((each) => each !== undefined)) return undefined
      const parts = ['query', 'key', 'value'].flatMap((name, part) => [
        [name, transpose(third(kernel as Floats, part), [1, 0])],
        [`${name}_bias`, bias && third(bias, part)],
      ])
      const all = [...parts, ['output', transpose(output, [1, 0])], ['output_bias', outputBias]]
      return { initializers: Object.fromEntries(all.filter(([, tensor]) => tensor !== undefined)) }
    },
  },
}

/** PyTorch's `weight_norm` stores the lengths and the directions of the rows of a weight, under the names of either release. */
const NORMED = [
  ['_g', '_v', '.weight'],
  ['.original0', '.original1', '.parametrizations.weight'],
] as const

/** A weight that is stored, or the one that `weight_norm` computes. */
function weightOf(stored: ReadonlyMap<string, StoredTensor>, name: string, own: string): StoredTensor | undefined {
  const [lengths, rows] =
    NORMED.map(([g, v, weight]) =>
      [`${name}${weight}${g}`, `${name}${weight}${v}`].map((each) => stored.get(each)),
    ).find((pair) => pair.every((each) => each !== undefined)) ?? []
  if (own !== '.weight' || lengths === undefined || rows === undefined) return stored.get(`${name}${own}`)
  return { ...rows, read: async () => normed(await lengths.read(), lengths.shape, await rows.read(), rows.shape) }
}

/** lengths · rows / |rows|, where a row has the elements at one place of the axis that the lengths have. */
function normed(
  lengths: FloatArray,
  shape: readonly number[],
  rows: FloatArray,
  rowsShape: readonly number[],
): FloatArray {
  const axis = shape.findIndex((size) => size !== 1)
  const inner = axis === -1 ? rows.length : elementCount(rowsShape.slice(axis + 1))
  const rowOf = (place: number) => Math.floor(place / inner) % lengths.length
  const squares = new Float64Array(lengths.length)
  for (const [place, element] of rows.entries()) squares[rowOf(place)] = (squares[rowOf(place)] ?? 0) + element ** 2
  return rows.map((element, place) => {
    const row = rowOf(place)
    return ((lengths[row] ?? 0) * element) / Math.sqrt(squares[row] ?? 0)
  })
}

/** One of three equal parts along the first axis. */
function third({ data, shape: [rows = 0, ...rest] }: Floats, part: number): Floats {
  const length = data.length / 3
  return { data: data.subarray(part * length, (part + 1) * length), shape: [rows / 3, ...rest] }
}

function denseOf(kernel: Floats, bias: Floats | undefined): LayerWeights['dense'] {
  return { units: sizesOf(kernel)[1], kernelInitializer: kernel, biasInitializer: orZero(bias) }
}

const FILE = fields({ tensors: listOf(fields({ name: TEXT, shape: listOf(integerFrom(0)), read: FUNCTION })) })
const KIND = oneOf(Object.keys(KINDS) as LayerKind[])

/**
 * The options with which a layer computes one of a file: PyTorch's `Linear`, `Embedding`, `Conv1d`, `LayerNorm`, `BatchNorm1d`
 * and `MultiheadAttention` ("fc": `fc.weight`, `fc.bias`), and all but the last of TensorFlow, Flax and Keras ("head":
 * `head/kernel`, `head/bias`). No size is typed twice.
 *
 *     dense({ ...(await layerWeights('dense', file, 'fc')), activation: 'relu' })
 *     multiHeadAttention({ heads: 4, keySize: 16, ...(await layerWeights('multiHeadAttention', file, 'attention')) })
 *
 * `weight_norm` of PyTorch is computed. A batch normalization becomes a dense layer of its factors and offsets in inference.
 *
 * @param kind `dense`, `embedding`, `conv1d`, `layerNorm`, `batchNorm` or `multiHeadAttention`
 * @param file open, as `openWeightFile` returns it
 * @param name the prefix of its tensors
 * @throws RangeError `ERR_INVALID_OPTION` if the file has no such layer of that name; TypeError `ERR_INVALID_OPTION_TYPE`; errors
 *   of reading the file
 * @example
 * ```ts
 * import { cudnnLSTM, dense, importWeights, openBackend, sequential } from '@cudnn-rnn/rnn'
 * import { openWeightFile } from '@cudnn-rnn/rnn/interop'
 * import { layerWeights } from '@cudnn-rnn/rnn/layers'
 *
 * const file = await openWeightFile('../fixtures/interop/guide/sine.pt')
 * const network = (await importWeights(file)).network()
 * const head = dense(await layerWeights('dense', file, 'model.head'))
 * await file.close()
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnLSTM({ network }), head])
 * const { shape } = await model.predict({ data: new Float32Array(20), shape: [20, 1, 1] })
 * console.log(shape) // [20, 1, 1]
 * ```
 */
export async function layerWeights<Name extends LayerKind>(
  kind: Name,
  file: WeightFile,
  name: string,
): Promise<LayerWeights[Name]> {
  checkArguments('read a layer', { kind, file, name }, { kind: KIND, file: FILE, name: TEXT })
  const { rank, frameworks, make } = KINDS[kind] as Kind<LayerWeights[Name]>
  const stored = new Map(file.tensors.map((tensor) => [tensor.name, tensor]))
  for (const { names, axes, epsilon = 0 } of frameworks) {
    const found = names.map((own) => weightOf(stored, name, own))
    if (found[0]?.shape.length !== rank || (kind === 'batchNorm' && found[1] === undefined)) continue
    const tensors: (Floats | undefined)[] = []
    for (const tensor of found) tensors.push(tensor && { data: await tensor.read(), shape: tensor.shape })
    const [first, ...rest] = tensors as [Floats, ...(Floats | undefined)[]]
    const made = make([axes === undefined ? first : transpose(first, axes), ...rest], epsilon)
    if (made !== undefined) return made
  }
  const wanted = frameworks.map(({ names }) => `${name}${names[0]}`).join(', ')
  const message = `Cannot read a layer as the file must have a ${kind} of its name: there is no tensor of ${rank} dimensions of ${wanted}`
  throw codedRangeError('ERR_INVALID_OPTION', `${message}. ${others(file, name, rank, frameworks)}`, {
    option: 'name',
    value: name,
  })
}

/** The tensors of that name, from which a parametrization may compute the weight; else the names with such a weight. */
function others({ tensors }: WeightFile, name: string, rank: number, frameworks: readonly Names[]): string {
  const own = tensors.filter((tensor) => tensor.name.startsWith(name) && /^[./]/.test(tensor.name.slice(name.length)))
  const names = tensors.flatMap((tensor) => {
    const end = frameworks.map(({ names: [first = ''] }) => first).find((first) => tensor.name.endsWith(first))
    return end === undefined || tensor.shape.length !== rank ? [] : tensor.name.slice(0, -end.length)
  })
  const words = own.length > 0 ? own.map((tensor) => tensor.name) : names
  return `${own.length > 0 ? 'Its tensors' : 'Names'}: ${words.slice(0, 8).join(', ')}${words.length > 8 ? ', …' : ''}`
}

import { checkArguments, FUNCTION, fields, integerFrom, listOf, TEXT } from '@cudnn-rnn/arguments'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { WeightFile } from '@cudnn-rnn/interop'
import { codedRangeError } from './coded_error.js'
import { transpose } from './transpose.js'

/** Options of {@link dense} with the tensors of a file. */
export interface DenseWeights {
  /** O */
  readonly units: number
  /** [I,O] */
  readonly kernelInitializer: Tensor<FloatArray>
  /** [O]; 0 if the file has none. */
  readonly biasInitializer: Tensor<FloatArray> | 0
}

const FILE = fields({ tensors: listOf(fields({ name: TEXT, shape: listOf(integerFrom(0)), read: FUNCTION })) })

/** Ends of the names of kernel and bias, and whether the kernel is [O,I]. */
const NAMES = [
  { kernel: '.weight', bias: '.bias', isTransposed: true },
  { kernel: '/kernel', bias: '/bias', isTransposed: false },
  { kernel: '/vars/0', bias: '/vars/1', isTransposed: false },
] as const

/**
 * The options of {@link dense} that compute a linear layer of a file: PyTorch's `Linear` ("fc": `fc.weight` [O,I], `fc.bias`), or
 * a dense layer of TensorFlow, Flax or Keras ("head": `head/kernel` [I,O], `head/bias`).
 *
 *     dense({ ...(await denseWeights(file, 'fc')), activation: 'relu' })
 *
 * @param file open, as `openWeightFile` returns it
 * @param name the prefix of its tensors
 * @throws RangeError `ERR_INVALID_OPTION` if the file has no matrix of that name; TypeError `ERR_INVALID_OPTION_TYPE`; errors of
 *   reading the file
 * @example
 * ```ts
 * import { cudnnLSTM, dense, importWeights, openBackend, sequential } from '@cudnn-rnn/rnn'
 * import { openWeightFile } from '@cudnn-rnn/rnn/interop'
 * import { denseWeights } from '@cudnn-rnn/rnn/layers'
 *
 * const file = await openWeightFile('../fixtures/interop/guide/sine.pt')
 * const network = (await importWeights(file)).network()
 * const head = dense(await denseWeights(file, 'model.head'))
 * await file.close()
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [cudnnLSTM({ network }), head])
 * const { shape } = await model.predict({ data: new Float32Array(20), shape: [20, 1, 1] })
 * console.log(shape) // [20, 1, 1]
 * ```
 */
export async function denseWeights(file: WeightFile, name: string): Promise<DenseWeights> {
  checkArguments('read a dense layer', { file, name }, { file: FILE, name: TEXT })
  const stored = new Map(file.tensors.map((tensor) => [tensor.name, tensor]))
  for (const { kernel, bias, isTransposed } of NAMES) {
    const matrix = stored.get(`${name}${kernel}`)
    if (matrix?.shape.length !== 2) continue
    const [rows, columns] = matrix.shape as readonly [number, number]
    const tensor = { data: await matrix.read(), shape: [rows, columns] }
    const vector = stored.get(`${name}${bias}`)
    return {
      units: isTransposed ? rows : columns,
      kernelInitializer: isTransposed ? transpose(tensor) : tensor,
      biasInitializer: vector === undefined ? 0 : { data: await vector.read(), shape: vector.shape },
    }
  }
  const wanted = NAMES.map(({ kernel }) => `${name}${kernel}`).join(', ')
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot read a dense layer as the file must have a matrix of its name: there is none of ${wanted}. Names: file.tensors`,
    { option: 'name', value: name },
  )
}

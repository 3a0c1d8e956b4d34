import type { FloatArray } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { inProcessorOrder } from '@cudnn-rnn/checkpoint/files'
import {
  arrayOf,
  checkBytes,
  checkedCount,
  decodeElements,
  ELEMENT_TYPES,
  type ElementTypeName,
  elementTypeOf,
  isFloat,
} from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { ExternalFiles } from './external_files.js'
import type { ExternalData, OnnxTensor } from './onnx_messages.js'
import { decodeOnnxLists, decodeOnnxTensor, type OnnxTensorValue } from './onnx_tensor.js'
import type { ByteRange } from './protobuf_scanner.js'
import type { Elements } from './strided_elements.js'

/** TensorProto.DataType of texts; tensors of other types than numbers are listed and not read. */
const STRING = 8

/** The file's own word for an element type. */
export function dataTypeInWords(dataType: number): string {
  return elementTypeOf('onnx', dataType) ?? (dataType === STRING ? 'string' : `data type ${dataType}`)
}

/** The element type of a word. */
export function dataTypeOf(words: string): number {
  const row = Object.entries(ELEMENT_TYPES).find(([name]) => name === words)?.[1]
  return words === 'string' ? STRING : (row?.onnx ?? Number(words.split(' ').at(-1)))
}

/** Reads the elements of one model's tensors, wherever they lie: as bytes or numbers in the model, or in a file beside it. */
export class OnnxElements {
  readonly #source: ByteSource
  readonly #external: ExternalFiles

  constructor(source: ByteSource, external: ExternalFiles) {
    this.#source = source
    this.#external = external
  }

  /** Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`, and the errors of {@link ExternalFiles.open}. */
  async read(name: string, tensor: OnnxTensor): Promise<FloatArray> {
    const type = floatType(this.#source.name, name, tensor.dataType)
    return elementsOf(this.#source.name, name, await this.#value(name, tensor, type))
  }

  /** The elements of an integer tensor, such as lengths; throws as {@link read}. Integers of 64 bits are float64. */
  async readIntegers(name: string, tensor: OnnxTensor): Promise<Elements> {
    const type = elementTypeOf('onnx', tensor.dataType)
    const array = type && arrayOf(type)
    if (type === undefined || array === undefined || isFloat(type)) {
      throw unsupported(this.#source.name, `${name} must be of integers: it holds ${dataTypeInWords(tensor.dataType)}`)
    }
    const { raw, int32s, int64s } = await this.#value(name, tensor, type)
    const ordered = raw && inProcessorOrder(new Uint8Array(raw), ELEMENT_TYPES[type].bytes).buffer
    const numbers =
      ordered === undefined
        ? new array([...int64s, ...int32s])
        : type === 'int64'
          ? Float64Array.from(new BigInt64Array(ordered), Number)
          : new array(ordered)
    const count = checkedCount(this.#source.name, name, tensor.dims, numbers.length)
    if (count === numbers.length) return numbers
    throw corrupt(this.#source.name, `${name} of shape [${tensor.dims}] has ${numbers.length} elements`)
  }

  /** The lists of numbers of an attribute. */
  async readLists({ start, end }: ByteRange): Promise<ReturnType<typeof decodeOnnxLists>> {
    return decodeOnnxLists(this.#source.name, await this.#source.read(start, end - start))
  }

  /** The bytes of a tensor in a file beside the model; throws as {@link read}. */
  async readOutside(name: string, tensor: OnnxTensor, place: ExternalData): Promise<Uint8Array> {
    const path = this.#source.name
    const type = elementTypeOf('onnx', tensor.dataType)
    if (type === undefined)
      throw unsupported(path, `${name} must be of numbers: it holds ${dataTypeInWords(tensor.dataType)}`)
    const file = await this.#external.open(place.get('location') ?? '')
    const [offset, length] = externalRange(path, name, place, file.size)
    checkBytes(path, name, type, tensor.dims, length)
    return file.read(offset, length)
  }

  /** The tensor with its elements; its claimed size is compared with the bytes present before it is read. */
  async #value(name: string, tensor: OnnxTensor, type: ElementTypeName): Promise<OnnxTensorValue> {
    const { dims, dataType, raw, external, message } = tensor
    const source = this.#source
    const rest = { dims, dataType, floats: undefined, doubles: undefined, int64s: [], int32s: [] }
    if (external !== undefined) return { ...rest, raw: await this.readOutside(name, tensor, external) }
    if (raw !== undefined) {
      checkBytes(source.name, name, type, dims, raw.end - raw.start)
      return { ...rest, raw: await source.read(raw.start, raw.end - raw.start) }
    }
    return decodeOnnxTensor(source.name, await source.read(message.start, message.end - message.start))
  }
}

/** The elements of a decoded tensor. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`. */
export function elementsOf(path: string, name: string, { dims, dataType, raw, ...typed }: OnnxTensorValue): FloatArray {
  const type = floatType(path, name, dataType)
  const elements = raw === undefined ? typedElements(type, typed) : decodeElements(path, name, type, raw)
  const count = checkedCount(path, name, dims, elements.length)
  if (count !== elements.length) throw corrupt(path, `${name} of shape [${dims}] has ${elements.length} elements`)
  return elements
}

function floatType(path: string, name: string, dataType: number): ElementTypeName {
  const type = elementTypeOf('onnx', dataType)
  if (type !== undefined && isFloat(type)) return type
  throw unsupported(path, `weights are floating point: ${name} holds ${type ?? `data type ${dataType}`}`)
}

/** Offset and length; without a length, all that follows. */
function externalRange(
  path: string,
  name: string,
  place: ExternalData,
  size: number,
): [offset: number, length: number] {
  const number = (key: string, otherwise: number) => {
    const text = place.get(key)
    if (text === undefined) return otherwise
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (Number.isSafeInteger(value)) return value
    throw corrupt(path, `the ${key} of ${name} is not a number: ${text}`)
  }
  const offset = number('offset', 0)
  const length = number('length', size - offset)
  if (offset + length <= size && length >= 0) return [offset, length]
  throw corrupt(path, `${name} is at ${offset}..${offset + length} of ${size} bytes of ${place.get('location')}`)
}

/** Elements that are not raw bytes; 16-bit ones are bit patterns in 32-bit integers. */
function typedElements(
  type: ElementTypeName,
  { floats, doubles, int32s }: Pick<OnnxTensorValue, 'floats' | 'doubles' | 'int32s'>,
): FloatArray {
  if (type === 'float32') return floats ?? new Float32Array()
  if (type === 'float64') return doubles ?? new Float64Array()
  return decodeElements('', '', type, new Uint8Array(Uint16Array.from(int32s).buffer))
}

import {
  arrayTypeOf,
  codedError,
  codedTypeError,
  describeValue,
  elementCount,
  kind,
  reportFailure,
  thrownMessage,
} from '@cudnn-rnn/canonical/rules'
import type { NumericArray } from '@cudnn-rnn/checkpoint'
import type { GraphValue } from './fold/fold_graph.js'
import type { Size } from './fold/open_sizes.js'

/** Elements of tensors of ONNX Runtime. */
type GraphData = NumericArray | Uint8ClampedArray | readonly string[]

/** A tensor of ONNX Runtime (`ort.Tensor`). */
export interface GraphTensor {
  /** `float32`, `int64`, … */
  readonly type: string
  readonly data: GraphData
  readonly dims: readonly number[]
}

/** A value for an input of a graph: a tensor of ONNX Runtime, or one of this project, whose array has the type. */
type GraphFeed = GraphTensor | { readonly data: GraphData; readonly shape: readonly number[] }

/** Feeds by the names of inputs. */
export type GraphFeeds = Readonly<Record<string, GraphFeed>>

/** Results by the names of outputs. */
export type GraphResults = Readonly<Record<string, GraphTensor>>

/** Tensors by their names. */
export type Tensors = GraphResults

/** A session of ONNX Runtime, as far as graphs use it. */
interface Session {
  run(feeds: Tensors, fetches: readonly string[]): Promise<GraphResults>
  release(): Promise<void>
}

/** ONNX Runtime: the module `onnxruntime-node` or `onnxruntime-web`. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    // biome-ignore lint/suspicious/noExplicitAny: the caller's release of ONNX Runtime has the options.
    create(model: Uint8Array, options?: any): Promise<unknown>
  }
  readonly Tensor: abstract new (...given: never[]) => object
}

export const RUNTIME = kind(
  'ONNX Runtime: the module onnxruntime-node or onnxruntime-web',
  (value): value is OnnxRuntime => {
    const { InferenceSession, Tensor } = (value ?? {}) as Record<string, { readonly create?: unknown } | undefined>
    return typeof Tensor === 'function' && typeof InferenceSession?.create === 'function'
  },
)

const ARRAYS = {
  ...{ float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array },
  ...{ int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array, float16: Uint16Array },
  ...{ int8: Int8Array, uint8: Uint8Array, bool: Uint8Array },
} as const

/** An object whose fields have any names. */
export const NAMED = kind(
  'an object of tensors by their names',
  (value): value is Readonly<Record<string, unknown>> => {
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
  },
)

/** ONNX Runtime with one session. */
export class RuntimeSession {
  readonly #runtime: OnnxRuntime
  readonly #session: Session
  readonly #path: string
  /** Runs that are not done: a session must not be released before. */
  #running = 0
  #isReleased = false

  private constructor(runtime: OnnxRuntime, session: Session, path: string) {
    this.#runtime = runtime
    this.#session = session
    this.#path = path
  }

  /** Throws Error `ERR_GRAPH_RUNTIME`. */
  static async open(runtime: OnnxRuntime, model: Uint8Array, options: object | undefined, path: string) {
    try {
      const session = await runtime.InferenceSession.create(model, options)
      return new RuntimeSession(runtime, session as Session, path)
    } catch (cause) {
      throw failed('open a graph', path, cause)
    }
  }

  async run(feeds: Tensors, fetches: readonly string[]): Promise<GraphResults> {
    if (this.#isReleased)
      throw codedError('ERR_GRAPH_CLOSED', `Cannot run a graph as it must not be disposed: ${this.#path}`)
    this.#running++
    try {
      return await this.#session.run(feeds, fetches)
    } catch (cause) {
      throw failed('run a graph', this.#path, cause)
    } finally {
      this.#running--
      if (this.#isReleased) this.#release()
    }
  }

  /** Releases the session, after the runs that are not done. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#release()
  }

  #release(): void {
    if (this.#running === 0) this.#session.release().catch(reportFailure)
  }

  tensor(...given: readonly [type: string, data: GraphData, dims: readonly number[]]): GraphTensor {
    return new (this.#runtime.Tensor as unknown as new (...given: unknown[]) => GraphTensor)(...given)
  }

  zeros(type: string, dims: readonly number[]): GraphTensor {
    const array = ARRAYS[type as keyof typeof ARRAYS]
    if (array !== undefined) return this.tensor(type, new array(elementCount(dims)), dims)
    throw codedError('ERR_GRAPH_UNSUPPORTED', `Cannot carry a state as it must be of numbers: current type is ${type}`)
  }

  copy({ type, data, dims }: GraphTensor): GraphTensor {
    return this.tensor(type, (data as Float32Array).slice(), dims)
  }

  /**
   * The tensor that a caller gave for an input: one of ONNX Runtime as it is, or a copy of an array, which the caller may write
   * again before the run begins. Throws TypeError `ERR_GRAPH_INPUT`.
   */
  fed(action: string, { name, type, shape }: GraphValue, given: unknown): GraphTensor {
    const isOwn = given instanceof (this.#runtime.Tensor as unknown as new () => object)
    const { dims, shape: sizes = dims, type: ownType = type } = (given ?? {}) as Record<string, unknown>
    // ONNX Runtime refuses to read the data of a tensor on a device, and has checked them.
    const data = isOwn ? undefined : ((given ?? {}) as { readonly data?: unknown }).data
    const array = arrayTypeOf(data)
    const reason = () => {
      if (!isOwn && array === undefined)
        return `its data must be a typed array: current value is ${describeValue(data)}`
      if (!isShape(sizes)) return `its shape must be a list of sizes: current value is ${describeValue(sizes)}`
      if (ownType !== type) return `it must be of ${type}: current type is ${describeValue(ownType)}`
      if (isOwn) return misfit(shape, sizes)
      const wanted = ARRAYS[type as keyof typeof ARRAYS]?.name
      if (wanted !== array)
        return `it must be of ${type}, in ${wanted ?? 'a tensor of ONNX Runtime'}: current value is ${array}`
      const [{ length }, count] = [data as Float32Array, elementCount(sizes)]
      return count === length ? misfit(shape, sizes) : `its shape [${sizes}] has ${count} elements, its data ${length}`
    }
    const wrong = reason()
    if (wrong === undefined && isOwn) return given as unknown as GraphTensor
    if (wrong === undefined) return this.tensor(type, (data as Float32Array).slice(), sizes as readonly number[])
    const message = `Cannot ${action} as the input ${name} does not fit: ${wrong}`
    throw codedTypeError('ERR_GRAPH_INPUT', message, { input: name, value: given })
  }
}

function isShape(sizes: unknown): sizes is readonly number[] {
  return Array.isArray(sizes) && sizes.every((size) => Number.isSafeInteger(size) && size >= 0)
}

/** Why sizes are not of a shape. */
export function misfit(shape: readonly Size[], sizes: readonly number[]): string | undefined {
  const isSame =
    shape.length === sizes.length && shape.every((size, axis) => typeof size === 'string' || size === sizes[axis])
  return isSame ? undefined : `its shape must be [${shape}]: current shape is [${sizes}]`
}

function failed(action: string, path: string, cause: unknown) {
  return codedError(
    'ERR_GRAPH_RUNTIME',
    `Cannot ${action} as ONNX Runtime refused it: ${thrownMessage(cause)}: ${path}`,
    { cause },
  )
}

import { type CodedError, describeValue, type FloatArray, layoutKey, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, codedTypeError, liveLength } from '@cudnn-rnn/canonical/rules'
import { type Backend, DTYPES, type FloatDType, type TensorLike } from '@cudnn-rnn/ops'
import { checkParams, floatView, sharedAllocator } from '@cudnn-rnn/ops/executor'
import { Variable } from './variable.js'

/**
 * A handle of opaque parameters that threads share: a plain object that `postMessage` and `workerData` carry. Its elements
 * are in a `SharedArrayBuffer`, which every copy of the handle refers to. The last thread that lets go of its copies frees
 * them; a message that carries the handle counts as one, and so it does not matter who drops it first.
 */
export interface SharedParams {
  readonly kind: 'SharedParams'
  /** The executor whose opaque layout this is, with the order of opaque buffers where executors of its name have several. */
  readonly executor: string
  readonly dtype: FloatDType
  /** The `layoutKey` of the network. */
  readonly layout: string
  /** Identifies the elements; the same in all copies. */
  readonly id: string
  /** The variable's name. */
  readonly name: string
  /** [paramsSize]; read-only. */
  readonly elements: FloatArray
}

/** The network that parameters belong to, on one executor. */
export interface ParamsOwner {
  readonly backend: Backend
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
}

/** Copies parameters to shared memory. Rejects as `checkParams`. */
export async function shareParams(owner: ParamsOwner, params: TensorLike, name: string): Promise<SharedParams> {
  const { backend, descriptor, paramsSize } = owner
  const given = checkParams('share parameters', backend, descriptor, paramsSize, params)
  const source = 'read' in given ? await given.read() : given
  const { dtype } = backend
  const elements = (backend.shared?.allocate ?? sharedAllocator(dtype))(paramsSize)
  elements.set(source.data)
  const layout = layoutKey(descriptor)
  return { kind: 'SharedParams', executor: executorOf(backend), dtype, layout, id: uniqueId(), name, elements }
}

/** 128 bits. Neither pages without TLS have `crypto.randomUUID` nor Node.js 20 with `--no-experimental-global-webcrypto`. */
function uniqueId(): string {
  return Array.from({ length: 4 }, () =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
}

function executorOf({ name, opaqueOrder }: Backend): string {
  return opaqueOrder === undefined ? name : `${name}, order of ${opaqueOrder}`
}

/** The variable of a handle: over the shared memory itself where the executor computes there, else over a copy. */
export function sharedVariable(owner: ParamsOwner, handle: SharedParams): Variable {
  const { backend, paramsSize } = owner
  const { elements, layout, id, name } = checkHandle(owner, handle)
  const shape = [paramsSize]
  if (backend.shared !== undefined) {
    return new Variable(backend, backend.shared.tensor(elements, { shape, layout, id }), name)
  }
  const value = backend.zeros(shape, { layout })
  backend.ops.assign(value, { data: elements, shape })
  return new Variable(backend, value, name)
}

const ACTION = 'open shared parameters'

/**
 * The fields of a handle, each read once.
 *
 * @throws TypeError `ERR_SHARED_PARAMS` for anything but a handle; RangeError `ERR_SHARED_PARAMS` for one of another
 *   executor or dtype, `ERR_OTHER_LAYOUT` for one of another network
 */
function checkHandle({ backend, descriptor, paramsSize }: ParamsOwner, handle: SharedParams): SharedParams {
  if (typeof handle !== 'object' || handle === null || handle.kind !== 'SharedParams') {
    throw notAHandle(`it must be a result of shareParams(): current value is ${describeValue(handle)}`)
  }
  const { executor, dtype, layout, id, name, elements } = handle
  const own = executorOf(backend)
  if (executor !== own || dtype !== backend.dtype) {
    throw codedRangeError(
      'ERR_SHARED_PARAMS',
      `Cannot ${ACTION} as they must be of ${own}, ${backend.dtype}: current ones are of ${describeValue(executor)}, ${describeValue(dtype)}. Share them from the executor that computes with them.`,
      { expected: [own, backend.dtype], actual: [executor, dtype] },
    )
  }
  const expected = layoutKey(descriptor)
  if (layout !== expected) {
    throw codedRangeError(
      'ERR_OTHER_LAYOUT',
      `Cannot ${ACTION} as they must have the layout of this network (${expected}): current layout is ${describeValue(layout)}`,
      { argument: 'handle', expected, actual: layout },
    )
  }
  const { array } = DTYPES[backend.dtype]
  const isArray = arrayTypeOf(elements) === array.name
  if (!isArray || !isShared(elements.buffer) || typeof id !== 'string' || typeof name !== 'string') {
    throw notAHandle(
      'its elements must be in a SharedArrayBuffer: JSON and other processes lose it, postMessage() and workerData of a thread keep it',
    )
  }
  if (liveLength(elements) !== paramsSize) {
    throw notAHandle(`it must have ${paramsSize} elements: current number is ${liveLength(elements)}`)
  }
  // A separate view: the caller may overwrite properties of the array.
  const view = floatView(dtype, elements.buffer, elements.byteOffset, paramsSize)
  return { kind: 'SharedParams', executor, dtype, layout, id, name, elements: view }
}

function isShared(buffer: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer !== 'undefined' && buffer instanceof SharedArrayBuffer
}

function notAHandle(rule: string): CodedError<TypeError> {
  return codedTypeError('ERR_SHARED_PARAMS', `Cannot ${ACTION} as ${rule}`)
}

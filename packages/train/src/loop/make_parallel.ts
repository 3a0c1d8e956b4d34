import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  fields,
  FUNCTION,
  listOf,
  oneOf,
  optional,
  type OptionsOf,
  POSITIVE,
} from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, BackendUnavailableError, isBackendTensor } from '@cudnn-rnn/ops'
import { BACKEND, checkOwnTensors } from '@cudnn-rnn/ops/executor'
import { isEmptyShare, shareOf, type World } from '../data/shard_stage.js'
import { checkGradientCount, type Trainable } from '../optimizers/trainable.js'
import { TRAINABLES } from '../optimizers/optimizer_spec.js'
import { type DeviceExchange, GroupExchange, HostExchange, type ShareResult } from './device_exchange.js'
import { type BatchResult, checkedResult, weightOf } from './gradient_accumulator.js'

/** The copy of a model on one device. */
export interface Replica<Batch> {
  /** On every device the same names, shapes and layouts, in the same order. */
  readonly variables: readonly Trainable[]
  /** Loss and gradients of a share of a batch, on this device; `weight` as in {@link BatchResult}. */
  readonly batchGradients: (share: Batch) => Promise<BatchResult>
  /** Called by the `dispose` of {@link Parallel}, and if a later replica cannot be made. */
  [Symbol.dispose]?(): void
}

const OPTIONS = {
  /**
   * How variables and gradients pass between the devices: 'nccl', between GPUs without the host, or 'host', through its memory.
   * Default 'auto': NCCL between several GPUs if it can be opened, else the host.
   */
  engine: optional(oneOf(['auto', 'nccl', 'host'])),
  /** Every call of NCCL must end within this time, or it rejects; default 600. */
  timeoutSeconds: optional(POSITIVE),
}

/** Options of {@link makeParallel}. */
export interface ParallelOptions<Batch> extends OptionsOf<typeof OPTIONS> {
  /**
   * The share of one device of a batch that is not an array, `[]` if it is empty. Default: of an array of L elements
   * those from ⌊L·rank/size⌋ up to ⌊L·(rank+1)/size⌋, as `Dataset.shard` takes them.
   */
  readonly split?: ((batch: Batch, place: World) => Batch) | undefined
}

type BatchOf<Own extends Replica<never>> = Parameters<Own['batchGradients']>[0]

/** A function over several devices, with the arguments of `fit` that it makes. */
export interface Parallel<Own extends Replica<never>> extends Disposable, AsyncDisposable {
  /** How variables and gradients pass between the devices. */
  readonly engine: 'nccl' | 'host'
  /** Why this engine, for people. */
  readonly reason: string
  /** Variables of the first replica, for the optimizer. */
  readonly variables: readonly Trainable[]
  /** Mean loss and gradients over the shares of all devices, on the first. */
  readonly batchGradients: (batch: BatchOf<Own>) => Promise<BatchResult>
  /** In the order of the devices. */
  readonly replicas: readonly Own[]
  /** Disposes the replicas and closes NCCL; the caller keeps the devices. Idempotent. */
  dispose(): void
  /** Like `dispose`, and resolves when NCCL's communicators are freed. Rejects with CudnnError `ERR_NCCL`. */
  close(): Promise<void>
}

/**
 * Replicates a function over devices, as the `make_parallel` of TensorFlow's users does: every batch is split between the
 * devices, each computes the gradients of its share, and the first device sums them by their weights and makes one update.
 * The variables are the first device's; every call copies them to the others. The numbers are the same as on one device
 * with the whole batches, to rounding.
 *
 * Several GPUs are connected by NCCL if it can be opened: variables and gradients pass between them without the host. An
 * error of NCCL, or of a device in its calls, rejects the call of `batchGradients`, and no update is made.
 *
 * @param fn makes the replica of one device; if it has dropout, its seed should depend on `place.rank`
 * @param devices executors of one kind, each once; the first one makes the updates
 * @throws RangeError `ERR_REPLICAS_DIFFER`, `ERR_INVALID_OPTION`; TypeError `ERR_FOREIGN_TENSOR`, `ERR_INVALID_ARGUMENT`,
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` if `engine` is 'nccl' and
 *   it cannot be used; CudnnError `ERR_NCCL`; errors of `fn`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { Dataset, fit, makeParallel, Sgd } from '@cudnn-rnn/rnn/train'
 *
 * const devices = [await openBackend('reference'), await openBackend('reference')]
 * const { variables, batchGradients } = await makeParallel((device) => {
 *   const slope = { name: 'slope', value: device.zeros([1]) }
 *   return {
 *     variables: [slope],
 *     async batchGradients(xs: readonly number[]) {
 *       const a = (await slope.value.data())[0] ?? 0
 *       const gradient = xs.reduce((sum, x) => sum + (a * x - 3 * x) * x, 0) / xs.length
 *       return { loss: (a - 3) ** 2, gradients: [device.tensor({ data: Float32Array.of(gradient), shape: [1] })] }
 *     },
 *   }
 * }, devices)
 * const data = Dataset.fromArray([1, 2, 3]).repeat().batch(3)
 * await fit({ data, batchGradients, optimizer: new Sgd(variables), learningRate: 0.1, maxSteps: 40 })
 * console.log((await variables[0]?.value.read())?.data[0]?.toFixed(2)) // 3.00
 * ```
 */
export async function makeParallel<Own extends Replica<never>, Device extends Backend = Backend>(
  fn: (device: Device, place: World) => Own | Promise<Own>,
  devices: readonly Device[],
  options: ParallelOptions<BatchOf<Own>> = {},
): Promise<Parallel<Own>> {
  const { devices: own } = checkArguments(ACTION, { fn, devices }, { fn: FUNCTION, devices: listOf(BACKEND, 1) })
  const given = checkOptions(ACTION, options, { ...OPTIONS, split: optional(FUNCTION) })
  const repeated = own.findIndex((device, rank) => own.indexOf(device) !== rank)
  if (repeated >= 0) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${ACTION} as each device must be another executor: device ${repeated} is device ${own.indexOf(own[repeated])}`,
      { device: repeated },
    )
  }
  const { split = splitArray } = given
  const replicas: Own[] = []
  let exchange: DeviceExchange
  try {
    for (const [rank, device] of own.entries()) {
      const replica = await fn(device, { rank, size: own.length })
      checkArguments(ACTION, { replica }, { replica: REPLICA })
      replicas.push(replica)
      const tensors = replica.variables.map(({ name, value }): [string, BackendTensor] => [name, value])
      checkOwnTensors(device, ACTION, Object.fromEntries(tensors))
      checkEqual(own, replicas, rank)
    }
    exchange = await openExchange(own, given)
  } catch (error) {
    disposeAll(replicas)
    throw error
  }
  const typed = replicas as readonly Replica<never>[] as readonly Replica<BatchOf<Own>>[]
  let closed: Promise<void> | undefined
  const close = () => {
    if (closed !== undefined) return closed
    disposeAll(replicas)
    closed = exchange.close()
    closed.catch(() => {})
    return closed
  }
  const dispose = () => void close()
  return {
    engine: exchange.engine,
    reason: exchange.reason,
    variables: replicas[0].variables.map(({ name, value }) => ({ name, value, backend: own[0] })),
    batchGradients: (batch) => parallelGradients(own, typed, exchange, batch, split),
    replicas,
    dispose,
    close,
    [Symbol.dispose]: dispose,
    [Symbol.asyncDispose]: close,
  }
}

/** Connects the devices, or states why tensors pass through the host. */
async function openExchange(
  devices: readonly Backend[],
  { engine = 'auto', timeoutSeconds }: ParallelOptions<never>,
): Promise<DeviceExchange> {
  if (engine === 'host') return new HostExchange(devices, 'as requested')
  if (engine === 'auto' && devices.length === 1) return new HostExchange(devices, 'one device')
  const [{ groups, name }] = devices
  if (groups === undefined) {
    const reason = `NCCL connects GPUs, and the devices are ${name} executors`
    if (engine === 'auto') return new HostExchange(devices, reason)
    const advice = "Use the engine 'auto', or open the devices by openBackend('cudnn', { device })."
    throw new BackendUnavailableError('nccl', [{ name: 'nccl', reason }], advice)
  }
  try {
    return new GroupExchange(devices, await groups.connect(devices, { timeoutSeconds }))
  } catch (error) {
    if (engine === 'nccl' || !(error instanceof BackendUnavailableError)) throw error
    return new HostExchange(devices, error.attempts.map((attempt) => `${attempt.name}: ${attempt.reason}`).join('; '))
  }
}

const ACTION = 'make parallel'
const REPLICA = fields({ variables: TRAINABLES, batchGradients: FUNCTION }, 'a replica: { variables, batchGradients }')

function splitArray<Batch>(batch: Batch, place: World): Batch {
  if (Array.isArray(batch)) return shareOf(batch, place) as Batch
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot split a batch as it must be an array, or the option split be given: current value is ${describeValue(batch)}`,
    { batch },
  )
}

/** Refuses a replica that cannot take the variables of the first, or whose gradients have another layout. */
function checkEqual(devices: readonly Backend[], replicas: readonly Replica<never>[], rank: number): void {
  const of = (k: number) => {
    const { name, dtype, implementation } = devices[k]
    const variables = replicas[k].variables.map(({ name, value }) => [name, [value.shape, value.dtype, value.layout]])
    return new Map<string, string>([
      ['executor', JSON.stringify([name, dtype, implementation])],
      ['names of variables', JSON.stringify(variables.map(([variable]) => variable))],
      ...variables.map(([variable, form]): [string, string] => [`variable ${String(variable)}`, JSON.stringify(form)]),
    ])
  }
  const [first, own] = [of(0), of(rank)]
  for (const [difference, expected] of first) {
    const actual = own.get(difference)
    if (actual === expected) continue
    throw codedRangeError(
      'ERR_REPLICAS_DIFFER',
      `Cannot ${ACTION} as all devices must have the same ${difference}: device 0 has ${expected}, device ${rank} has ${actual}`,
      { difference, device: rank },
    )
  }
}

/** One call of {@link Parallel.batchGradients}. An error of any device leaves no tensor behind. */
async function parallelGradients<Batch>(
  devices: readonly Backend[],
  replicas: readonly Replica<Batch>[],
  exchange: DeviceExchange,
  batch: Batch,
  split: (batch: Batch, place: World) => Batch,
): Promise<BatchResult> {
  const size = devices.length
  const shares = devices.map((_, rank) => (size === 1 ? batch : split(batch, { rank, size })))
  const ranks = shares.flatMap((share, rank) => (isEmptyShare(share) ? [] : [rank]))
  if (ranks.length === 0) return await replicas[0].batchGradients(batch)
  const variables = replicas.map((replica) => replica.variables)
  await exchange.copy(variables, ranks)
  const settled = await Promise.allSettled(
    ranks.map(async (rank): Promise<ShareResult> => {
      const { steps } = devices[rank]
      const pass = () => replicas[rank].batchGradients(shares[rank])
      // A step of the first device is run by its caller.
      const result = checkedResult(await (rank === 0 || steps === undefined ? pass() : steps.run(pass)))
      try {
        checkGradientCount('add gradients', result.gradients, replicas[rank].variables)
        return { ...result, rank, weight: weightOf(shares[rank], result) }
      } catch (error) {
        disposeResults([result])
        throw error
      }
    }),
  )
  const results = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    for (const each of settled) if (each.status === 'rejected') throw each.reason
    return await exchange.mean(variables, results)
  } finally {
    disposeResults(results)
  }
}

function disposeResults(results: readonly BatchResult[]): void {
  for (const { loss, gradients } of results) {
    for (const tensor of [loss, ...gradients]) if (isBackendTensor(tensor)) tensor.dispose()
  }
}

function disposeAll(replicas: readonly Replica<never>[]): void {
  for (const replica of replicas) replica[Symbol.dispose]?.()
}

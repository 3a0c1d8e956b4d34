// One rank of mpi.test.ts and nccl.test.ts: node ranks_program.mjs <what> [engine [library]]. Each way of ending is one that a training run may end by.
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type MessagePort, parentPort, Worker } from 'node:worker_threads'
import { COMMUNICATOR_CASES } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openCommunicator } from '../src/index.js'
import { trainOnRagged } from './ragged_training.js'

const [what = '', engine = 'auto', library] = process.argv.slice(2)

const wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

/** Sums of tensors of which some are small and one is large, between other calls; throws if one is wrong. */
async function sumTensors(world: Awaited<ReturnType<typeof openCommunicator>>): Promise<void> {
  const { rank, size } = world
  const ranks = (size * (size + 1)) / 2
  for (const dtype of ['float32', 'float64'] as const) {
    using backend = openReferenceBackend({ dtype })
    using other = openReferenceBackend({ dtype })
    const sum = world.tensorSum!(backend)!
    const values = [1, -2, 0, 7, 12]
    const shapes = [[], [3], [0], [100_000], [2, 5]]
    const tensors = shapes.map((shape) => backend.zeros(shape))
    for (const wire of [undefined, 'bfloat16'] as const) {
      for (const [index, tensor] of tensors.entries()) {
        const data = (await tensor.read()).data.map(() => values[index]! * (rank + 1))
        backend.ops.assign(tensor, { data, shape: tensor.shape } as never)
      }
      // Not awaited: every rank makes the calls in this order.
      const counted = Int32Array.of(rank)
      const calls = [sum(tensors, { wire }), world.allReduce(counted, { op: 'max' }), sum([]), sum([tensors[1]!])]
      await Promise.all(calls)
      for (const [index, tensor] of tensors.entries()) {
        const expected = values[index]! * ranks * (index === 1 ? size : 1)
        const { data } = await tensor.read()
        if (!data.every((each) => each === expected)) {
          throw new Error(`tensor ${index} in ${dtype}, wire ${wire}: ${data.slice(0, 3)} for ${expected}`)
        }
      }
      if (counted[0] !== size - 1) throw new Error(`the call between the sums: ${counted[0]}`)
    }
    const refused = await sum([other.zeros([3])]).catch((error: { code?: string }) => error.code)
    if (refused !== 'ERR_FOREIGN_TENSOR') throw new Error(`a tensor of another executor: ${refused}`)
    for (const tensor of tensors) tensor.dispose()
  }
}

/** Bytes of a call of {@link growthOf}. */
const CALL_BYTES = 16_384
/** Collections between measurements: the memory of arrays is freed by finalizers of the one before. */
const COLLECTIONS = 3

/**
 * Bytes by which the memory outside of JavaScript's heap grows in `rounds` rounds of every collective call: the least of three
 * times, after a warm-up. A call that kept its array or its result would keep `CALL_BYTES` each time; the allocator's pools
 * grow by as much in one of the times.
 */
async function growthOf(world: Awaited<ReturnType<typeof openCommunicator>>, rounds: number): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const make = async (count: number) => {
    for (let k = 0; k < count; k++) {
      // Not awaited one by one: the thread of MPI has the next call when it ends one.
      await Promise.all([
        world.allReduce(new Float32Array(CALL_BYTES / 4)),
        world.allReduce(new Float32Array(CALL_BYTES / 4), { wire: 'bfloat16' }),
        world.broadcast(new Uint8Array(CALL_BYTES)),
        world.allGather(new Uint8Array(CALL_BYTES / world.size)),
        world.barrier(),
      ])
    }
  }
  const used = async () => {
    for (let k = 0; k < COLLECTIONS; k++) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { rss, heapTotal } = process.memoryUsage()
    return rss - heapTotal
  }
  await make(Math.ceil(rounds / 4))
  const growthOfOnce = async () => {
    const before = await used()
    await make(rounds)
    return (await used()) - before
  }
  const growth = [await growthOfOnce(), await growthOfOnce(), await growthOfOnce()]
  return Math.min(...growth)
}

/** All calls, several at a time, without end. */
async function call(world: Awaited<ReturnType<typeof openCommunicator>>): Promise<void> {
  for (;;) {
    await Promise.all([
      world.allReduce(new Float32Array(10_000)),
      world.allReduce(new Float64Array(3), { op: 'max' }),
      world.broadcast(new Uint8Array(50_000)),
      world.allGather(new Uint8Array(100)),
      world.barrier(),
    ])
  }
}

/** How the thread of one rank ends that has opened the communicator, or opens it. */
const THREAD_ENDS = new Map<string, { after: 'opens' | 'calls'; end(thread: Worker): unknown }>([
  ['terminate() of a thread', { after: 'calls', end: (thread) => thread.terminate() }],
  ['terminate() of a thread that opens', { after: 'opens', end: (thread) => thread.terminate() }],
  ['process.exit() of a thread', { after: 'calls', end: (thread) => thread.postMessage('exit') }],
  ['process.exit() beside a thread', { after: 'calls', end: () => process.exit() }],
])
const endOfThread = THREAD_ENDS.get(what)

async function endThreadOfOne({ after, end }: NonNullable<typeof endOfThread>): Promise<void> {
  const thread = new Worker(fileURLToPath(import.meta.url), { argv: process.argv.slice(2) })
  // The launchers set these; MPI may not be open yet.
  const rank = process.env['OMPI_COMM_WORLD_RANK'] ?? process.env['PMI_RANK']
  if (rank !== '1') return
  await new Promise<void>((resolve) => thread.on('message', (message) => message === after && resolve()))
  await wait(Math.random() * 60)
  await end(thread)
}

async function runAsThread(port: MessagePort): Promise<void> {
  port.on('message', () => process.exit())
  port.postMessage('opens')
  const world = await open()
  port.postMessage('calls')
  await call(world)
}

const ENDINGS: Readonly<Record<string, (world: Awaited<ReturnType<typeof openCommunicator>>) => Promise<void> | void>> =
  {
    async conformance(world) {
      if (world.engine === 'mpi') await sumTensors(world)
      for (const { name, run } of COMMUNICATOR_CASES) {
        if (world.rank === 0) process.stdout.write(`${name}\n`)
        await run(world)
      }
    },
    /** A training, then all of the suite, in one start. */
    async everything(world) {
      const training = await trainOnRagged(world)
      if (world.rank === 0) process.stdout.write(`${JSON.stringify(training)}\n`)
      await ENDINGS['conformance']!(world)
    },
    async 'many calls'(world) {
      const rounds = world.size === 1 ? 2000 : 1000
      const growth = await growthOf(world, rounds)
      if (world.rank === 0) process.stdout.write(JSON.stringify({ growth, kept: rounds * CALL_BYTES }))
      await world.dispose()
    },
    async dispose(world) {
      await world.barrier()
      await world.dispose()
    },
    'end of the program': (world) => world.barrier(),
    async 'process.exit(0)'(world) {
      await world.barrier()
      process.exit(0)
    },
    async 'process.exit(0) of one'(world) {
      if (world.rank === 1) process.exit(0)
      await world.barrier()
    },
    async 'process.exit(3) of one'(world) {
      if (world.rank === 1) process.exit(3)
      await world.barrier()
    },
    async 'exception of one'(world) {
      if (world.rank === 1) throw new Error('the data of rank 1')
      await world.barrier()
    },
    async 'caught exception of one'(world) {
      if (world.rank === 1) process.exitCode = 4
      else await world.barrier()
    },
    async 'kill of one'(world) {
      if (world.rank === 1) process.kill(process.pid, 'SIGKILL')
      await world.barrier()
    },
    async 'crash of one'(world) {
      if (world.rank === 1) process.kill(process.pid, 'SIGSEGV')
      await world.barrier()
    },
    async 'process.abort() of one'(world) {
      if (world.rank === 1) process.abort()
      await world.barrier()
    },
    async 'kill of one in an all-reduce of the others'(world) {
      await world.barrier()
      if (world.rank === 1) process.kill(process.pid, 'SIGKILL')
      await world.allReduce(new Float32Array(3))
    },
    async 'abort of one'(world) {
      if (world.rank === 1) world.abort('the disk is full', 9)
      await world.barrier()
    },
    async 'stop of one'(world) {
      await world.barrier()
      if (world.rank === 1) process.kill(process.pid, 'SIGSTOP')
      await world.barrier()
    },
    async 'silence of one'(world) {
      await world.barrier()
      if (world.rank === world.size - 1) process.kill(process.pid, 'SIGSTOP')
      await world.barrier()
    },
    /** The watchdog of a busy rank answers. */
    async 'long work of one'(world) {
      const end = performance.now() + 4000
      while (world.rank === 1 && performance.now() < end);
      await world.barrier()
      await world.dispose()
    },
    async 'late all-reduce of one'(world) {
      await world.barrier()
      if (world.rank === 0) await world.allReduce(new Float32Array(3))
      // The other rank lives and makes no call.
      await new Promise((resolve) => setTimeout(resolve, 3500))
      process.exit(0)
    },
    async 'silence of one in an all-reduce of the others'(world) {
      await world.barrier()
      if (world.rank === 1) process.kill(process.pid, 'SIGSTOP')
      await world.allReduce(new Float32Array(3))
    },
    async 'late sum on the device of one'(world) {
      const { openCudnnBackend } = await import('@cudnn-rnn/cudnn')
      using backend = await openCudnnBackend({ device: world.localRank })
      await world.barrier()
      if (world.rank === 0) await world.tensorSum?.(backend)?.([backend.zeros([3])])
      // The other rank lives and makes no call.
      await new Promise((resolve) => setTimeout(resolve, 3500))
      process.exit(0)
    },
    async 'sums that are refused'(world) {
      const { openCudnnBackend } = await import('@cudnn-rnn/cudnn')
      using backend = await openCudnnBackend({ device: world.localRank })
      using other = await openCudnnBackend({ device: world.localRank })
      const sum = world.tensorSum!(backend)!
      const codeOf = (sums: Promise<void>) =>
        sums.then(
          () => 'summed',
          (error: { code?: string }) => error.code,
        )
      const codes = [await codeOf(sum([other.zeros([3])])), await codeOf(sum([backend.zeros([3])]))]
      await world.dispose()
      codes.push(await codeOf(sum([backend.zeros([3])])))
      process.stdout.write(codes.join(' '))
    },
    async 'many all-reduces'(world) {
      for (let k = 0; k < 100; k++) await world.allReduce(new Float32Array(3))
    },
    async 'endless loop of one'(world) {
      await world.barrier()
      while (world.rank === 1);
      await world.barrier()
    },
    /** After the calls of some updates, with the default of `busySeconds`. */
    async 'endless loop of one in a training'(world) {
      for (let k = 0; k < 40; k++) await world.barrier()
      // A call of NCCL is counted by the event loop.
      await new Promise((resolve) => setTimeout(resolve, 1200))
      await world.barrier()
      while (world.rank === 1);
      await world.barrier()
    },
    /** Less than twice the time of the first work, and more than the limit without it. */
    async 'second long work of one'(world) {
      for (let k = 0; k < 40; k++) await world.barrier()
      const compute = (milliseconds: number) => {
        const end = performance.now() + milliseconds
        while (performance.now() < end);
      }
      // Before the first long work of the other has ended, this rank waits for less than the limit.
      if (world.rank === 1) compute(7000)
      await world.barrier()
      await new Promise((resolve) => setTimeout(resolve, 1200))
      if (world.rank === 1) compute(11_000)
      await world.barrier()
      await world.dispose()
    },
    async 'dispose of one'(world) {
      await world.barrier()
      if (world.rank === 1) await world.dispose()
      await world.allReduce(new Float32Array(3))
    },
  }

/** Cases that end by the deadline, and by a missing heartbeat; the endless loop ends by `busySeconds`. */
const LATE = ['stop of one', 'late all-reduce of one', 'late sum on the device of one']
const SILENT = ['silence of one', 'silence of one in an all-reduce of the others', 'long work of one']
const timeoutSeconds = LATE.includes(what) ? 1.5 : endOfThread !== undefined ? 5 : 60
const silenceSeconds = SILENT.includes(what) ? 1 : 30
const LEARNED = ['endless loop of one in a training', 'second long work of one']
const busySeconds = what === 'endless loop of one' ? 1.5 : LEARNED.includes(what) ? undefined : 30
const open = () => openCommunicator(engine as 'auto' | 'nccl', { timeoutSeconds, silenceSeconds, busySeconds, library })
if (endOfThread !== undefined) {
  await (parentPort === null ? endThreadOfOne(endOfThread) : runAsThread(parentPort))
} else if (what === 'reopen') {
  const world = await open()
  const again = openCommunicator('mpi', { timeoutSeconds: 1.5, library })
  const code = await again.then(
    () => 'opened',
    (error: { code?: string }) => error.code,
  )
  process.stdout.write(`${code}\n`)
  await world.dispose()
} else {
  const world = await open()
  if (['conformance', 'everything'].includes(what) && world.rank === 0) process.stdout.write(`${world.reason}\n`)
  await ENDINGS[what]!(world)
}

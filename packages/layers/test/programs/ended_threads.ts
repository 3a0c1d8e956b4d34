// Starts threads that compute without a pause, each several operations at a time, and ends them at random moments: by
// terminate(), by their own process.exit(), or when they have nothing more to do. Ends by process.exit(7) in the middle
// of its operations, and prints how many threads have ended. Bundled by ended_threads.test.ts.
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, threadId, Worker, workerData } from 'node:worker_threads'
import { dynamicRnn, LSTMCell } from '@cudnn-rnn/cells'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { CudnnLSTM, openWorkerPool, serveStreams } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { ctcLoss } from '@cudnn-rnn/train/ctc'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import {
  apply,
  conv1d,
  cudnnLSTM,
  dense,
  functional,
  importKeras,
  input as inputOf,
  lastStep,
  loadModel,
  multiHeadAttention,
  rnn,
  sequential,
} from '../../src/index.js'

type Operation = () => unknown

function openExecutor(name: string): Backend | Promise<Backend> {
  if (name === 'cpu') return openCpuBackend({ threads: 2 })
  return name === 'wasm' ? openWasmBackend({ threads: 2 }) : openCudnnBackend({ algorithm: 'standard' })
}

const values = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((product, size) => product * size) }, (_, k) => Math.sin(k)),
  shape,
})

const embedding = { class_name: 'Embedding', config: { name: 'e', input_dim: 4, output_dim: 3 } }
const keras = await encodeKerasArchive(
  { class_name: 'Sequential', config: { layers: [embedding] } },
  new Map([['e/embeddings', values(4, 3)]]),
)

async function operationsOf(executor: string): Promise<Operation[]> {
  const open = () => openExecutor(executor)
  const backend = await open()
  const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 24, inputSize: 8 })
  const params = lstm.createParams({ seed: 1 })
  const input = values(12, 3, 8)
  const { weights, biases } = await lstm.paramsToCanonical(params)
  const stream = lstm.stream(params, { batch: 1 })
  const pool = lstm.streamPool(params, { maxStreams: 8 })
  const rows = Array.from({ length: 8 }, () => pool.open())
  const cell = new LSTMCell(8)
  cell.build(8, { seed: 1 })
  const examples = Array.from({ length: 16 }, (_, label) => ({ input: values(6, 8), label: label % 2 }))
  const saved = sequential(backend, [cudnnLSTM({ numUnits: 8, inputSize: 8 }), dense({ units: 2 })])
  const [past, future] = [inputOf('past', { features: 8 }), inputOf('future', { features: 8 })]
  const read = apply(cudnnLSTM({ numUnits: 8 }), past)
  const query = apply(rnn(new LSTMCell(8)), future)
  const attended = apply(multiHeadAttention({ heads: 2, keySize: 4 }), query, { others: [read] })
  const reader = functional(backend, [past, future], { y: attended })
  const both = { past: values(6, 2, 8), future: values(4, 2, 8) }
  const convolved = [conv1d({ filters: 8, kernelSize: 3, padding: 'causal' }), cudnnLSTM({ numUnits: 8 }), lastStep()]
  const windows = sequential(backend, [...convolved, dense({ units: 2 })], { inputSize: 8 })
  const windowPool = windows.streamPool({ maxStreams: 4 })
  const windowRows = Array.from({ length: 4 }, () => windowPool.open())
  // Savers of one folder wait for each other.
  const prefix = fileURLToPath(new URL(`saved-${process.pid}-${threadId}/model`, import.meta.url))
  await saved.save(prefix)
  const gradients = async () => {
    const { output, tape } = await lstm.call(input, null, null, params)
    await lstm.gradients(tape, { output })
  }
  return [
    () => lstm.call(input, null, null, params, { isTraining: false }),
    gradients,
    async () => (await lstm.call(input, null, null, params, { isTraining: false })).output.read(),
    () => lstm.paramsToCanonical(params),
    async () => (await lstm.canonicalToParams(weights, biases)).dispose(),
    () => lstm.createParams({ seed: 2 }).dispose(),
    () => stream.step(values(1, 8)),
    () => Promise.all(rows.map((row) => row.step(values(8)))),
    () => ctcLoss(backend, { logits: values(8, 2, 5), labels: [[0, 1], [2]] }),
    () =>
      dynamicRnn(cell, values(6, 2, 8), {
        timeMajor: true,
        backend: backend.products === undefined ? undefined : backend,
      }),
    () =>
      sequential(backend, [cudnnLSTM({ numUnits: 8, inputSize: 8 }), lastStep(), dense({ units: 2 })]).fit(examples, {
        loss: 'softmax_cross_entropy',
        batchSize: 4,
        maxSteps: 3,
      }),
    async () => (await open()).dispose(),
    () => reader.predict(both),
    () =>
      sequential(backend, [rnn(new LSTMCell(8)), multiHeadAttention({ heads: 2, keySize: 4 })], { inputSize: 8 }).fit(
        examples.map(({ input }) => ({ input, label: input })),
        { loss: 'mean_squared_error', maxSteps: 2 },
      ),
    async () => {
      const stepped = windows.stream()
      await stepped.step(values(1, 8))
      stepped.restore(await stepped.state())
      stepped.dispose()
    },
    () => Promise.all(windowRows.map((row) => row.step(values(8)))),
    () => windows.export('onnx'),
    () => saved.save(prefix),
    async () => (await loadModel(backend, prefix)).dispose(),
    // The HDF5 library runs in a separate thread.
    async () => (await importKeras(backend, keras)).dispose(),
    async () => {
      const start = () => new Worker(fileURLToPath(import.meta.url), { workerData: { executor, serves: true } })
      const pool = await openWorkerPool({ workers: 1, start })
      await pool.open().step(values(3, 8))
      pool.dispose()
    },
  ]
}

/** Runs operations until `isDone`, four at a time: an operation that only one thread makes can also be in flight alone. */
async function compute(operations: readonly Operation[], isDone: () => boolean): Promise<void> {
  const loop = async () => {
    while (!isDone()) await operations[Math.floor(Math.random() * operations.length)]?.()
  }
  await Promise.all(Array.from({ length: 1 + Math.floor(Math.random() * 4) }, loop))
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Starts and ends one thread. */
async function endedThread(executor: string): Promise<void> {
  const ending = Math.random()
  const worker = new Worker(fileURLToPath(import.meta.url), {
    workerData: { executor, exits: ending < 0.1, stops: ending > 0.95 },
  })
  const ended = once(worker, 'exit')
  // One of ten is ended while it starts.
  if (ending < 0.2) await wait(Math.random() * 200)
  else await Promise.race([once(worker, 'message'), ended])
  await wait(Math.random() * 40)
  if (ending >= 0.1 && ending <= 0.95) await worker.terminate()
  await ended
}

if (isMainThread) {
  const [executor = 'cpu', count = '10'] = process.argv.slice(2)
  let left = Number(count)
  let ended = 0
  const line = async () => {
    while (left-- > 0) {
      await endedThread(executor)
      ended++
    }
  }
  await Promise.all(Array.from({ length: 4 }, line))
  process.stdout.write(String(ended))
  void compute(await operationsOf(executor), () => false)
  await wait(50)
  process.exit(7)
} else if (workerData.serves) {
  const lstm = new CudnnLSTM(await openExecutor(workerData.executor), { numLayers: 1, numUnits: 8, inputSize: 8 })
  serveStreams(parentPort, lstm.streamPool(lstm.createParams({ seed: 1 }), { maxStreams: 8 }))
} else {
  const { executor, exits, stops } = workerData as { executor: string; exits: boolean; stops: boolean }
  const operations = await operationsOf(executor)
  parentPort?.postMessage('ready')
  if (exits) setTimeout(() => process.exit(), Math.random() * 40)
  const end = Date.now() + (stops ? 20 : Number.POSITIVE_INFINITY)
  await compute(operations, () => Date.now() > end)
}

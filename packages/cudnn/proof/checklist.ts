import { CELL_MODES, type CellMode, createRnnDescriptor } from '@cudnn-rnn/canonical'
import { measureAlgorithm } from '../src/algorithm_choice.js'
import { openCudaLibraries } from '../src/cuda_libraries.js'
import { ALGORITHMS, type Algorithm } from '../src/cudnn_enums.js'
import { DeviceSession } from '../src/device_session.js'
import { type CudnnBackendOptions, openCudnnBackend, type Precision } from '../src/index.js'
import { loadAddon } from '../src/load_addon.js'
import { arithmeticOf } from '../src/precision.js'

type Report = (line: object) => void

/** What the documentation of cuDNN leaves open, asked of the device at hand; every answer is one line. */
export async function runChecklist(options: CudnnBackendOptions, isQuick: boolean, report: Report): Promise<void> {
  const items = { opening, algorithms, determinism, longSequences, soak }
  for (const [item, run] of Object.entries(items)) {
    try {
      await run(options, isQuick, (line) => report({ item, ...line }))
    } catch (error) {
      report({ item, error: String(error) })
    }
  }
}

/** How long opening takes, cold and warm, and what the device says of itself. */
async function opening(options: CudnnBackendOptions, _: boolean, report: Report) {
  for (const state of ['cold', 'warm']) {
    const began = performance.now()
    using backend = await openCudnnBackend(options)
    report({ state, milliseconds: performance.now() - began, device: backend.device })
  }
}

/** Every algorithm on every cell, type, size and batch: milliseconds, or that it does not work. */
async function algorithms(options: CudnnBackendOptions, isQuick: boolean, report: Report) {
  const { session } = await openSession(options)
  const sizes = isQuick ? [16] : [64, 128, 192, 256, 384, 512, 1024, 1536]
  const precisions: readonly Precision[] = isQuick ? ['float32'] : ['float32', 'tf32', 'float16', 'bfloat16']
  try {
    for (const cellMode of Object.keys(CELL_MODES) as CellMode[]) {
      for (const numUnits of sizes) {
        const shape = { numLayers: 1, numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
        const network = createRnnDescriptor({ cellMode, ...shape })
        for (const precision of precisions) {
          for (const batch of isQuick ? [2] : [1, 8, 64]) {
            for (const training of [false, true]) {
              const arithmetic = arithmeticOf('float32', precision)
              const trial = { network, arithmetic, sizes: { time: 70, batch, sequenceLengths: null }, training }
              const milliseconds: Partial<Record<Algorithm, number | null>> = {}
              for (const algorithm of Object.keys(ALGORITHMS) as Algorithm[]) {
                // It has crashed for others; it is tried where nothing is lost by that.
                if (algorithm === 'persist_dynamic') continue
                milliseconds[algorithm] = (await measureAlgorithm(session, session, algorithm, trial)) ?? null
              }
              report({ cellMode, numUnits, precision, batch, training, milliseconds })
            }
          }
        }
      }
    }
  } finally {
    session.close()
  }
}

/** Twenty runs of the same training step: equal to the bit or not. */
async function determinism(options: CudnnBackendOptions, isQuick: boolean, report: Report) {
  const numUnits = isQuick ? 16 : 512
  for (const algorithm of ['standard', 'persist_static', 'persist_static_small_h'] as const) {
    using backend = await openCudnnBackend({ ...options, algorithm })
    const shape = { numLayers: 2, numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const fill = (count: number, scale: number) =>
      Float32Array.from({ length: count }, (_, k) => scale * Math.sin(k + 1))
    const params = backend.tensor({ data: fill(rnn.paramsSize, 0.05), shape: [rnn.paramsSize] })
    const input = backend.tensor({ data: fill(20 * 8 * numUnits, 1), shape: [20, 8, numUnits] })
    const results = new Set<string>()
    for (let run = 0; run < 20; run++) {
      const inputs = { input, inputH: null, inputC: null, params, sequenceLengths: null }
      const { output, tape } = await rnn.forward({ ...inputs, training: true })
      const gradients = await rnn.backward(tape!, { output })
      const { data } = await gradients.params.read()
      results.add(Buffer.from(data.buffer as ArrayBuffer).toString('base64'))
    }
    report({ algorithm, numUnits, differentResults: results.size })
  }
}

/** The longest sequence that cuDNN takes. */
async function longSequences(options: CudnnBackendOptions, _: boolean, report: Report) {
  using backend = await openCudnnBackend(options)
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 2 }))
  const params = backend.zeros([rnn.paramsSize])
  const input = backend.zeros([65_535, 1, 2])
  const states = { inputH: null, inputC: null, sequenceLengths: null }
  const { output } = await rnn.forward({ input, params, training: false, ...states })
  const { data } = await output.read()
  report({ time: 65_535, elements: data.length })
}

/** Executors that come and go, and the device's free memory before and after. */
async function soak(options: CudnnBackendOptions, isQuick: boolean, report: Report) {
  const free = async () => {
    const { session } = await openSession(options)
    const [bytes] = await session.run('ask for memory', (native, handle) => native.memoryInfo(handle))
    session.close()
    return bytes
  }
  const before = await free()
  const cycles = isQuick ? 5 : 200
  for (let cycle = 0; cycle < cycles; cycle++) {
    using backend = await openCudnnBackend(options)
    await backend.zeros([1 << 20]).read()
  }
  report({ cycles, freeBefore: before, freeAfter: await free() })
}

async function openSession({ libraryDir, device = 0 }: CudnnBackendOptions) {
  const loaded = loadAddon()
  if (loaded.addon === undefined) throw new Error(loaded.attempts.join('; '))
  const { libraries } = openCudaLibraries(loaded.addon, libraryDir)
  return { session: await DeviceSession.open(loaded.addon, libraries!, device) }
}

// Compiles the divisions of layers that the executor tries for its persistent kernels, by nvcc for one architecture.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleProgram } from '../bundle_program.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** An H200. */
const DEVICE = { multiProcessors: 132, computeCapability: 90 }

/** The cells of the timing on GPUs (apps/gpu_validation): networks of one layer, 70 steps, as many inputs as units. */
function timedCells() {
  const sizes = (precision, units) => units.flatMap((H) => [1, 16, 64, 256].map((B) => ({ precision, H, B })))
  const ofCell = [
    ...sizes('float32', [128, 512, 1024, 2048]),
    ...sizes('bfloat16', [128, 512, 1024, 2048]),
    ...sizes('tf32', [512, 1024]),
  ]
  return ['lstm', 'gru'].flatMap((cellMode) => ofCell.map((cell) => ({ cellMode, ...cell })))
}

/** A function that lists the divisions of a cell with the macros of its kernels, as the executor does on an H200. */
async function openDivisions(build) {
  const file = join(build, 'divisions.mjs')
  const contents = `
    export { createRnnDescriptor } from '@cudnn-rnn/canonical'
    export { arithmeticOf, persistentMacros, persistentShapes, stepMicroseconds } from '@cudnn-rnn/cudnn/validation'`
  await bundleProgram({ contents, resolveDir: root }, file)
  const parts = await import(pathToFileURL(file))
  const { createRnnDescriptor, arithmeticOf, persistentMacros, persistentShapes, stepMicroseconds } = parts
  return ({ cellMode, precision, H, B }) => {
    const sizes = { numUnits: H, inputSize: H, inputMode: 'linear_input' }
    const network = createRnnDescriptor({ cellMode, numLayers: 1, ...sizes })
    const arithmetic = arithmeticOf('float32', precision)
    const pass = { time: 70, batch: B, sequenceLengths: null }
    const shapes = persistentShapes(network, arithmetic, pass, DEVICE)
    const step = (shape) => (isBackward, constants) => stepMicroseconds(network, shape, isBackward, constants)
    return shapes.map((shape) => ({ shape, macros: persistentMacros(network, shape), step: step(shape) }))
  }
}

/** Registers of a thread and bytes of spills of the two passes, by the macros; or the compiler's complaint. */
async function compilePersistent(nvcc, build, macros) {
  const options = macros.map((one) => `-D${one}`)
  const output = join(build, `${macros.join('_')}.cubin`)
  const source = join(root, 'native/cudnn/kernels/persistent.cu')
  const all = [`-arch=sm_${DEVICE.computeCapability}`, '-cubin', '-Xptxas', '-v', ...options, '-o', output, source]
  const child = spawn(nvcc, all, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += data))
  const status = await new Promise((resolve) => child.on('close', resolve))
  if (status !== 0) return { problem: text.slice(0, 500) }
  const ofPass = (name) => {
    const [, part] = text.split(`Compiling entry function 'persistent_${name}'`)
    const [stores, loads, registers] = [
      /(\d+) bytes spill stores/,
      /(\d+) bytes spill loads/,
      /Used (\d+) registers/,
    ].map((pattern) => Number(pattern.exec(part)[1]))
    return { registers, spills: stores + loads }
  }
  return { forward: ofPass('forward'), backward: ofPass('backward') }
}

/** The results of `compile` for each item, of which as many run at once as there are processors. */
async function compiledTogether(items, compile) {
  const results = []
  const rest = items.entries()
  const work = async () => {
    for (const [index, item] of rest) results[index] = await compile(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return results
}

/** Divisions of a cell that `kernels: 'measured'` tries. */
const TRIED = 2

/**
 * Compiles the divisions that the executor tries for the timed cells, with `isBrief` for four of them. `divided`: each cell with its
 * divisions whose kernels have no spills; a cell of float32 with those of tf32x3, which has the ones of float32 too.
 */
export async function compileDivisions({ nvcc, build, isBrief }) {
  const divisionsOf = await openDivisions(build)
  const cells = timedCells().filter((_, k) => !isBrief || k % 24 === 1)
  const all = cells.map((cell) => {
    const precision = cell.precision === 'float32' ? 'tf32x3' : cell.precision
    return { cell, divisions: divisionsOf({ ...cell, precision }).slice(0, TRIED) }
  })
  const names = ({ macros }) => macros.join(' ')
  const distinct = [...new Map(all.flatMap(({ divisions }) => divisions).map((one) => [names(one), one])).values()]
  const compiled = await compiledTogether(distinct, ({ macros }) => compilePersistent(nvcc, build, macros))
  const usage = new Map(distinct.map((one, k) => [names(one), compiled[k]]))
  const isFree = ({ forward, backward }) => forward?.spills === 0 && backward.spills === 0
  const divided = all.map(({ cell, divisions }) => {
    return { cell, granted: divisions.filter((one) => isFree(usage.get(names(one)))) }
  })
  const passes = compiled.flatMap(({ forward, backward }) => (forward === undefined ? [] : [forward, backward]))
  return {
    divided,
    count: distinct.length,
    registers: Math.max(...passes.map(({ registers }) => registers)),
    problems: [...usage].flatMap(([name, one]) => (isFree(one) ? [] : [`${name}: ${JSON.stringify(one)}`])),
  }
}

import { hasErrorCode } from '@cudnn-rnn/canonical'
import { MemoryStore } from '@cudnn-rnn/checkpoint'
import { type Backend, type LayersModel, loadModel, type Tensor } from '@cudnn-rnn/rnn'
import { importKeras } from '@cudnn-rnn/rnn/layers'
import { symbolsOf, valuesOf, type Run } from './run_inputs.js'

/** The model of a Keras file, or of the files that `save` of a model wrote; undefined for files that describe no layers. */
export async function openWhole(
  backend: Backend,
  files: readonly File[],
  format: string,
): Promise<LayersModel | undefined> {
  try {
    if (format.startsWith('keras')) return await importKeras(backend, files)
    const index = files.find(({ name }) => name.endsWith('.index'))
    if (format !== 'tensorflow' || index === undefined) return undefined
    const entries = files.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())] as const)
    const store = new MemoryStore(await Promise.all(entries))
    return await loadModel(backend, index.name.slice(0, -'.index'.length), { store })
  } catch (error) {
    if (hasErrorCode(error, 'ERR_NOT_A_MODEL')) return undefined
    throw error
  }
}

/** Runs a model on an input that needs no data: one sequence for each of its inputs. Resolves to its first output. */
export async function runWhole(model: LayersModel, run: Run): Promise<Tensor> {
  const { inputs, outputs } = model.graph
  const table = model.layers.find(({ definition }) => definition.kind === 'embedding')
  const ids = Number(table?.variables[0]?.value.shape[0] ?? 1)
  const tensors = inputs.map(({ name, signal: { isSequence, features } }) => {
    const length = isSequence ? symbolsOf(run).length : 1
    const shape = [...(isSequence ? [length] : []), 1, ...(features === null ? [] : [features])]
    const data = features === null ? idsOf(run, length, ids) : valuesOf(run, length, features)
    return [name, { data, shape }] as const
  })
  if (inputs.length === 1 && outputs.length === 1) return model.predict(tensors[0][1])
  return Object.values(await model.predict(Object.fromEntries(tensors)))[0]
}

/** Class ids: any, the second of them and then the first, or the codes of a text. */
function idsOf(run: Run, length: number, size: number): Int32Array {
  const symbols = symbolsOf(run)
  return Int32Array.from({ length }, (_, t) => {
    if (run.input === 'random') return Math.floor(Math.random() * size)
    return (run.input === 'impulse' ? Number(t === 0) : symbols[t]) % size
  })
}

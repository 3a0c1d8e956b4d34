import type { CellMode, Tensor } from '@cudnn-rnn/canonical'
import { MemoryStore } from '@cudnn-rnn/checkpoint'
import {
  type Backend,
  exportWeights,
  type ImportedNetwork,
  importWeights,
  type LayersModel,
  modelFromNetwork,
  RNNParamsSaveable,
  Saver,
} from '@cudnn-rnn/rnn'
import type { ExportFormat, ImportedCell } from '@cudnn-rnn/rnn/interop'
import type { Matrix } from '../drawing/heat_map.js'
import type { Task } from '../worker/work.js'
import { gatePictures, largest, pooled } from './gate_pictures.js'
import { type Run, symbolsOf, valuesOf } from './run_inputs.js'
import { type NetworkSummary, type WeightsMessage, WHOLE } from './weights_messages.js'
import { openWhole, runWhole } from './whole_model.js'

type WeightsTask = Task<WeightsMessage>

/** Outputs of more numbers are shown as a picture alone. */
const MOST_NUMBERS = 16

const ENDINGS: Readonly<Record<ExportFormat, string>> = {
  safetensors: 'safetensors',
  npz: 'npz',
  onnx: 'onnx',
  keras: 'weights.h5',
  flax: 'msgpack',
}

const CELL_NAMES: Readonly<Record<CellMode, string>> = {
  lstm: 'LSTM',
  gru: 'GRU',
  rnn_tanh: 'tanh RNN',
  rnn_relu: 'ReLU RNN',
}

/** A weight file in a worker: its networks as pictures, run, and converted. */
export class WeightViewer {
  readonly #backend: Backend
  #networks: readonly (ImportedNetwork | ImportedCell)[] = []
  #whole: LayersModel | undefined

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Reads the networks of a file, or of the files of a TensorFlow checkpoint, and the whole model if they describe its layers. */
  async open(files: readonly File[], { signal, post }: WeightsTask): Promise<void> {
    const { format, networks, cells, optimizer, unusedTensors } = await importWeights(files, { signal })
    const whole = await openWhole(this.#backend, files, format)
    this.#whole?.dispose()
    this.#whole = whole
    this.#networks = [...networks, ...cells]
    const others = [...unusedTensors, ...optimizer].map(
      ({ name, shape, dtype }) => `${name} ${dtype} [${shape.join(', ')}]`,
    )
    post({ kind: 'opened', format, networks: this.#networks.map(summary), others, layers: whole?.summary() })
  }

  /** The weights of a network as pictures. */
  show(index: number, { post }: WeightsTask): void {
    post({ kind: 'shown', network: index, groups: gatePictures(this.#model(index)) })
  }

  /** Runs a network, or the whole model, on an input that needs no data. */
  async run(index: number, run: Run, { post }: WeightsTask): Promise<void> {
    const timed = async (compute: () => Promise<Tensor>) => {
      const began = performance.now()
      const output = await compute()
      post({ kind: 'ran', ...picture(output), milliseconds: performance.now() - began })
    }
    const whole = this.#whole
    if (index === WHOLE && whole !== undefined) return timed(() => runWhole(whole, run))
    const network = this.#network(index)
    const inputSize = 'cell' in network ? network.inputSize : network.descriptor.inputSize
    const { length } = symbolsOf(run)
    const input = { data: valuesOf(run, length, inputSize), shape: [length, 1, inputSize] }
    const made = modelFromNetwork(this.#backend, network)
    try {
      await timed(async () => (await made.run(input)).output)
    } finally {
      if ('model' in made) {
        made.params.dispose()
        made.model.dispose()
      }
    }
  }

  /** The networks of the file in another format; ONNX has one network. */
  async convert(index: number, format: ExportFormat | 'tensorflow', { post }: WeightsTask): Promise<void> {
    const chosen = this.#model(index)
    const models = this.#networks.filter((network): network is ImportedNetwork => !('cell' in network))
    if (format === 'tensorflow') {
      post({ kind: 'converted', files: await this.#checkpoint(models) })
      return
    }
    const bytes = await exportWeights(format === 'onnx' ? [chosen] : models, { format })
    post({ kind: 'converted', files: [new File([new Uint8Array(bytes)], `converted.${ENDINGS[format]}`)] })
  }

  async #checkpoint(networks: readonly ImportedNetwork[]): Promise<File[]> {
    const store = new MemoryStore()
    const made = networks.map((network) => modelFromNetwork(this.#backend, network))
    try {
      const saveables = made.map(({ model, params }, index) => {
        const name = networks[index].name.replaceAll('.', '/') || 'params_canonical'
        return new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [params], name)
      })
      const prefix = await new Saver(saveables, { store }).save('converted')
      const ofCheckpoint = [...store.files].filter(([name]) => name.startsWith(prefix))
      return ofCheckpoint.map(([name, bytes]) => new File([new Uint8Array(bytes)], name))
    } finally {
      for (const { model, params } of made) {
        params.dispose()
        model.dispose()
      }
    }
  }

  #network(index: number): ImportedNetwork | ImportedCell {
    const network = this.#networks[index]
    if (network !== undefined) return network
    throw new Error('There is no network: open a file first.')
  }

  #model(index: number): ImportedNetwork {
    const network = this.#network(index)
    if (!('cell' in network)) return network
    throw new Error(`${network.name} is a cell that no model computes: it can only be run.`)
  }
}

function summary(network: ImportedNetwork | ImportedCell): NetworkSummary {
  const { name, notes } = network
  if ('cell' in network) {
    const description = `${network.cell}, ${network.inputSize} → ${network.numUnits}`
    return { name: name || '(no name)', isModel: false, description, notes }
  }
  const { cellMode, numLayers, numUnits, inputSize, direction, numProj } = network.descriptor
  const parts = [
    CELL_NAMES[cellMode],
    `${inputSize} → ${numUnits}${numProj === undefined ? '' : ` → ${numProj}`}`,
    `${numLayers} ${numLayers === 1 ? 'layer' : 'layers'}`,
    ...(direction === 'bidirectional' ? ['bidirectional'] : network.reverse ? ['reversed'] : []),
  ]
  return { name: name || '(no name)', isModel: true, description: parts.join(', '), notes }
}

/** An output [T,1,H], or [1,H], with a row for each unit. */
function picture({ data, shape }: Tensor) {
  const units = shape.at(-1) ?? 1
  const values = Float32Array.from(data)
  const output = turned(values, values.length / units, units)
  const numbers = values.length <= MOST_NUMBERS ? [...values] : undefined
  return { output, limit: largest(output.values), numbers }
}

/** Rows of units, columns of steps. */
function turned(values: Float32Array, steps: number, units: number): Matrix {
  const matrix = new Float32Array(values.length)
  for (let t = 0; t < steps; t++) {
    for (let unit = 0; unit < units; unit++) matrix[unit * steps + t] = values[t * units + unit]
  }
  return pooled({ rows: units, columns: steps, values: matrix })
}

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Backend } from '@cudnn-rnn/backend'
import { checkOptionNames, codedRangeError, layoutKey } from '@cudnn-rnn/canonical'
import { latestCheckpoint, openCheckpoint } from '@cudnn-rnn/checkpoint'
import type { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh } from '@cudnn-rnn/models'
import { type HostTensor, RNNParamsSaveable, type Saveable, Saver, TensorSaveable } from '@cudnn-rnn/saveable'
import type { Trainable, TrainingRecord, TrainingSaver } from '@cudnn-rnn/train'

export interface TrainingCheckpointsOptions {
  /** The recurrent models whose opaque buffers are trained: they and their slots are saved canonically. */
  readonly models?: readonly (CudnnGRU | CudnnLSTM | CudnnRNNRelu | CudnnRNNTanh)[] | undefined
  /** Checkpoints to keep of the latest and of the best; default 1. */
  readonly maxToKeep?: number | undefined
}

/** Where the record of a run stands in its checkpoint: JSON in UTF-8. */
const RECORD_KEY = 'training_record'

/**
 * Keeps what `fit` saves in TensorFlow checkpoints, `<directory>/model-<step>` and `<directory>/best/model-<step>`:
 * any executor goes on with them, and TensorFlow reads them (`global_step` is there, too). A save is complete or absent.
 */
export class TrainingCheckpoints implements TrainingSaver {
  readonly directory: string
  readonly #backend: Backend
  readonly #models: NonNullable<TrainingCheckpointsOptions['models']>
  readonly #maxToKeep: number

  /** Throws TypeError `ERR_UNKNOWN_OPTION`. */
  constructor(backend: Backend, directory: string, options: TrainingCheckpointsOptions = {}) {
    checkOptionNames('keep training checkpoints', options, ['models', 'maxToKeep'])
    this.directory = directory
    this.#backend = backend
    this.#models = options.models ?? []
    this.#maxToKeep = options.maxToKeep ?? 1
  }

  /** Throws CheckpointError; RangeError `ERR_UNKNOWN_LAYOUT` for an opaque buffer of a model that is not among `models`. */
  async save(kind: 'latest' | 'best', tensors: readonly Trainable[], record: TrainingRecord): Promise<void> {
    const folder = this.#folder(kind)
    await mkdir(folder, { recursive: true })
    const data = Uint8Array.from(Buffer.from(JSON.stringify(record)))
    const saver = new Saver(
      [
        ...this.#saveables(tensors),
        savedOnly(RECORD_KEY, { data, shape: [data.length] }),
        savedOnly('global_step', { data: BigInt64Array.of(BigInt(record.step)), shape: [] }),
      ],
      { maxToKeep: this.#maxToKeep },
    )
    await saver.save(join(folder, 'model'), { globalStep: record.step })
  }

  /** All or nothing. Throws CheckpointError, RestoreError for a checkpoint of other tensors. */
  async restore(
    tensors: readonly Trainable[],
    kind: 'latest' | 'best' = 'latest',
  ): Promise<TrainingRecord | undefined> {
    const prefix = await latestCheckpoint(this.#folder(kind))
    if (prefix === null) return undefined
    const reader = await openCheckpoint(prefix)
    let record: TrainingRecord
    try {
      const { data } = await reader.read(RECORD_KEY)
      record = JSON.parse(Buffer.from(data as Uint8Array).toString()) as TrainingRecord
    } finally {
      await reader.close()
    }
    await new Saver(this.#saveables(tensors)).restore(prefix)
    return record
  }

  #folder(kind: 'latest' | 'best'): string {
    return kind === 'latest' ? this.directory : join(this.directory, 'best')
  }

  #saveables(tensors: readonly Trainable[]): Saveable[] {
    return tensors.map(({ name, value }) => {
      const variable = { name, value, assign: (tensor: never) => this.#backend.ops.assign(value, tensor) }
      if (value.layout === undefined) return TensorSaveable.of(variable)
      const model = this.#models.find(({ descriptor }) => layoutKey(descriptor) === value.layout)
      if (model !== undefined) {
        return new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [variable], name)
      }
      throw codedRangeError(
        'ERR_UNKNOWN_LAYOUT',
        `Cannot save ${name} as the model that it belongs to must be among models: current number of models is ${this.#models.length}`,
        { name },
      )
    })
  }
}

function savedOnly(name: string, tensor: HostTensor): Saveable {
  return new TensorSaveable(
    name,
    () => tensor,
    () => undefined,
  )
}

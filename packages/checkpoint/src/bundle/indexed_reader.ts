import { describeValue } from '@cudnn-rnn/canonical/rules'
import type { IndexEntry } from './bundle_messages.js'
import type { CheckpointReader } from './checkpoint_reader.js'
import { type CheckpointDType, dtypeOfId } from './dtype.js'
import { CheckpointError, corrupt, unsupported } from '../errors.js'
import type { CheckpointTensor } from './tensor.js'

/** A reader of any format: names, shapes and dtypes come from an index that was read before. */
export abstract class IndexedReader<Entry extends IndexEntry> implements CheckpointReader {
  abstract readonly format: 'v1' | 'v2'
  readonly prefix: string
  readonly #tensors: ReadonlyMap<string, Entry>

  /** @param tensors by name, in the order of {@link names}. */
  constructor(prefix: string, tensors: ReadonlyMap<string, Entry>) {
    this.prefix = prefix
    this.#tensors = tensors
  }

  names(): string[] {
    return [...this.#tensors.keys()]
  }

  has(name: string): boolean {
    return this.#tensors.has(name)
  }

  shape(name: string): readonly number[] {
    return this.entry(name).shape
  }

  dtype(name: string): CheckpointDType {
    return this.dtypeOf(name, this.entry(name))
  }

  abstract byteLength(name: string): number

  abstract read(name: string): Promise<CheckpointTensor>

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  [Symbol.dispose](): void {
    void this.close().catch(() => undefined)
  }

  protected entry(tensorName: string): Entry {
    const entry = this.#tensors.get(tensorName)
    if (entry !== undefined) return entry
    const message = `Cannot find tensor ${describeValue(tensorName)} in checkpoint (names() lists its tensors)`
    throw new CheckpointError('ERR_TENSOR_NOT_FOUND', message, { path: this.prefix, tensorName })
  }

  protected dtypeOf(tensorName: string, { dtypeId }: IndexEntry): CheckpointDType {
    const dtype = dtypeOfId(dtypeId)
    if (dtype !== undefined) return dtype
    const rule = `its dtype must be a number, bool or string type: current value is TensorFlow's dtype ${dtypeId}`
    throw unsupported(`tensor ${tensorName}`, rule, { path: this.prefix, tensorName })
  }

  protected corrupt(tensorName: string, rule: string): CheckpointError {
    return corrupt(`tensor ${tensorName}`, rule, { path: this.prefix, tensorName })
  }
}

import type { Backend, BackendTensor, RnnStreamState, Tape } from '@cudnn-rnn/ops'
import { type CanonicalParams, layoutKey } from '@cudnn-rnn/canonical'
import type { RecurrentModel, Stream, Variable } from '@cudnn-rnn/models'
import { Adam, type Optimizer } from '@cudnn-rnn/train'
import { ANY, type Kind, type Program } from './program.js'

/** Something a program made. */
export interface Made {
  /** Whether the program disposed it, or used it up. */
  isGone: boolean
}

export interface MadeModel extends Made {
  readonly model: RecurrentModel
  /** Final states of the last call, to be carried on. */
  states: { readonly h: BackendTensor; readonly c: BackendTensor | undefined } | undefined
}

/** An opaque buffer: parameters, a gradient or a slot. */
export interface MadeOpaque extends Made {
  readonly owner: MadeModel
  readonly variable: Variable
}

export interface MadeTape extends Made {
  readonly owner: MadeModel
  readonly tape: Tape
  readonly time: number
  readonly batch: number
}

export interface MadeStream extends Made {
  readonly stream: Stream
  readonly inputSize: number
  readonly owner: MadeModel
  readonly opaque: MadeOpaque
}

export interface MadeOptimizer extends Made {
  readonly optimizer: Optimizer
  readonly opaques: readonly MadeOpaque[]
}

/** Everything one program has made on one executor. */
export class ProgramState {
  readonly backend: Backend
  /** Another executor, whose tensors are foreign to this one. */
  readonly elsewhere: Backend
  readonly program: Program
  /** A folder for checkpoints. */
  readonly folder: string
  readonly models: MadeModel[] = []
  readonly opaques: MadeOpaque[] = []
  readonly tensors: (Made & { readonly tensor: BackendTensor })[] = []
  readonly tapes: MadeTape[] = []
  readonly streams: MadeStream[] = []
  readonly optimizers: MadeOptimizer[] = []
  readonly canonicals: (Made & { readonly owner: MadeModel; readonly canonical: CanonicalParams })[] = []
  readonly streamStates: (Made & { readonly state: RnnStreamState })[] = []
  readonly dropoutStates: (Made & { readonly owner: MadeModel; readonly state: Uint8Array })[] = []
  readonly checkpoints: (Made & { readonly prefix: string })[] = []
  isClosed = false

  constructor(backend: Backend, elsewhere: Backend, program: Program, folder: string) {
    this.backend = backend
    this.elsewhere = elsewhere
    this.program = program
    this.folder = folder
  }

  /** The objects of one kind, each with its dispose function. */
  owned(kind: Kind): { readonly isGone: boolean; dispose(): void }[] {
    const owned = <Item extends Made>(items: readonly Item[], objectOf: (item: Item) => { dispose(): void }) =>
      items.map((item) => ({
        isGone: item.isGone,
        dispose() {
          item.isGone = true
          objectOf(item).dispose()
        },
      }))
    if (kind === 'model') return owned(this.models, ({ model }) => model)
    if (kind === 'opaque') return owned(this.opaques, ({ variable }) => variable)
    if (kind === 'tensor') return owned(this.tensors, ({ tensor }) => tensor)
    if (kind === 'tape') return owned(this.tapes, ({ tape }) => tape)
    if (kind === 'stream') return owned(this.streams, ({ stream }) => stream)
    return owned(this.optimizers, ({ optimizer }) => optimizer)
  }

  /** Tensors that Adam counts its updates in, on an executor with `steps`: a number and its increment for each optimizer. */
  countersOfAdam(): number {
    if (this.backend.steps === undefined) return 0
    return 2 * this.optimizers.filter(({ isGone, optimizer }) => !isGone && optimizer instanceof Adam).length
  }

  /** The canonical elements of an opaque buffer, without the model that may be disposed. */
  async canonicalOf({ owner, variable }: MadeOpaque): Promise<Float64Array> {
    using rnn = this.backend.rnn(owner.model.descriptor)
    return elementsOf(await rnn.paramsToCanonical(variable.value))
  }
}

/** The elements of all canonical tensors, one after another. */
export function elementsOf({ weights, biases }: CanonicalParams): Float64Array {
  const tensors = [...weights, ...biases]
  const elements = new Float64Array(tensors.reduce((sum, { data }) => sum + data.length, 0))
  let start = 0
  for (const { data } of tensors) {
    elements.set(data, start)
    start += data.length
  }
  return elements
}

/** Item number `index` from the newest, of those that are there and fit; from {@link ANY} on of all. */
export function pick<Item extends Made>(
  items: readonly Item[],
  index: number,
  fits: (item: Item) => boolean = () => true,
): Item | undefined {
  const candidates = index >= ANY ? items : items.filter((item) => !item.isGone && fits(item))
  return candidates.at(-1 - (index % Math.max(1, candidates.length)))
}

/** Opaque buffer number `index` in the layout of `owner`'s network. */
export function pickOpaque(programState: ProgramState, index: number, owner: MadeModel): MadeOpaque | undefined {
  const key = layoutKey(owner.model.descriptor)
  return pick(programState.opaques, index, (opaque) => layoutKey(opaque.owner.model.descriptor) === key)
}

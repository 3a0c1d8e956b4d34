import { checkArguments, integerFrom } from '@cudnn-rnn/canonical/rules'
import type { Position, World } from '@cudnn-rnn/train'
import type { ConfigValue } from '../layer.js'
import { streamOfRank } from './random_streams.js'
import type { WholeModel } from '../model/whole_model.js'

const GENERATION = integerFrom(0)

/** The dropout masks of a model in a training: each rank draws from a separate stream. */
export class MasksOfRank {
  readonly #model: WholeModel
  readonly #world: World
  /** How often this rank has begun a stream, as it had no saved state. */
  #generation = 0

  /** @param world undefined for one process, which draws from the stream that the model has. */
  constructor(model: WholeModel, world: World = { rank: 0, size: 1 }) {
    this.#model = model
    this.#world = world
    if (world.size > 1) model.useRandomStream(streamOfRank(world.rank, 0))
  }

  async save(): Promise<Position> {
    const masks = (await this.#model.randomState()) as Position
    return this.#world.size === 1 && this.#generation === 0 ? masks : [this.#generation, masks]
  }

  /** Continues with the masks of this rank; if another rank has saved them, with a new stream's. */
  restore(saved: Position, by: World): void {
    const isOwn = by.rank === this.#world.rank
    const [generation, masks] = Array.isArray(saved) ? saved : [0, saved]
    checkArguments('restore the masks of a training', { generation }, { generation: GENERATION })
    this.#generation = isOwn ? generation : generation + 1
    this.#model.useRandomStream(streamOfRank(this.#world.rank, this.#generation))
    if (isOwn) this.#model.restoreRandomState(masks as ConfigValue)
  }
}

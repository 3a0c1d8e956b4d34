import { type CarriedState, type CharLanguageModel, disposeState } from './char_language_model.js'
import { Lanes } from './lanes.js'

const EVALUATION_BATCH = 16
const EVALUATION_TIME = 50

/** Cross-entropy of the model on `ids` in bits per character, the state carried along each of 16 lanes. */
export async function bitsPerCharacter(model: CharLanguageModel, ids: Int32Array): Promise<number> {
  const batch = Math.max(1, Math.min(EVALUATION_BATCH, Math.floor(ids.length / (EVALUATION_TIME + 1))))
  const lanes = new Lanes(ids, EVALUATION_TIME, batch)
  let nats = 0
  let state: CarriedState = null
  for (let step = 0; step < lanes.windows; step++) {
    const result = await model.evaluate(lanes.window(step), state)
    nats += result.loss
    state = result.state
  }
  disposeState(state)
  return nats / lanes.windows / Math.LN2
}

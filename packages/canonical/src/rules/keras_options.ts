import { describeValue } from './described_value.js'
import type { Json } from './json_record.js'

/** Options that never change the results of a layer in inference. */
const WITHOUT_EFFECT =
  /^(?:name|trainable|dtype|batch_input_shape|batch_shape|input_shape|input_length|input_dtype|seed|_?\w*(?:initializer|regularizer|constraint))$/

/**
 * The rule, in words, that an option of a Keras layer breaks: none may be left unread, because it may change the results of
 * the layer. Absent if all are read, have no effect, or are null.
 *
 * @param isRead whether the importer reads an option. The dtype is the caller's to check.
 */
export function unreadKerasOption(config: Json, isRead: (option: string) => boolean): string | undefined {
  const found = Object.entries(config).find(([option, value]) => {
    return value !== null && !WITHOUT_EFFECT.test(option) && !isRead(option)
  })
  return found && `it has an option that is not known here, ${found[0]}: current value is ${describeValue(found[1])}`
}

import { codedRangeError, describeValue } from '@cudnn-rnn/canonical/rules'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'

/**
 * A vocabulary file: a JSON object of each character's id, from 1 on.
 *
 * @param most the largest id of the model's vocabulary.
 * @throws RangeError `ERR_NOT_A_VOCABULARY`
 */
export async function readCharacterIds(path: string, most: number): Promise<ReadonlyMap<string, number>> {
  const refuse = (rule: string, found: string) => {
    const message = `Cannot read ${path} as ${rule}: current value is ${found}. Give the file that --help names.`
    return codedRangeError('ERR_NOT_A_VOCABULARY', message, { path })
  }
  const text = String(await readRegularFile(path))
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw Object.assign(refuse('a vocabulary must be JSON', JSON.stringify(text.slice(0, 20))), { cause })
  }
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  if (!isObject)
    throw refuse('a vocabulary must be an object of ids by characters', JSON.stringify(parsed).slice(0, 20))
  const ids = new Map(Object.entries(parsed as Record<string, unknown>))
  for (const [character, id] of ids) {
    if (Number.isSafeInteger(id) && (id as number) >= 1 && (id as number) <= most) continue
    throw refuse(`ids must be integers in 1..${most}`, `${describeValue(id)} for ${JSON.stringify(character)}`)
  }
  return ids as ReadonlyMap<string, number>
}
